"""The console is killed (SIGKILL) at random moments of a deploy and of a sweep, and called again.

KILLS=50 kills each of them fifty times, at the moments of fixed seeds, each a test of its own; by default the deploy
three times. `tests/bench/test_sweep_command.py` kills one sweep in any case.
"""

from __future__ import annotations

import functools
import json
import os
import random
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from console.bench.store import RunStore
from console.journal import Recording
from tests.support import served
from tests.support.fault_log import tell
from tests.support.gpudeck import Gpudeck
from tests.support.jobbox import JobBox
from tests.support.laptop import Laptop
from tests.support.ports import free_port
from tests.support.scene import MARK, marked

KILLS = int(os.environ.get("KILLS", "3"))
SWEEP = """
[sweep]
recipes = ["slow", "fast"]
baseline = "slow"
concurrency = [1]
preset = "smoke"
repeats = 1
"""
NIGHT = "night.toml"
DEPLOY = ("deploy", "local", "slow", "--json")
SWEEPS = ("sweep", "local", NIGHT, "--window", "1", "--isl", "16", "--osl", "16", "--json")

Whole = Callable[[tuple[str, ...]], float]


class Victim:
    """A console and its box, this machine; everything that runs for them carries a mark."""

    def __init__(self, directory: Path, python: Path) -> None:
        self.gpudeck = Gpudeck(Laptop(directory))
        self.directory = directory
        self.python, self.model, self.port = python, served.model(directory / "tiny"), free_port()
        self.mark = f"{os.getpid()}-{directory.name}"
        self.jobs = JobBox(self.gpudeck.home / "state")
        self.env = {MARK: self.mark, "STANDIN_KEY": "sk-test-0123456789abcdef"}

    def recipe(self, name: str, speed: str) -> None:
        with (self.directory / "gpudeck.toml").open("a") as file:
            text = served.recipe(name, self.python, self.model, self.port, SGLANG_STANDIN_SPEED=speed)
            file.write(text)

    def killed(self, words: tuple[str, ...], after_s: float) -> bool:
        """Run a command and kill it after a while; whether it was still running."""
        began = subprocess.Popen(
            self.gpudeck.argv(*words), env=self.gpudeck.env | self.env, cwd=self.directory,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        try:
            began.wait(after_s)
            return False
        except subprocess.TimeoutExpired:
            os.kill(began.pid, signal.SIGKILL)
            began.wait()
            return True

    def again(self, words: tuple[str, ...]) -> None:
        done = self.gpudeck.run(*words, **self.env)
        assert done.returncode == 0, done.stderr + done.stdout

    def serving(self) -> list[str]:
        """The jobs that serve, by their records."""
        return [path.name for path in self.jobs.root.glob("serve-*") if not (path / "exit.json").exists()]

    def left(self) -> list[str]:
        """Processes that belong to no job that runs, and files that somebody was writing."""
        own = {pid for job in self.serving() for pid in _tree(self.jobs.root / job)}
        kept = [f"{pid} {words}" for pid, words in marked(self.mark).items() if pid not in own]
        names = (name for _, _, files in os.walk(self.gpudeck.home) for name in files)  # some of them just going
        return kept + [name for name in names if ".tmp" in name or name.endswith(".new")]

    def recordings(self) -> None:
        """Each can be read: whole but for a torn last line, nothing lost or doubled."""
        for path in (self.gpudeck.home / "data/gpudeck/recordings").glob("*.jsonl"):
            if path.stat().st_size == 0:
                continue  # killed before the header was written
            recording = Recording(path)
            seqs = [stamped.seq for stamped in recording.facts()]
            assert seqs == list(range(1, len(seqs) + 1))
            assert set(recording.warnings) <= {"torn_last_line"}

    def clear(self) -> None:
        """End the server and wait until nothing of it runs."""
        self.jobs.clear()
        served.until(lambda: not marked(self.mark))

    @property
    def runs(self) -> Path:
        return self.gpudeck.home / "data" / "gpudeck" / "runs"


Kill = Callable[[tuple[str, ...], float], Victim]


def _tree(job: Path) -> list[int]:
    """The processes below a job's runner, itself among them."""

    def below(pid: int) -> list[int]:
        try:
            words = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        except OSError:
            return []
        return [pid, *(one for word in words for one in below(int(word)))]

    return below(json.loads((job / "job.json").read_text())["runner_pid"])


@pytest.fixture(scope="module")
def victims(tmp_path_factory: pytest.TempPathFactory, interpreter: Path) -> Callable[[], Victim]:
    """A fresh victim at each call."""

    def fresh() -> Victim:
        one = Victim(tmp_path_factory.mktemp("victim"), interpreter)
        one.recipe("slow", "8")
        one.recipe("fast", "16")
        (one.directory / NIGHT).write_text(SWEEP)
        return one

    return fresh


@pytest.fixture(scope="module")
def whole_s(victims: Callable[[], Victim]) -> Whole:
    """How long a command takes here that nobody kills."""

    @functools.cache
    def measured(words: tuple[str, ...]) -> float:
        one = victims()
        began = time.monotonic()
        one.again(words)
        took = time.monotonic() - began
        one.clear()
        return took

    return measured


@pytest.fixture
def killed(victims: Callable[[], Victim], whole_s: Whole) -> Iterator[Kill]:
    """Kill a command when so much of its time has passed, earlier if it was over by then; the victim."""
    made: list[Victim] = []

    def kill(words: tuple[str, ...], moment: float) -> Victim:
        after_s = moment * whole_s(words)
        while not (one := victims()).killed(words, after_s):
            one.clear()
            after_s /= 2
        made.append(one)
        return one

    yield kill
    for one in made:
        one.clear()


def moments(count: int, seed: int) -> list[float]:
    """Parts of the whole, all over it."""
    source = random.Random(seed)
    return [source.uniform(0, 1) for _ in range(count)]


@pytest.mark.slow
@pytest.mark.parametrize("moment", moments(KILLS, 10), ids="{:.3f}".format)
def test_a_deploy_killed_at_any_moment_is_taken_up(killed: Kill, moment: float) -> None:
    victim = killed(DEPLOY, moment)
    begun = victim.serving()
    assert len(begun) <= 1
    victim.again(DEPLOY)
    assert len(victim.serving()) == 1
    assert begun in ([], victim.serving()), "the server that was started is the one that is followed"
    served.until(lambda: not victim.left())
    victim.recordings()
    tell("console killed while it deploys", "SIGKILL at a random moment", None, None, "none", "nothing")


@pytest.mark.slow
@pytest.mark.skipif("KILLS" not in os.environ, reason="half a minute for each: set KILLS")
@pytest.mark.parametrize("moment", moments(KILLS, 11), ids="{:.3f}".format)
def test_a_sweep_killed_at_any_moment_goes_on(killed: Kill, moment: float) -> None:
    victim = killed(SWEEPS, moment)
    victim.again(SWEEPS)
    measured = [(run.manifest.recipe, point.name) for run in RunStore(victim.runs).runs() for point in run.points]
    assert sorted(measured) == [("fast", "c0001-r0"), ("slow", "c0001-r0")]
    assert len(victim.serving()) == 1
    served.until(lambda: not victim.left())
    victim.recordings()
    tell("console killed while it sweeps", "SIGKILL at a random moment", None, None, "none", "nothing")
