"""The box is not as one would wish: shells, scripts, limits, disks, clocks, a reboot."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from console.views.jobs import find_job
from tests.support.fakes import library
from tests.support.fault_log import tell
from tests.support.faults import Fault, suffer
from tests.support.jobbox import record
from tests.support.scene import BoxSide, Scene, check_record, scene
from tests.support.small_disk import small_disk
from tests.support.sshd import need_users, user

NOISE = "echo 'welcome to the box'\nprintf 'glued {'\n"
BROKEN = "cd /nowhere\nno-such-command\nexport X=$(\nfi fi\n"
UP = (r"✓ up", r"8 × NVIDIA H200")


async def ordinary(one: Scene) -> None:
    """Its administrator has repaired it; `r` asks again."""
    one.box.server.stop()
    one.box.options.clear()
    one.box.variables.pop("PATH", None)
    (one.box.home / ".bashrc").unlink(missing_ok=True)
    one.box.switch_on()
    await one.pilot.press("r")


async def machine(one: Scene) -> None:
    await one.pilot.press("2")


def without_python(box: BoxSide) -> None:
    box.variables["PATH"] = "/nowhere"


def forced(box: BoxSide) -> None:
    box.options.append("ForceCommand echo 'Only backups \x1b[31mhere'")


def rc(text: str) -> dict[str, object]:
    return {"prepare": lambda box: (box.home / ".bashrc").write_text(text) and None}


def asking_sudo(box: BoxSide) -> None:
    """A sudo that asks for ever, first in the path."""
    folder = box.home / "bin"
    folder.mkdir()
    fake = folder / "sudo"
    fake.write_text(f"#!/bin/sh\ntouch {box.home}/.local/state/gpudeck/sudo-was-called\nread answer < /dev/tty\n")
    fake.chmod(0o755)
    box.variables["PATH"] = f"{folder}:{os.environ['PATH']}"


def read_only_tmp(box: BoxSide) -> None:
    """In sshd's own mount namespace: /tmp is read-only, but for the box's home, which lies in it."""
    script = 'mkdir -p "$1"; mount --bind "$1" /mnt; mount --bind /tmp /tmp; mount -o remount,ro,bind /tmp; '
    script += 'mount --bind /mnt "$1"; touch /tmp/x 2>/dev/null && exit 9; shift; exec "$@"'
    box.inside = ("unshare", "-m", "--propagation", "private", "sh", "-c", script, "sh", str(box.home))


FAULTS = [
    Fault("python missing", "a PATH without python3", ("No python3 on the box",), 15, heal=ordinary,
          prepare=without_python),
    Fault("ForceCommand", "sshd runs something else", ("does not allow commands", "Only backups here"), 15,
          heal=ordinary, prepare=forced),
    Fault("rc file ends the shell", "`exit 3` in .bashrc", ("does not allow commands", "exit code 3"), 15,
          heal=ordinary, **rc("exit 3\n")),
    Fault("noisy rc file", "lines, and one without its end, before our program", UP, 15, heal=machine, survives=True,
          **rc(NOISE)),
    Fault("broken rc file", "syntax errors and missing commands in .bashrc", UP, 15, survives=True, **rc(BROKEN)),
    Fault("sudo asks for a password", "a sudo in PATH that waits for an answer", UP, 15, survives=True,
          prepare=asking_sudo),
    Fault("/tmp read-only", "remounted read-only for sshd and all below it", UP, 15, survives=True,
          prepare=read_only_tmp),
]  # fmt: skip


@pytest.fixture
def full_soon(laptop_place: Path) -> Iterator[Path]:
    with small_disk(laptop_place / "small") as place:
        yield place


def fill(place: Path) -> None:
    """Until not one byte more fits."""
    with (place / "filler").open("ab", buffering=0) as filler, contextlib.suppress(OSError):
        while True:
            filler.write(b"x" * 512)


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
async def test_fault(fault: Fault, laptop_place: Path) -> None:
    await suffer(fault, laptop_place)


@pytest.mark.slow
@pytest.mark.parametrize("shell", ["bash", "dash", "zsh", "fish", "tcsh"])
async def test_login_shell(shell: str, laptop_place: Path) -> None:
    need_users()
    with user(shell) as someone:
        fault = Fault(f"login shell {shell}", "the user's shell", (r"✓ up",), 15, survives=True, gpus=False)
        await suffer(fault, laptop_place, someone)


@pytest.mark.slow
async def test_the_boxs_disk_is_full(laptop_place: Path, full_soon: Path) -> None:
    """The job of the row waits for room; what it has written is all there."""

    def at_home_there(box: BoxSide) -> None:
        box.jobs.root = full_soon / "gpudeck" / "jobs"
        box.jobs.env["XDG_STATE_HOME"] = box.variables["XDG_STATE_HOME"] = str(full_soon)
        mounts = box.place / "mountinfo"
        mounts.write_text(f"20 1 8:1 / {full_soon} rw shared:1 - ext4 /dev/vdb rw\n")
        box.variables |= {"LD_PRELOAD": str(library("statvfs")), "FAKE_MOUNTINFO": str(mounts)}

    async def filled(one: Scene) -> None:
        fill(full_soon)

    async def room(one: Scene) -> None:
        (full_soon / "filler").unlink()

    await suffer(
        Fault("box's disk full", "its state directory's disk filled to the last byte", (r"NEXT ✗ .*small.*full",), 15,
              filled, room, survives=True, prepare=at_home_there),
        laptop_place,
    )  # fmt: skip


@pytest.mark.slow
async def test_the_boxs_clock_is_wrong(laptop_place: Path) -> None:
    def late(box: BoxSide) -> None:
        box.variables |= {"LD_PRELOAD": str(library("clock")), "FAKE_SKEW_S": "-300"}

    words = (r"clock is 5 min behind",)
    await suffer(
        Fault("clock skew", "the box's wall clock five minutes late", words, 15, survives=True, prepare=late),
        laptop_place,
    )


@pytest.mark.slow
async def test_the_box_boots_anew(laptop_place: Path) -> None:
    """What ran is lost, and said to be lost by the reboot; nothing is started again by itself."""
    async with scene(laptop_place, prepare=other_kernel) as one:
        await one.healthy()
        box, (name,) = one.box, one.names
        real = record(box.job)
        box.server.stop()
        for pid in (real["runner_pid"], real["pid"]):
            os.kill(pid, signal.SIGKILL)
        (box.place / "files/proc/sys/kernel/random/boot_id").write_text("11111111-2222-3333-4444-555555555555\n")
        box.switch_on()
        seen_s = await one.says((f"NEXT ! the box was started again while {box.job.name} ran",), 15)
        await one.until(lambda: one.session.state.hosts[name].link.state == "up", 10)
        job = find_job(one.session.state.hosts[name], box.job.name)
        assert job is not None
        assert (job.state, job.reason) == ("lost_reboot", "the box was started again while it ran")
        session = one.session
        await session.__aexit__()
        await box.ended(box.agents())
        assert box.left() == []
    check_record(laptop_place / "record.jsonl", session)
    tell(
        "reboot of the box", "sshd and the job killed, another boot id", 15, seen_s, "what ran: told as lost", "nothing"
    )


def other_kernel(box: BoxSide) -> None:
    files = box.place / "files"
    fake = files / "proc/sys/kernel/random/boot_id"
    fake.parent.mkdir(parents=True)
    fake.write_text(Path("/proc/sys/kernel/random/boot_id").read_text())
    box.variables |= {"LD_PRELOAD": str(library("statvfs")), "FAKE_FILES": str(files)}
