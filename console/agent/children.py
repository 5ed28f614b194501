"""The processes that this agent started, so that none outlives it."""

from __future__ import annotations

import contextlib
import os
import signal
import threading

_groups: set[int] = set()
lock = threading.Lock()  # held while a process is started, so that it is never unknown here


def add(pid: int) -> None:
    """A new process that leads a group of its own. Call it with `lock` held since before the start."""
    _groups.add(pid)


def discard(pid: int) -> None:
    with lock:
        _groups.discard(pid)


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
