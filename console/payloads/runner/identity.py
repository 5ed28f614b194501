"""Who a process is: pid, start time and boot id. A pid alone may be somebody else's by now."""

from __future__ import annotations

import os
import signal
from typing import NamedTuple

_BOOT_ID = "/proc/sys/kernel/random/boot_id"


class Process(NamedTuple):
    """A running process as `/proc/PID/stat` shows it. `start` is in clock ticks since the boot."""

    pid: int
    parent: int
    session: int
    start: int
    stopped: bool


def boot_id() -> str:
    with open(_BOOT_ID, encoding="ascii") as file:
        return file.read().strip()


def process(pid: int) -> Process | None:
    """The process, or None when there is none or only its zombie."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            text = file.read()
    except OSError:
        return None
    fields = text[text.rindex(b")") + 2 :].split()  # the name before may hold blanks and brackets
    state = fields[0]
    if state in (b"Z", b"X"):
        return None
    return Process(pid, int(fields[1]), int(fields[3]), int(fields[19]), state in (b"T", b"t"))


def alive(pid: int | None, start: int | None) -> bool:
    """Whether exactly this process lives. The caller has compared the boot id."""
    found = process(pid) if pid else None
    return found is not None and found.start == start


def send(target: Process, number: int) -> bool:
    """Signal exactly this process; False when it is gone. Where Python has pidfds, the pid cannot change hands."""
    open_pidfd = getattr(os, "pidfd_open", None)
    if open_pidfd is None:
        return alive(target.pid, target.start) and _kill(target.pid, number)
    try:
        handle = open_pidfd(target.pid)
    except OSError:
        return False
    try:
        if not alive(target.pid, target.start):
            return False
        signal.pidfd_send_signal(handle, number)  # type: ignore[attr-defined,unused-ignore]
    except OSError:
        return False
    finally:
        os.close(handle)
    return True


def _kill(pid: int, number: int) -> bool:
    try:
        os.kill(pid, number)
    except OSError:
        return False
    return True
