"""Stopping a server that is no job of ours: the parent first and alone, grace, then what is left of its tree.

A SIGTERM to the whole group looks like a crash in SGLang's log (the children die before the parent drains), so only
the parent is asked. Nothing is ever stopped by name; a pid that was reused is refused.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from typing import Any

from . import processes
from .calls import Call, OpError

LOOK_S = 0.1
REST_S = 5.0  # for what the parent left behind: on its own, after SIGTERM, after SIGKILL


def server_stop(call: Call, a: dict[str, Any]) -> dict[str, Any]:
    """Stop (`pid`, `start`, `boot_id`); parts {"stage"}, reply {graceful, terminated[], killed[], left[], took_s}.

    Cancelling ends the waiting and sends no further signal.
    """
    pid, start = int(a["pid"]), int(a["start"])
    if a.get("boot_id") != processes.boot_id() or not processes.alive(pid, start):
        raise OpError("not_found", f"process {pid} of that start does not live any more")
    began = time.monotonic()
    tree = _Tree(call, pid, start)
    call.part({"stage": "asked"})
    _send(pid, start, signal.SIGTERM)
    graceful = tree.wait(float(a.get("grace_s") or 60.0), lambda: not processes.alive(pid, start))
    if graceful:
        tree.wait(REST_S, lambda: not tree.left())
    terminated = tree.signal_left(signal.SIGTERM, "rest")
    killed = tree.signal_left(signal.SIGKILL, "killed") if terminated else []
    return {
        "graceful": graceful and not terminated,
        "terminated": terminated,
        "killed": killed,
        "left": tree.left(),
        "took_s": round(time.monotonic() - began, 2),
    }


def _send(pid: int, start: int, number: int) -> None:
    """A signal to exactly this process; a pidfd where Python has it closes the gap to a reused pid."""
    opened = None
    with contextlib.suppress(OSError, AttributeError):
        opened = os.pidfd_open(pid)
    try:
        if not processes.alive(pid, start):
            return
        with contextlib.suppress(ProcessLookupError):
            if opened is not None:
                signal.pidfd_send_signal(opened, number)
            else:
                os.kill(pid, number)
    finally:
        if opened is not None:
            os.close(opened)


class _Tree:
    """The parent and everything that was ever seen below it, or in the session that it leads."""

    def __init__(self, call: Call, pid: int, start: int) -> None:
        self._call = call
        self._members = {pid: start}
        status = processes.status_of(pid)
        self._session = pid if status is not None and status.session == pid else None
        self.grow()

    def grow(self) -> None:
        """A child that re-parents later is known from now on."""
        seen = processes.all_processes()
        for pid, start in list(self._members.items()):
            if pid in seen and seen[pid].start == start:
                for child in processes.descendants(pid, seen):
                    self._members.setdefault(child, seen[child].start)
        if self._session is not None:
            for status in seen.values():
                if status.session == self._session:
                    self._members.setdefault(status.pid, status.start)
        self._members.pop(os.getpid(), None)

    def left(self) -> list[int]:
        return sorted(pid for pid, start in self._members.items() if processes.alive(pid, start))

    def wait(self, limit_s: float, done: Any) -> bool:
        deadline = time.monotonic() + limit_s
        while not done():
            if time.monotonic() >= deadline:
                return False
            if self._call.cancelled.wait(LOOK_S):
                raise OpError("cancelled", "the waiting was cancelled; the server may still be stopping")
            self.grow()
        return True

    def signal_left(self, number: int, stage: str) -> list[int]:
        """Signal what still lives, and wait for it."""
        left = self.left()
        if left:
            self._call.part({"stage": stage, "pids": left})
            for pid in left:
                _send(pid, self._members[pid], number)
            self.wait(REST_S, lambda: not self.left())
        return left
