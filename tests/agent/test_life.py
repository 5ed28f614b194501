"""The agent's beginning, its rhythm and its end: a real process, spoken to in raw lines."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from console.remote.bundle import STAGE0, bundle, frame
from tests.support.agent import binding
from tests.support.fakes import Disks, Fleet
from tests.support.patience import PATIENCE_S
from tests.support.requirements import need


class Raw:
    """The agent's pipes."""

    def __init__(self, python: str, env: Mapping[str, str], config: dict[str, Any]) -> None:
        self.process = subprocess.Popen(
            [python, "-I", "-S", "-u", "-c", STAGE0],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, **env},
        )  # fmt: skip
        self.send(frame(bundle("console.agent", {"nonce": "n1", **config})))
        self._rest = b""
        self._lines: deque[bytes] = deque()

    def send(self, data: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def ask(self, number: int, op: str, **args: Any) -> None:
        self.send(json.dumps({"id": number, "op": op, "a": args}).encode() + b"\n")

    def frames(self, limit_s: float = PATIENCE_S) -> Iterator[dict[str, Any]]:
        assert self.process.stdout is not None
        end = time.monotonic() + limit_s
        while True:
            while self._lines:
                line = self._lines.popleft()
                assert line.isascii()
                yield json.loads(line, parse_constant=lambda name: pytest.fail(f"{name} in a frame"))
            if not select.select([self.process.stdout], [], [], max(0.0, end - time.monotonic()))[0]:
                return
            data = os.read(self.process.stdout.fileno(), 65536)
            if not data:
                return
            *lines, self._rest = (self._rest + data).split(b"\n")
            self._lines.extend(lines)

    def until(self, kind: str, limit_s: float = PATIENCE_S) -> dict[str, Any]:
        found = next((found for found in self.frames(limit_s) if found["k"] == kind), None)
        assert found is not None, f"no {kind} within {limit_s} s"
        return found

    def ended(self) -> int:
        return self.process.wait(PATIENCE_S)


@contextmanager
def started(env: Mapping[str, str] | None = None, *, python: str = sys.executable, **config: Any) -> Iterator[Raw]:
    raw = Raw(python, env or {}, config)
    try:
        yield raw
    finally:
        raw.process.kill()
        for pipe in (raw.process.stdin, raw.process.stdout, raw.process.stderr):
            assert pipe is not None
            with contextlib.suppress(BrokenPipeError):
                pipe.close()
        raw.process.wait()


def test_the_first_frame_says_who_answers() -> None:
    with started() as raw:
        hello = next(raw.frames())
    assert (hello["v"], hello["n"], hello["k"]) == (1, 1, "hello")
    assert hello["d"]["nonce"] == "n1"
    assert hello["d"]["boot_id"] == Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    wanted = {"pid", "hostname", "kernel", "os", "python_version", "cpu_count", "uid", "user", "home", "shell"}
    assert wanted <= hello["d"].keys()


def test_frames_are_numbered_and_it_beats_each_second() -> None:
    with started() as raw:
        seen: list[dict[str, Any]] = []
        for found in raw.frames():
            seen.append(found)
            if sum(one["k"] == "heartbeat" for one in seen) == 3:
                break
    beats = [one["m"] for one in seen if one["k"] == "heartbeat"]
    assert [one["n"] for one in seen] == list(range(1, len(seen) + 1))
    assert beats[-1] - beats[0] > 1.0  # two seconds; less only where the machine held the first one back


def test_it_ends_with_its_input() -> None:
    with started() as raw:
        raw.until("hello")
        assert raw.process.stdin is not None
        raw.process.stdin.close()
        assert raw.ended() == 0


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 0), (signal.SIGHUP, 0), (signal.SIGKILL, -9)])
def test_it_ends_at_a_signal_with_its_programs(number: int, code: int) -> None:
    with started() as raw:
        raw.ask(1, "exec", argv=["true"])
        raw.until("reply")
        raw.ask(2, "exec", argv=["sh", "-c", "trap '' TERM; sleep 60 & echo $!; wait"])
        told = base64.b64decode(raw.until("part")["d"]["data"])
        group = [
            int(path.parent.name) for path in Path("/proc").glob("[0-9]*/stat") if _parent(path) == raw.process.pid
        ]
        raw.process.send_signal(number)
        assert raw.ended() == code
    assert len(group) >= 2  # the program, and the guard that sees to its end
    assert not any(_runs(pid) for pid in (*group, int(told)))


