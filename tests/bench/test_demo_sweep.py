"""A sweep on the demo box, over its own SSH server: two recipes, a killed console, a pause, ctrl+c, an abort."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from console.bench.store import RunStore
from console.demo import box as demo
from tests.support.gpudeck import Gpudeck
from tests.support.laptop import Laptop
from tests.support.patience import COMMAND_S
from tests.support.ports import free_port
from tests.support.served import until

pytestmark = pytest.mark.slow
BOX = "night-box"
QUICK = ("--window", "1", "--isl", "16", "--osl", "16")
NAMES = ["c0001-r0", "c0002-r0"]
MORE = [*NAMES, "c0004-r0", "c0008-r0"]
RECIPES = """
[recipes.small]
model = "demo/Qwen3-Demo"
dir = "{home}/models"
port = {port}
args = {{ device = "cpu", enable-metrics = true }}

[recipes.large]
extends = "small"
args = {{ context-length = 4096 }}
"""
SWEEP = """
[sweep]
recipes = ["small", "large"]
baseline = "small"
concurrency = [1, 2]
preset = "smoke"
repeats = 1
"""


class Night:
    """The laptop of the sweep. `jobs` lists the measurements on the box, the newest last."""

    def __init__(self, place: Path, box: demo.DemoBox) -> None:
        self.gpudeck = Gpudeck(Laptop(place))
        self.box, self.file = box, place / "night.toml"
        self.store = RunStore(self.gpudeck.home / "data" / "gpudeck" / "runs")
        self.file.write_text(SWEEP)
        (place / "gpudeck.toml").write_text(RECIPES.format(home=box.home, port=free_port()))

    def words(self, *words: str) -> list[str]:
        return self.gpudeck.argv("--ssh-config", str(self.box.ssh_config), *words)

    def run(self, *words: str, exit_code: int = 0) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(self.words(*words), env=self.gpudeck.env, cwd=self.file.parent, capture_output=True,
                              text=True, timeout=COMMAND_S, check=False)  # fmt: skip
        assert done.returncode == exit_code, done.stderr + done.stdout
        return done

    def walk(self) -> subprocess.Popen[str]:
        words, pipe = self.words("sweep", BOX, str(self.file), *QUICK), subprocess.PIPE
        return subprocess.Popen(words, env=self.gpudeck.env, cwd=self.file.parent, stdout=pipe, stderr=pipe, text=True)

    def rest(self) -> tuple[dict[str, Any], str]:
        """The same sweep to its end: what it told, and its narration."""
        done = self.run("sweep", BOX, str(self.file), *QUICK, "--json")
        return json.loads(done.stdout), done.stderr

    def jobs(self, kind: str = "bench") -> list[Path]:
        return sorted((self.box.home / ".local/state/gpudeck/jobs").glob(f"{kind}-*"))

    def measured(self) -> list[tuple[str, str]]:
        return sorted((run.manifest.recipe, p.name) for run in self.store.runs() for p in run.points if not p.aborted)


@pytest.fixture
def night(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Night]:
    """The demo box in a loop of its own; it serves the small model when the test begins."""
    monkeypatch.setattr(demo, "ALIAS", BOX)
    loop, found, over = asyncio.new_event_loop(), threading.Event(), asyncio.Event()
    boxes: list[demo.DemoBox] = []

    async def serve() -> None:
        async with demo.demo_box() as box:
            boxes.append(box)
            found.set()
            await over.wait()

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),))
    thread.start()
    try:
        assert found.wait(60)
        one = Night(tmp_path, boxes[0])
        one.run("deploy", BOX, "small")
        yield one
    finally:
        loop.call_soon_threadsafe(over.set)
        thread.join()
        loop.close()


def progress(job: Path) -> list[dict[str, Any]]:
    file = job / "progress.ndjson"
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def reached(night: Night, count: int) -> Callable[[], bool]:
    return lambda: len(night.measured()) >= count


def test_a_killed_console_doubles_nothing(night: Night) -> None:
    walking = night.walk()
    until(reached(night, 3), 90)  # in the midst of the second recipe
    walking.send_signal(signal.SIGKILL)
    walking.communicate()
    told, said = night.rest()
    assert (told["failed"], told["left"]) == ([], 0), said
    assert night.measured() == [(recipe, name) for recipe in ("large", "small") for name in NAMES]
    assert "Stopping" not in said, "the second server went on"
    assert len(night.jobs("serve")) == 2
    out = night.file.parent / "report"
    night.run("runs", "export", "night", "--format", "md", "--out", str(out))
    assert "large against small" in (out / "report.md").read_text()
    again, _ = night.rest()
    assert again["runs"] == told["runs"]
    assert len(night.jobs()) == 2


def test_pause_ctrl_c_and_an_abort_keep_what_was_measured(night: Night) -> None:
    night.file.write_text(SWEEP.replace("[1, 2]", "[1, 2, 4, 8]"))
    walking = night.walk()
    until(lambda: len(night.jobs()) == 1 and bool(progress(night.jobs()[0])), 60)
    (job,) = night.jobs()
    night.run("jobs", BOX, "pause", job.name)
    until(lambda: any(row.get("state") == "paused" for row in progress(job)), 60)
    walking.send_signal(signal.SIGINT)
    _, errors = walking.communicate(timeout=COMMAND_S)
    assert walking.returncode == 130, errors
    assert f"The job goes on: `gpudeck jobs {BOX} show {job.name}`" in errors
    held = len(list((job / "points").glob("*.json")))
    assert held < len(MORE), "the pause held the next point back"
    night.run("jobs", BOX, "resume", job.name)
    walking = night.walk()
    until(lambda: len(night.jobs()) == 2 and len(list((night.jobs()[1] / "points").glob("*.json"))) >= 1, 90)
    night.run("jobs", BOX, "stop", night.jobs()[1].name)
    _, errors = walking.communicate(timeout=COMMAND_S)
    assert walking.returncode == 1, errors
    assert "Call it again to go on" in errors
    kept = night.measured()
    assert [name for recipe, name in kept if recipe == "small"] == MORE
    assert 1 <= len(kept) - len(MORE) < len(MORE)
    told, said = night.rest()
    assert (told["failed"], told["left"]) == ([], 0), said
    assert night.measured() == [(recipe, name) for recipe in ("large", "small") for name in MORE]
