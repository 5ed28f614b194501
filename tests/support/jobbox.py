"""A box of one folder: its state directory, the real runner on it, and helpers that wait for a state."""

from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from console.remote.bundle import STAGE0, bundle, frame
from tests.support.patience import COMMAND_S, PATIENCE_S

_numbers = itertools.count(1)
# A server that ends at TERM and leaves children that ignore it: a new session, and a double fork.
STUBBORN = """
import os, signal, sys, time
BARE = "import os, time; os.write(1, ('bare %d' % os.getpid() + chr(10)).encode()); time.sleep(600)"
def say(name):
    os.write(1, b"%s %d\\n" % (name.encode(), os.getpid()))  # one write: no other can come between
def stubborn(name):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    say(name)
    time.sleep(600)
if os.fork() == 0:
    os.setsid()
    stubborn("session")
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.setsid()
        stubborn("double")
    os._exit(0)
if os.fork() == 0:
    os.environ.clear()
    os.execve(sys.executable, [sys.executable, "-c", BARE], {})
say("main")
time.sleep(600)
"""


def until(condition: Callable[[], Any], what: str = "the state", limit_s: float = PATIENCE_S) -> Any:
    """The first true answer of `condition`."""
    deadline = time.monotonic() + limit_s
    while time.monotonic() < deadline:
        if found := condition():
            return found
        time.sleep(0.02)
    raise AssertionError(f"waited {limit_s:g} s for {what}")


def alive(pid: int) -> bool:
    """Whether the process runs (a zombie does not)."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in ("Z", "X")
    except OSError:
        return False


class JobBox:
    """`root` is the jobs folder; `call` sends one request to the runner as the console does."""

    def __init__(self, state: Path) -> None:
        self.root = state / "gpudeck" / "jobs"
        self.env = {**os.environ, "XDG_STATE_HOME": str(state)}
        self.prefix: tuple[str, ...] = (sys.executable, "-I", "-u", "-c")  # what runs the first stage

    def call(self, op: str, **request: Any) -> dict[str, Any]:
        done = subprocess.run(
            [*self.prefix, STAGE0],
            input=frame(bundle("console.payloads.runner", {"op": op, **request})),
            capture_output=True, env=self.env, timeout=COMMAND_S, check=False,
        )  # fmt: skip
        assert not done.stderr, done.stderr.decode()
        answer: dict[str, Any] = json.loads(done.stdout)
        return answer

    def start(self, *argv: str, **more: Any) -> dict[str, Any]:
        number = next(_numbers)
        job = {"id": f"test-{number}", "kind": "test", "key": f"target {number}", "by": "me@laptop", "cwd": "/"}
        return self.call("start", job={**job, "argv": list(argv), **more})

    def run(self, *argv: str, **more: Any) -> Path:
        """Start a job and give its folder."""
        answer = self.start(*argv, **more)
        assert "job" in answer, answer
        return self.root / answer["job"]["id"]

    def program(self, source: str, **more: Any) -> Path:
        """Start a Python program."""
        return self.run(sys.executable, "-c", source, **more)

    def stop(self, directory: Path, grace_s: float | None = None) -> dict[str, Any]:
        return self.call("stop", id=directory.name, by="me@laptop", grace_s=grace_s)

    def clear(self) -> None:
        """End everything that a test left, by the identities in its records."""
        for file in self.root.glob("*/job.json"):
            asked = self.call("stop", id=file.parent.name, by="test", grace_s=0)
            if asked.get("stopping"):
                drained(file.parent)


def record(directory: Path) -> dict[str, Any]:
    value: dict[str, Any] = json.loads((directory / "job.json").read_text())
    return value


def ended(directory: Path) -> dict[str, Any]:
    """How the main process ended, when it has."""
    until((directory / "exit.json").exists, "exit.json")
    value: dict[str, Any] = json.loads((directory / "exit.json").read_text())
    return value


def drained(directory: Path) -> dict[str, Any]:
    """When nothing is left of the job."""
    until((directory / "drained.json").exists, "drained.json")
    value: dict[str, Any] = json.loads((directory / "drained.json").read_text())
    return value


def log(directory: Path) -> str:
    return (directory / "log").read_text()


def logged(directory: Path, text: str) -> str:
    """The log, once `text` is in it."""
    until(lambda: (directory / "log").exists() and text in log(directory), f"{text!r} in the log")
    return log(directory)


def kill(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)
    until(lambda: not alive(pid), f"the end of {pid}")