def _parent(path: Path) -> int:
    try:
        return int(path.read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0


def _runs(pid: int) -> bool:
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        try:
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return False
        except OSError:
            return False
        time.sleep(0.02)
    return True


@pytest.mark.slow
def test_silence_ends_it_and_requests_keep_it() -> None:
    with started(idle_s=4) as raw:
        raw.until("hello")
        begun = time.monotonic()
        for number in range(3):
            raw.ask(number, "ping")
            raw.until("reply")
            raw.until("heartbeat")
        assert raw.ended() == 0
    assert time.monotonic() - begun > 4.9


def test_a_hung_driver_does_not_keep_it(tmp_path: Path) -> None:
    fleet = Fleet(tmp_path, 2)
    fleet.call(0, "*", "hang")
    fleet.call(None, "nvmlEventSetWait", "hang")
    with started(fleet.env()) as raw:
        raw.ask(1, "nvml", module="pynvml", source=binding())
        while "hung" not in json.dumps(raw.until("GpusSampled")):
            pass
        raw.process.stdin.close()  # type: ignore[union-attr]
        assert raw.ended() == 0


def test_a_link_that_is_blocked_in_both_directions_ends_it() -> None:
    with started(idle_s=2) as raw:
        raw.ask(1, "exec", argv=["sh", "-c", "while :; do echo xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx; done"])
        assert raw.ended() == 0  # nobody has read a byte


def test_a_slow_reader_loses_samples_and_no_answer() -> None:
    with started() as raw:
        raw.until("hello")
        for number in range(1, 40):
            raw.ask(number, "list", path="/proc/self/task/../../..")  # fills the pipe
        for number in range(40, 900):
            raw.ask(number, "probe", name="machine")
        answers: set[int] = set()
        dropped = 0
        for found in raw.frames():
            if found["k"] in ("reply", "error"):
                answers.add(found["id"])
            dropped = max(dropped, found.get("dropped", 0))
            if len(answers) == 899:
                break
    assert answers == set(range(1, 900))


def test_lines_that_are_no_requests_are_skipped() -> None:
    with started() as raw:
        raw.send(b'\n{"id":\n[1]\n{"id":"x","op":"ping"}\n\xff\xfe\n{"op":"ping"}\n')
        raw.ask(5, "ping")
        assert raw.until("reply")["id"] == 5


def test_a_line_without_end_closes_the_link() -> None:
    with started() as raw:
        raw.until("hello")
        raw.send(b"x" * 300_000)
        assert raw.ended() == 0


@pytest.mark.slow
def test_a_probe_that_does_not_answer_is_told_and_told_again(tmp_path: Path) -> None:
    disks = Disks(tmp_path)
    slow = tmp_path / "bin" / "quota"
    slow.parent.mkdir()
    slow.write_text("#!/bin/sh\nexec sleep 30\n")
    slow.chmod(0o755)
    with started({**disks.env(), "PATH": f"{slow.parent}:{os.environ['PATH']}"}) as raw:
        stuck = raw.until("ProbeStuck")["d"]
        well = raw.until("ProbeStuck")["d"]
        disk = raw.until("DisksSampled")["d"]["disks"][0]
    assert (stuck["probe"], stuck["stuck_s"] >= 3) == ("disks", True)
    assert well == {"probe": "disks", "stuck_s": 0.0}
    assert disk["state"] == "ok"


def _oldest_python() -> str | None:
    found = [shutil.which("python3.8"), *Path.home().glob(".pyenv/versions/3.8.*/bin/python3.8")]
    works = (
        str(path) for path in found if path and not subprocess.run([path, "-c", ""], capture_output=True).returncode
    )
    return next(works, None)


def test_the_oldest_python(tmp_path: Path) -> None:
    python = _oldest_python()
    need("python3.8", python is not None, "the agent must run there")
    fleet = Fleet(tmp_path, 2)
    with started(fleet.env(), python=python or "") as raw:
        raw.ask(1, "nvml", module="pynvml", source=binding())
        raw.ask(2, "http", url="http://127.0.0.1:1/", method="GET")
        kinds = {raw.until(kind)["k"] for kind in ("hello", "error", "GpusSampled")}
    assert len(kinds) == 3
