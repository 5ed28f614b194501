"""The processes that this agent started, so that none outlives it, not even when it is killed without a word."""

from __future__ import annotations

import contextlib
import os
import signal
import threading

_groups: set[int] = set()
_guard = -1  # the pipe on which the guard is told of every group; its end is our end
lock = threading.Lock()  # held while a process is started, so that it is never unknown here


def guard() -> None:
    """Fork the guard, which ends what is left when this process is gone. Call it before the first thread."""
    global _guard
    told, _guard = os.pipe()
    os.set_blocking(_guard, False)  # one that is stopped must not hold us up
    if os.fork():
        os.close(told)
        return
    try:
        os.setsid()
        with contextlib.suppress(OSError), open("/proc/self/comm", "w") as name:
            name.write("gpudeck-guard")
        for number in (signal.SIGHUP, signal.SIGTERM, signal.SIGINT):
            signal.signal(number, signal.SIG_IGN)
        os.dup2(told, 3)
        for fd in range(3):  # it must not hold the connection open
            os.close(fd)
        os.closerange(4, 4096)
        for pid in _left(3):
            send(pid, signal.SIGKILL)
    finally:
        os._exit(0)


def _left(told: int) -> set[int]:
    """The groups that were told of and not taken back when the pipe ended."""
    groups: set[int] = set()
    rest = b""
    while True:
        data = os.read(told, 4096)
        if not data:
            return groups
        *lines, rest = (rest + data).split(b"\n")
        for number in map(int, lines):
            if number > 0:
                groups.add(number)
            else:
                groups.discard(-number)


def add(pid: int) -> None:
    """A new process that leads a group of its own. Call it with `lock` held since before the start."""
    _groups.add(pid)
    _tell(pid)


def discard(pid: int) -> None:
    with lock:
        _groups.discard(pid)
        _tell(-pid)


def _tell(number: int) -> None:
    with contextlib.suppress(OSError):  # a guard that somebody killed
        os.write(_guard, b"%d\n" % number)


def send(pid: int, number: int) -> None:
    """A signal to the process's group."""
    with contextlib.suppress(OSError):
        os.killpg(pid, number)


def kill_all() -> None:
    """At the agent's end: everything that still runs, at once."""
    locked = lock.acquire(timeout=1.0)  # a start that hangs must not hold up the end
    for pid in list(_groups):
        send(pid, signal.SIGKILL)
    if locked:
        lock.release()
