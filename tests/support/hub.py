"""The hub helper as the box runs it: a bundle over standard input, under an interpreter with the real library."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from console.demo.hub import Content, FakeHub, User
from console.remote.bundle import STAGE0, bundle, frame
from tests.support.patience import COMMAND_S, PATIENCE_S

GOOD = "hf_CanaryGoodTokenDoNotPrint0001"
BOB = "hf_CanaryBobTokenDoNotPrint00002"
SCOPED = "hf_CanaryScopedDoNotPrint000003"
EXPIRED = "hf_CanaryExpiredDoNotPrint00004"
WRONG = "hf_CanaryWrongTokenDoNotPrint05"
CANARIES = (GOOD, BOB, SCOPED, EXPIRED, WRONG)


def new_hub() -> FakeHub:
    """A Hub that knows alice, bob, a token of alice without the box for gated repositories, and an expired one."""
    scoped = User("alice", role="fineGrained", reads_gated=False)
    return FakeHub({GOOD: User("alice"), BOB: User("bob"), SCOPED: scoped, EXPIRED: None})


def whole(content: Content) -> bytes:
    """All bytes of a synthetic file."""
    data = b""
    while len(data) < content.size:
        data += content.read(len(data), content.size)
    return data


def environment(hub: FakeHub | None, home: Path, token: str | None = None, **more: str) -> dict[str, str]:
    """A box's environment: its own HF_HOME, the fake Hub, a token or none."""
    env = {"HF_HOME": str(home), **({"HF_ENDPOINT": hub.endpoint} if hub else {}), **more}
    return env if token is None else env | {"HF_TOKEN": token}


def _clean_environment() -> dict[str, str]:
    return {key: value for key, value in os.environ.items() if not key.startswith(("HF_", "HUGGING"))}


class Job:
    """A running bundle; `folder` is its job's directory."""

    def __init__(
        self, config: Mapping[str, Any], python: str = sys.executable, folder: Path = Path("/nonexistent")
    ) -> None:
        self.process = subprocess.Popen(
            [python, "-I", "-u", "-c", STAGE0],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env=_clean_environment() | {"GPUDECK_JOB_DIR": str(folder)},
        )  # fmt: skip
        self.progress = folder / "progress.ndjson"
        assert self.process.stdin is not None
        self.process.stdin.write(frame(bundle("console.payloads.hub", config)))
        self.process.stdin.close()
        self.process.stdin = None

    def lines(self) -> list[dict[str, Any]]:
        """What the job reported so far."""
        text = self.progress.read_text() if self.progress.exists() else ""
        return [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]

    def wait_for(self, wanted: Callable[[dict[str, Any]], bool], seconds: float = PATIENCE_S) -> dict[str, Any]:
        """The first reported line that is wanted."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            for line in self.lines():
                if wanted(line):
                    return line
            time.sleep(0.02)
        raise AssertionError(f"not reported within {seconds} s: {self.lines()[-3:]}")

    def close(self) -> None:
        """Ends the process, whatever it does."""
        self.process.kill()
        self.process.communicate()

    def end(self, seconds: float = PATIENCE_S) -> tuple[int, dict[str, Any]]:
        """Exit code and last line."""
        _, errors = self.process.communicate(timeout=seconds)
        assert b"Traceback" not in errors, errors.decode()
        assert self.lines(), errors.decode()
        return self.process.returncode, self.lines()[-1]


def ask(ops: list[dict[str, Any]], env: Mapping[str, str], python: str = sys.executable) -> list[dict[str, Any]]:
    """The helper's answers."""
    job = Job({"env": dict(env), "ops": ops}, python)
    output, errors = job.process.communicate(timeout=COMMAND_S)
    for canary in CANARIES:
        assert canary not in (output + errors).decode()
    assert job.process.returncode == 0, errors.decode()
    answers: list[dict[str, Any]] = json.loads(output.splitlines()[-1])["answers"]
    return answers


def ask_one(op: dict[str, Any], env: Mapping[str, str], python: str = sys.executable) -> Any:
    """The one answer, which must be no error."""
    (answer,) = ask([op], env, python)
    assert "ok" in answer, answer
    return answer["ok"]
