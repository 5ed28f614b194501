"""What doctor makes of each fact: a verdict, one sentence, one way out."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from console.events import Event, Stamped
from console.events.doctor import BoxExamined
from console.events.host import DisksSampled, GpusExpected, GpusIdentified, GpusSampled, MachineIdentified, ProbeFailed
from console.events.link import HeartbeatHeard, NoiseHeard
from console.state import HostState, State, reduce
from console.values import CleanText, Unknown
from console.views.doctor import Check, box_checks, doctor_lines, doctor_value, worst
from tests.support import gpu_facts
from tests.support.gpu_facts import health
from tests.support.played import disk, disks, gauges, gpus, link_up

PYTHON = CleanText("/opt/venv/bin/python")


def examined(**fields: Any) -> BoxExamined:
    packages = {CleanText("sglang"): CleanText("0.5.23"), CleanText("huggingface_hub"): CleanText("1.2.0")}
    base = BoxExamined(
        host="ct200", python=PYTHON, python_version=CleanText("3.12.3"), packages=packages,
        shell=CleanText("/bin/bash"), encoding=CleanText("UTF-8"), locale=CleanText("C.UTF-8"), systemd="lingering",
        state_dir=CleanText("/root/.local/state/gpudeck"), state_dir_error=CleanText(""), open_files=1048576,
        container=CleanText(""),
    )  # fmt: skip
    return msgspec.structs.replace(base, **fields)


def at_ct200(event: Any) -> Event:
    moved: Event = msgspec.structs.replace(event, host="ct200")
    return moved


def box(*more: Event) -> HostState:
    state = State()
    fine = DisksSampled(host="ct200", disks=(disk("/", 300 * 10**9), disk("/dev/shm", 20 * 10**9, is_ram=True)))
    first: list[Event] = [*link_up(), *gpus(), fine, examined()]
    first += [at_ct200(gpu_facts.healthy(*map(health, range(8)))), at_ct200(gpu_facts.topology(8))]
    for number, event in enumerate([*first, *more], 1):
        reduce(state, Stamped(number, 1.0, event))
    return state.hosts["ct200"]


def check(name: str, *more: Event, notes: tuple[str, ...] = ()) -> Check:
    return next(one for one in box_checks(box(*more), notes) if one.name == name)


def test_a_well_box_has_nothing_to_do() -> None:
    checks = box_checks(box())
    assert [one for one in checks if one.verdict != "ok"] == []
    assert not any(one.way_out for one in checks)
    assert doctor_value("ct200", checks)["verdict"] == "ok"


def no_gpus(reason: str) -> list[Event]:
    unknown = Unknown(reason)
    identified = GpusIdentified(host="ct200", gpus=unknown, driver_version=Unknown("x"), cuda_version=Unknown("x"))
    return [identified, GpusSampled(host="ct200", gpus=unknown)]


def machine(python: str) -> MachineIdentified:
    return MachineIdentified(
        host="ct200", hostname=CleanText("h"), boot_id=CleanText("b"), kernel=CleanText("6"), os=CleanText("o"),
        python_version=CleanText(python), cpu_count=8,
    )  # fmt: skip


TIGHT = DisksSampled(host="ct200", disks=(disk("/dev/shm", 64 * 10**6, 64 * 10**6, is_ram=True),))
CASES: list[tuple[str, list[Event], str, str, str]] = [
    (
        "shell",
        [NoiseHeard(host="ct200", lines=(CleanText("hi"), CleanText("Welcome")))],
        "warn",
        "Welcome",
        "interactive",
    ),
    ("python", [machine("3.6.9")], "fail", "3.6.9", "3.8"),
    ("python", [machine("odd")], "fail", "odd", "3.8"),
    ("python", [examined(python_error=CleanText("/no/python: not found"))], "fail", "/no/python", "set `python`"),
    (
        "sglang",
        [examined(packages={CleanText("sglang"): Unknown("not installed")})],
        "warn",
        "no sglang",
        "pip install",
    ),
    ("driver", no_gpus("driver/library version mismatch: …"), "fail", "mismatch", "reboot"),
    ("driver", no_gpus("the NVIDIA kernel module is not loaded: …"), "fail", "not loaded", "modprobe"),
    ("driver", no_gpus("no NVIDIA driver userspace here: …"), "fail", "userspace", "--gpus all"),
    ("driver", no_gpus("no permission for the NVIDIA devices: …"), "fail", "permission", "/dev/nvidia"),
    ("driver", no_gpus("NVML has not answered for 45 s"), "fail", "45 s", "Xid 119"),
    ("driver", no_gpus("something new"), "fail", "something new", "nvidia-smi"),
    ("gpus", [GpusExpected(host="ct200", count=9)], "fail", "8 of 9", "reset"),
    ("gpus", [GpusSampled(host="ct200", gpus=(gauges(3, state="lost"),))], "fail", "GPU 3 is lost", "reset"),
    ("gpus", [at_ct200(gpu_facts.healthy(health(2, pcie_width=8)))], "fail", "GPU 2: PCIe x8", "gpudeck status"),
    ("gpus", [at_ct200(gpu_facts.healthy(health(2, persistence=False)))], "warn", "persistence", "gpudeck status"),
    (
        "topology",
        [at_ct200(gpu_facts.topology(8, nvlink=False, iommu=CleanText("on")))],
        "fail",
        "hang",
        "NCCL_P2P_DISABLE=1",
    ),
    ("disks", [*disks()], "fail", "disk / full", "models"),
    ("shared_memory", [TIGHT], "fail", "64.0 MB", "--shm-size"),
    ("clock", [HeartbeatHeard(host="ct200", skew_s=12.0)], "warn", "12 s ahead of", "set-ntp"),
    ("clock", [HeartbeatHeard(host="ct200", skew_s=-3600.0)], "fail", "behind", "set-ntp"),
    ("systemd", [examined(systemd="user")], "warn", "last logout", "enable-linger"),
    ("systemd", [examined(systemd="none", container=CleanText("docker"))], "warn", "docker container", "systemd runs"),
    ("locale", [examined(encoding=CleanText("ANSI_X3.4-1968"), locale=CleanText("C"))], "warn", "ANSI", "C.UTF-8"),
    (
        "state_dir",
        [examined(state_dir_error=CleanText("/root: Read-only file system"))],
        "fail",
        "Read-only",
        "XDG_STATE_HOME",
    ),
    ("open_files", [examined(open_files=1024)], "warn", "1024", "nofile"),
]


@pytest.mark.parametrize(("name", "facts", "verdict", "words", "way"), CASES)
def test_each_fault_has_its_verdict_and_one_way_out(
    name: str, facts: list[Event], verdict: str, words: str, way: str
) -> None:
    found = check(name, *facts)
    assert found.verdict == verdict
    assert words in found.sentence
    assert way in found.way_out


def test_an_unlimited_number_of_files_is_no_small_one() -> None:
    assert check("open_files", examined(open_files=-1)) == Check("open_files", "ok", "at most unlimited a process")


def test_what_could_not_be_asked_is_unknown() -> None:
    state = State()
    failed = ProbeFailed(host="ct200", probe=CleanText("doctor"), reason=CleanText("python3 gave no answer"))
    for number, event in enumerate([*link_up(), failed], 1):
        reduce(state, Stamped(number, 1.0, event))
    verdicts = {one.name: one.verdict for one in box_checks(state.hosts["ct200"])}
    assert {name for name, verdict in verdicts.items() if verdict == "ok"} == {"ssh", "shell", "clock"}
    assert set(verdicts.values()) == {"ok", "unknown"}


def test_a_configuration_that_is_not_obeyed_is_told() -> None:
    found = check("ssh", notes=("StrictHostKeyChecking is ignored.",))
    assert (found.verdict, found.sentence) == ("warn", "StrictHostKeyChecking is ignored.")


def test_the_worst_verdict_and_the_lines() -> None:
    checks = [Check("a", "ok", "fine"), Check("b", "warn", "odd", "mend it"), Check("c", "unknown", "?")]
    assert worst(checks) == "warn"
    assert doctor_lines(checks)[1:3] == ["! warn    b                odd", "                           → mend it"]
    assert doctor_value(None, checks)["checks"][0]["way_out"] is None
