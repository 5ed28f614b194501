"""`gpudeck doctor` of a box: each check with its verdict, one sentence and one way out."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, Literal, NamedTuple

from console.events.doctor import BoxExamined
from console.state import HostState
from console.state.host import gpu_state
from console.values import CleanText, format_bytes, format_duration, known
from console.views.disks import disk_row, disk_sentence
from console.views.gpus import gpu_notes, gpu_title
from console.views.topology import all_reduce_of

SCHEMA = "gpudeck.doctor/1"
SKEW_WARN_S, SKEW_FAIL_S = 2.0, 300.0  # certificates and tokens of the Hub refuse a clock that is minutes off
SHM_BYTES = 1 << 30
OPEN_FILES = 4096
PYTHON_LEAST = (3, 8)

Verdict = Literal["ok", "warn", "fail", "unknown"]
RANK: tuple[Verdict, ...] = ("fail", "warn", "unknown", "ok")


class Check(NamedTuple):
    """One thing that was looked at. `way_out` is empty when nothing is wrong."""

    name: str
    verdict: Verdict
    sentence: str
    way_out: str = ""


def worst(checks: Sequence[Check]) -> Verdict:
    """The verdict of them all."""
    return min((check.verdict for check in checks), key=RANK.index, default="ok")


def doctor_value(host: str | None, checks: Sequence[Check]) -> dict[str, Any]:
    """The object without `schema` and `ts`."""
    rows = [{**check._asdict(), "way_out": check.way_out or None} for check in checks]
    return {"host": host, "verdict": worst(checks), "checks": rows}


def doctor_lines(checks: Sequence[Check]) -> list[str]:
    """A line a check, its way out below it."""
    lines = []
    for check in checks:
        sign = {"ok": "✓", "warn": "!", "fail": "✗", "unknown": "?"}[check.verdict]
        lines.append(f"{sign} {check.verdict:<8}{check.name:<17}{check.sentence}")
        if check.way_out:
            lines.append(f"{'':27}→ {check.way_out}")
    return lines


def box_checks(host: HostState, notes: Sequence[str] = ()) -> list[Check]:
    """Every check of a box that is connected. `notes`: where the SSH configuration is not obeyed."""
    examined = host.hardware.examined
    checks = [_ssh(host, notes), _shell(host), *_python(host), _driver(host), _gpus(host), _topology(host)]
    checks += [_disks(host), _shared_memory(host), _clock(host)]
    if examined is None:
        reason = host.hardware.failed.get("doctor", "not asked")
        return [*checks, *(Check(name, "unknown", f"not known: {reason}") for name in _OF_THE_SYSTEM)]
    return [*checks, *(check(examined) for check in _OF_THE_SYSTEM.values())]


def unreachable(sentence: str) -> list[Check]:
    """The one check of a box that cannot be reached."""
    return [Check("ssh", "fail", sentence, "ssh -v shows what OpenSSH meets on the same way")]


def _ssh(host: HostState, notes: Sequence[str]) -> Check:
    link = host.link
    way = f"through {' → '.join(link.via)}" if link.via else "directly"
    trip = f", round trip {format_duration(link.rtt_s)}" if known(link.rtt_s) else ""
    if notes:
        return Check("ssh", "warn", " ".join(notes), "remove the line from the SSH configuration")
    return Check("ssh", "ok", f"reached {way}{trip}")


def _shell(host: HostState) -> Check:
    noise, examined = host.link.noise, host.hardware.examined
    name = examined.shell if examined else "the login shell"
    if not noise:
        return Check("shell", "ok", f"{name} prints nothing of its own")
    said = f"{name} prints {len(noise)} lines before our program runs, the last: {noise[-1]}"
    return Check("shell", "warn", said, "let its start-up files print in interactive shells only")


def _python(host: HostState) -> Iterator[Check]:
    examined, identity = host.hardware.examined, host.hardware.identity
    if identity is not None and _numbers(identity.python_version) < PYTHON_LEAST:
        yield Check("python", "fail", f"python3 of the box is {identity.python_version}", "install Python 3.8 or newer")
        return
    if examined is None:
        yield Check("python", "unknown", f"not known: {host.hardware.failed.get('doctor', 'not asked')}")
        return
    if examined.python_error:
        way = "set `python` of the host to an interpreter that exists there"
        yield Check("python", "fail", examined.python_error, way)
    else:
        yield Check("python", "ok", f"{examined.python} is Python {examined.python_version}")
    for package, purpose in (("sglang", "to serve"), ("huggingface_hub", "to download")):
        version = examined.packages.get(CleanText(package))
        if isinstance(version, str):
            yield Check(package, "ok", f"{version} in {examined.python}")
        else:
            way = f"{examined.python} -m pip install {package}, or set `python` of the host or recipe"
            yield Check(package, "warn", f"{examined.python} has no {package}, which it needs {purpose}", way)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", version)[:2]))


_DRIVER_WAYS = (
    ("mismatch", "reboot the box before the next launch"),
    ("module is not loaded", "sudo modprobe nvidia, or build the module for the running kernel (dkms autoinstall)"),
    ("userspace", "install the NVIDIA driver, or start the container with --gpus all"),
    ("permission", "give this user or container the /dev/nvidia* devices"),
    ("Unknown Error", "restart the container"),
    ("has not answered", "look for Xid 119 in the kernel log; reset or reboot"),
)


def _driver(host: HostState) -> Check:
    hardware = host.hardware
    if known(hardware.gpus):
        version = f"{hardware.driver_version}, CUDA {hardware.cuda_version}"
        return Check("driver", "ok" if hardware.gpus else "warn", version if hardware.gpus else f"{version}, no GPU")
    if not known(hardware.gpus_t):
        return Check("driver", "unknown", f"not known: {hardware.gpus.reason}")
    reason = hardware.gpus.reason
    way = next((way for words, way in _DRIVER_WAYS if words in reason), "nvidia-smi on the box says more")
    return Check("driver", "fail", reason, way)


def _gpus(host: HostState) -> Check:
    """The count, the state of each, and the worst finding."""
    hardware = host.hardware
    if not known(hardware.gpus):
        return Check("gpus", "unknown", f"not known: {hardware.gpus.reason}")
    expected = hardware.gpus_expected
    lost = [gpu for gpu in hardware.gpus.values() if gpu_state(gpu)[0] != "ok"]
    if lost or (known(expected) and len(hardware.gpus) < expected):
        said = ", ".join(f"GPU {gpu.identity.index} is {gpu_state(gpu)[0].replace('_', ' ')}" for gpu in lost)
        sentence = f"{gpu_title(host)}{': ' if said else ''}{said}"
        return Check("gpus", "fail", sentence, "reset the GPU, or reboot the box")
    notes = gpu_notes(host, hardware.gpus_t if known(hardware.gpus_t) else 0.0)
    if notes and notes[0].finding.kind != "info":
        verdict: Verdict = "fail" if notes[0].finding.kind == "fail" else "warn"
        return Check("gpus", verdict, f"{notes[0].who}: {notes[0].finding.sentence}", "`gpudeck status` lists all")
    return Check("gpus", "ok", gpu_title(host))


def _topology(host: HostState) -> Check:
    outlook = all_reduce_of(host)
    if outlook is None:
        return Check("topology", "unknown", "not known: the links between the GPUs were not read")
    way = {"warn": "measure before you choose tensor over pipeline parallelism", "fail": "NCCL_P2P_DISABLE=1"}
    return Check("topology", outlook.kind, outlook.sentence, way.get(outlook.kind, ""))


def _disks(host: HostState) -> Check:
    disks = host.hardware.disks
    if not known(disks):
        return Check("disks", "unknown", f"not known: {disks.reason}")
    bad = [(disk_row(host, disk).kind, disk_sentence(host, disk)) for disk in disks if disk_sentence(host, disk)]
    if not bad:
        return Check("disks", "ok", f"{len(disks)} of them, none in trouble")
    verdict: Verdict = "fail" if any(kind == "fail" for kind, _ in bad) else "warn"
    sentence = "; ".join(sentence for _, sentence in sorted(bad))
    return Check("disks", verdict, sentence, "gpudeck models HOST list shows what could go")


def _shared_memory(host: HostState) -> Check:
    disks = host.hardware.disks
    shm = next((disk for disk in disks if disk.mount == "/dev/shm"), None) if known(disks) else None
    if shm is None or not known(shm.available_bytes):
        return Check("shared_memory", "unknown", "not known: /dev/shm was not read")
    free = format_bytes(shm.available_bytes)
    if shm.available_bytes < SHM_BYTES:
        said = f"/dev/shm has {free} left, NCCL needs {format_bytes(SHM_BYTES)}"
        return Check("shared_memory", "fail", said, "free it, or start the container with --shm-size 16g")
    return Check("shared_memory", "ok", f"/dev/shm has {free} left")


def _clock(host: HostState) -> Check:
    skew = host.link.skew_s
    if not known(skew):
        return Check("clock", "unknown", f"not known: {skew.reason}")
    if abs(skew) < SKEW_WARN_S:
        return Check("clock", "ok", f"{format_duration(skew)} off the laptop's")
    side = "ahead of" if skew > 0 else "behind"
    verdict: Verdict = "fail" if abs(skew) >= SKEW_FAIL_S else "warn"
    said = f"{format_duration(abs(skew))} {side} the laptop's"
    return Check("clock", verdict, said, "sudo timedatectl set-ntp true on the one that is wrong")


def _systemd(examined: BoxExamined) -> Check:
    inside = f" (a {examined.container} container)" if examined.container else ""
    if examined.systemd == "lingering":
        return Check("systemd", "ok", "jobs are units of this user and outlive the logout")
    if examined.systemd == "none":
        said = f"no systemd{inside}: jobs run detached, and end with the box or container"
        return Check("systemd", "warn", said, "install servers as units where systemd runs")
    lingers = "loginctl enable-linger"
    if examined.systemd == "user":
        return Check("systemd", "warn", "user units end with the last logout: jobs run detached instead", lingers)
    return Check("systemd", "warn", "no user manager runs for this user: jobs run detached", lingers)


def _locale(examined: BoxExamined) -> Check:
    if examined.encoding.lower().replace("-", "") == "utf8":
        return Check("locale", "ok", f"{examined.locale or 'none set'}, {examined.encoding}")
    said = f"{examined.locale or 'none set'} gives {examined.encoding}: text that is not ASCII breaks programs"
    return Check("locale", "warn", said, 'env = { LC_ALL = "C.UTF-8" } of the host')


def _state_dir(examined: BoxExamined) -> Check:
    if not examined.state_dir_error:
        return Check("state_dir", "ok", f"{examined.state_dir} can be written")
    way = "env = { XDG_STATE_HOME = … } of the host, on a disk that can be written"
    return Check("state_dir", "fail", f"jobs cannot keep their folders: {examined.state_dir_error}", way)


def _open_files(examined: BoxExamined) -> Check:
    limit = "unlimited" if examined.open_files < 0 else str(examined.open_files)
    if 0 <= examined.open_files < OPEN_FILES:
        way = f"raise nofile to {OPEN_FILES} or more in /etc/security/limits.conf"
        return Check("open_files", "warn", f"at most {limit} open files a process", way)
    return Check("open_files", "ok", f"at most {limit} a process")


_OF_THE_SYSTEM = {"systemd": _systemd, "locale": _locale, "state_dir": _state_dir, "open_files": _open_files}
