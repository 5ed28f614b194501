"""Records that somebody else could have written are not believed: on their word nobody is killed or started."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from console.agent import adopt
from console.agent.calls import OpError
from console.agent.jobs import Jobs
from tests.serve.test_on_box import call
from tests.support.jobbox import JobBox, alive, record

OPEN: dict[str, Callable[[Path], object]] = {
    "writable by all": lambda path: path.chmod(0o777),
    "writable by a group": lambda path: path.chmod(0o770),
    "sticky": lambda path: path.chmod(0o1777),
    "another user's": lambda path: os.chown(path, 4242, -1),
}
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root gives a directory away")


@pytest.fixture(params=[pytest.param(name, marks=needs_root if "another" in name else ()) for name in OPEN])
def opened(request: pytest.FixtureRequest, box: JobBox, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A job that lies where others may write; it is ours again at the end."""
    monkeypatch.setenv("XDG_STATE_HOME", str(box.root.parents[1]))
    job = box.run("sleep", "600")
    OPEN[request.param](box.root)
    yield job
    os.chown(box.root, os.geteuid(), -1)
    box.root.chmod(0o700)


class Outlet:
    """Keeps the samples of a probe."""

    def __init__(self) -> None:
        self.outlet = self
        self.told: list[dict[str, Any]] = []

    def sample(self, _: str, data: dict[str, Any]) -> None:
        self.told.append(data)


def test_the_runner_takes_no_word_of_it(opened: Path, box: JobBox) -> None:
    pid = record(opened)["pid"]
    for answer in (
        box.call("stop", id=opened.name, by="me", grace_s=0),
        box.call("pause", id=opened.name, by="me"),
        box.call("prune", all=False),
        box.start("true"),
    ):
        assert "its records are not believed" in answer["error"]
    assert alive(pid)
    assert opened.is_dir()


def test_the_agent_says_why_it_knows_no_jobs(opened: Path, box: JobBox) -> None:
    agent = Outlet()
    Jobs(agent).sample()
    assert "its records are not believed" in agent.told[0]["jobs"]["unknown"]
    assert str(box.root) in agent.told[0]["jobs"]["unknown"]


@pytest.mark.parametrize("name", ["writable by all", pytest.param("another user's", marks=needs_root)])
def test_nobody_is_adopted_by_a_strangers_word(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    program = "import sys; print(flush=True); sys.stdin.read()"  # ends with us, whatever fails
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", program], stdin=pipe, stdout=pipe) as process:
        assert process.stdout is not None
        process.stdout.readline()  # before, its environment may not be there yet
        start = int(Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[19])
        adopt.adopt(call(), {"pid": process.pid, "start": start, "by": "me"})
        assert adopt.record_of(process.pid, start) is not None
        OPEN[name](tmp_path / "gpudeck" / "adopted")
        assert adopt.record_of(process.pid, start) is None
        with pytest.raises(OpError, match="not believed"):
            adopt.adopt(call(), {"pid": process.pid, "start": start, "by": "me"})
