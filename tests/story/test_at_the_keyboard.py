"""A night on the demo box in a real terminal, with keys alone; its recording replays to what was on screen."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from console.demo.shelf import READER_TOKEN, TOKEN
from console.demo.story.scenes import SCENES
from tests.support import terminal
from tests.support.gpudeck import Gpudeck
from tests.support.laptop import Laptop
from tests.support.terminal import Terminal

LIMIT_S = 90.0
_MOVES = re.compile(r"^(demo: link|NEXT|  /|Links|Host|      CPU)|\d+ m?s ago|\d+ s\b")

_GAUGES = re.compile(r" +\d+ °C +\d+ W|  [▁-█]+$")


@pytest.fixture
def pane(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Terminal]:
    monkeypatch.setattr(terminal, "LIMIT_S", LIMIT_S)
    with terminal.terminal(tmp_path) as one:
        yield one


class Night:
    """The console on the demo box: what is typed, what is seen, and the box's home for what the world does."""

    def __init__(self, pane: Terminal, gpudeck: Gpudeck) -> None:
        self.pane, self.gpudeck = pane, gpudeck
        self.recording = gpudeck.laptop.directory / "night.jsonl"
        self.boxes = gpudeck.laptop.directory / "tmp"
        self.boxes.mkdir()
        looks = {"TERM": "xterm-256color", "LANG": "C.UTF-8", "TMPDIR": str(self.boxes), "SGLANG_STANDIN_SPEED": "10"}
        argv = [sys.executable, "-m", "console", "demo", "--record", str(self.recording)]
        pane.start(argv, gpudeck.env | looks, (120, 40))
        pane.tmux("set-option", "-s", "set-clipboard", "on")
        pane.wait("public repositories only")

    @property
    def home(self) -> Path:
        (home,) = self.boxes.glob("gpudeck-demo-*")
        return home

    def say(self, key: str, words: str, dialog: str) -> None:
        """Open a dialog, type, enter."""
        self.pane.keys(key)
        self.pane.wait(dialog)
        self.pane.keys("-l", words)
        self.pane.wait(lambda screen: words[:3] in screen or "•" in screen)
        self.pane.keys("Enter")
        self.pane.wait(lambda screen: dialog not in screen)

    def confirm(self, key: str, dialog: str) -> None:
        """Open a dialog that shows what it will do, and take its other button."""
        self.pane.keys(key)
        self.pane.wait(dialog)
        self.pane.keys("Tab", "Enter")
        self.pane.wait(lambda screen: dialog not in screen)

    def copied(self) -> str:
        """`y` on the overview: the status as text, from the terminal's clipboard."""
        self.pane.keys("1", "y")
        self.pane.wait("copied the status")
        return self.pane.tmux("show-buffer")

    def replayed(self, *words: str) -> str:
        done = self.gpudeck.run("--replay", str(self.recording), "--headless", *words)
        assert done.returncode == 0, done.stderr
        return done.stdout


def steady(text: str) -> list[str]:
    """The lines of a status that do not change by themselves from second to second."""
    return [_GAUGES.sub("", line) for line in text.splitlines() if line and not _MOVES.search(line)]


def gated_then_served(night: Night) -> None:
    """The gate of the drafter stops the deploy; another token opens it."""
    pane = night.pane
    night.say("T", TOKEN, "Write")
    pane.wait("demo-user")
    night.say("D", "demo-dflash", "Ask the gates")
    pane.wait("blocked, see the ways out")
    pane.keys("Escape")
    pane.wait(lambda screen: "blocked, see the ways out" not in screen)
    pane.keys("3")
    pane.wait("GATED")
    night.say("T", READER_TOKEN, "Write")
    pane.wait("demo-reader")
    night.say("D", "demo-dflash", "Ask the gates")
    pane.wait("enter: deploy")
    pane.keys("Enter")
    pane.wait("smoke test: '")
    pane.keys("5")
    pane.wait("READY")


def noted_and_measured(night: Night) -> None:
    night.say("N", "the drafter is on", "Note")
    night.say("B", "smoke -c 8", "which preset?")
    night.pane.wait("1 of 1 points")
    night.pane.wait("stored as")
    night.pane.keys("7")
    night.pane.wait("demo-dflash")


def truncated_and_stopped(night: Night) -> None:
    """The world cuts a shard; `V` finds it. `X` stops the server, whose memory comes back."""
    shard = night.home / "models" / "Qwen3-Demo" / "model-00002-of-00008.safetensors"
    os.truncate(shard, 1000)
    night.pane.keys("3")
    night.pane.wait("Hugging Face")
    night.confirm("V", "Verify what is stored")
    night.pane.wait("1 file is not what it must be")
    night.pane.keys("5")
    night.confirm("X", "Stop the server")
    night.pane.wait("memory is back")


@pytest.mark.slow
def test_the_whole_night_with_keys_alone(pane: Terminal, tmp_path: Path) -> None:
    night = Night(pane, Gpudeck(Laptop(tmp_path)))
    gated_then_served(night)
    noted_and_measured(night)
    truncated_and_stopped(night)
    live = night.copied()
    pane.keys("q")
    pane.wait("[ended 0]")
    shown = night.replayed("--text")
    assert set(steady(live)) <= set(steady(shown)), shown
    assert "the drafter is on" in shown
    end = json.loads(night.replayed("--json"))
    (server,) = end["hosts"]["demo"]["servers"]
    assert (server["phase"], server["owner"]) == ("stopped", "ours")
    assert [repo["proof"] for repo in end["hosts"]["demo"]["repos"]] == ["mismatch", "sha256"]
    assert [point["concurrency"] for run in end["runs"] for point in run["points"]] == [8]
    assert night.replayed("--json") == night.replayed("--json", "--speed", "500")


@pytest.mark.slow
def test_a_scenario_is_played_beside_the_console(pane: Terminal, tmp_path: Path) -> None:
    gpudeck = Gpudeck(Laptop(tmp_path))
    looks = {"TERM": "xterm-256color", "LANG": "C.UTF-8"}
    argv = [sys.executable, "-m", "console", "demo", "--scenario", "foreign-process"]
    pane.start(argv, gpudeck.env | looks, (120, 40))
    pane.wait(SCENES["foreign-process"].mistake)
    pane.keys("2")
    pane.wait("a server over all eight is started")
    pane.wait("Prevented. GPU 3 holds 60.0 GiB of others")
    pane.keys("q")
    pane.wait("[ended 0]")
    (recording,) = (gpudeck.home / "data" / "gpudeck" / "recordings").glob("*.jsonl")
    notes = gpudeck.json("--replay", str(recording), "--headless")["notes"]
    assert [note["text"].partition(" ")[0] for note in notes] == ["1/1", "Somebody", "Prevented."]
