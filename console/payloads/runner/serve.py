"""The process that stays with a job: starts it, reaps its whole tree, obeys requests, and writes the evidence."""

from __future__ import annotations

import ctypes
import os
import signal
import time
from typing import Any

from . import folder, oom, tree
from .identity import Process, boot_id, process, send
from .logs import Log
from .record import job_record
from .spawn import spawn
from .stopping import Stop

TICK_S = 1.0
BUSY_TICK_S = 0.1  # while stopping or pausing
_SIGNALS = {signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1}
_PR_SET_NAME, _PR_SET_CHILD_SUBREAPER = 15, 36


def serve(directory: str, unit: str | None) -> None:
    """Run the job of `spec.json` to its end. Evidence says what went wrong; there is nobody to raise to."""
    try:
        runner = Runner(directory, unit)
    except (OSError, ValueError, KeyError, TypeError) as error:
        folder.fill(directory, folder.EXIT, {"code": None, "signal": None, "reason": str(error)[:300]})
        return
    runner.run()


class Runner:
    def __init__(self, directory: str, unit: str | None) -> None:
        self._directory = directory
        spec = folder.read(directory, folder.SPEC)
        if spec is None:
            raise ValueError("the request of the job cannot be read")
        folder.remove(directory, folder.SPEC)  # it holds the secrets of the environment
        self._job: dict[str, Any] = spec["job"]
        _become_reaper()
        self._log = Log(directory, self._job["log_cap_bytes"])
        self._oom = oom.Watch()
        self._stop: Stop | None = None
        self._stopped_by: str | None = None
        self._paused = False
        self._ended = False
        self._start_us = int(time.clock_gettime(time.CLOCK_BOOTTIME) * 1e6)
        self._main = self._start(spec, unit)

    def _start(self, spec: dict[str, Any], unit: str | None) -> Process:
        """The record is on the disk before the program runs: nothing of ours runs unrecorded."""
        spawned = spawn(self._job, self._directory, spec["env"], self._log.fd)
        main, runner = process(spawned.pid), process(os.getpid())
        try:
            if main is None or runner is None:
                raise OSError("/proc does not show the job's own processes")
            record = job_record(self._job, main, runner, boot_id(), unit)
            folder.write(self._directory, folder.JOB, folder.dump(record))
        except OSError:
            spawned.abandon()
            raise
        failure = spawned.go()
        if failure is not None:
            self._log.say(failure["reason"])
            self._evidence(failure["code"], None, failure["reason"])
        return main

    def run(self) -> None:
        while self._reap():
            self._obey()
            self._log.cap()
            self._oom.look()
            wait_s = BUSY_TICK_S if self._stop or self._paused else TICK_S
            caught = signal.sigtimedwait(_SIGNALS, wait_s)
            if caught is not None and caught.si_signo in (signal.SIGTERM, signal.SIGINT):
                self._begin_stop()
        self._finish()

    def _reap(self) -> bool:
        """Collect what ended; False when nothing of the job is left."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return False
            if pid == 0:
                return True
            if pid == self._main.pid and not self._ended:
                self._main_ended(status)

    def _main_ended(self, status: int) -> None:
        if os.WIFSIGNALED(status):
            number = os.WTERMSIG(status)
            proof = self._oom.evidence([self._main.pid], self._start_us) if number == signal.SIGKILL else None
            self._evidence(None, number, "killed by the kernel for memory" if proof else None, proof)
        else:
            self._evidence(os.WEXITSTATUS(status), None, None)

    def _evidence(self, code: int | None, number: int | None, reason: str | None, proof: str | None = None) -> None:
        self._ended = True
        data = {"code": code, "signal": number, "reason": reason and reason[:300], "ended_s": round(time.time(), 3)}
        data.update(oom=proof and proof[:300], oom_kills=self._oom.kills(), stopped_by=self._stopped_by)
        self._write(folder.EXIT, data)

    def _write(self, name: str, data: dict[str, Any]) -> None:
        """Evidence that cannot be written (a folder somebody removed) must not end the reaping."""
        try:
            folder.fill(self._directory, name, data)
        except OSError as error:
            self._log.say(f"{name} cannot be written: {error}")

    def _begin_stop(self) -> None:
        asked = folder.read(self._directory, folder.STOP) or {}
        grace_s = float(asked.get("grace_s", self._job["grace_s"]))
        self._stopped_by = asked.get("by", "the system")
        if self._stop is None:
            self._stop = Stop(grace_s, time.monotonic())
        else:
            self._stop.grace_s = grace_s

    def _obey(self) -> None:
        if self._stop is not None:
            members = tree.descendants(os.getpid())
            main = None if self._ended else next((each for each in members if each.pid == self._main.pid), None)
            self._stop.step(time.monotonic(), main, members)
        elif self._job["pause"] == "signal":
            self._pause(folder.exists(self._directory, folder.PAUSE))

    def _pause(self, wanted: bool) -> None:
        """Stopped processes start no new ones, but some may just have been started: look again each tick."""
        if not wanted and not self._paused:
            return
        members: list[Process] = tree.descendants(os.getpid())
        for each in members:
            if each.stopped != wanted:
                send(each, signal.SIGSTOP if wanted else signal.SIGCONT)
        self._paused = wanted

    def _finish(self) -> None:
        for name in self._job["files"]:
            folder.remove(self._directory, name)
        self._write(folder.DRAINED, {"drained_s": round(time.time(), 3), "stopped_by": self._stopped_by})


def _become_reaper() -> None:
    """Orphans of the job come to us, requests wait for us, and nothing else ends us."""
    os.umask(0o077)
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(_PR_SET_NAME, b"gpudeck-runner", 0, 0, 0)
    if libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "this kernel has no sub-reapers")
    signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
