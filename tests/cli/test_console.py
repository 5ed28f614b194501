"""The console in a real terminal, over a real sshd, at the keyboard."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.fakes import Fleet
from tests.support.gpudeck import Gpudeck
from tests.support.sshd import Sshd
from tests.support.terminal import Terminal, terminal


@pytest.fixture
def pane(tmp_path: Path) -> Iterator[Terminal]:
    with terminal(tmp_path) as one:
        yield one


def open_console(
    pane: Terminal, gpudeck: Gpudeck, *arguments: str, size: tuple[int, int] = (120, 40), **env: str
) -> None:
    looks = {"TERM": "xterm-256color", "COLORTERM": "truecolor", "LANG": "C.UTF-8"}
    pane.start([sys.executable, "-m", "console", *arguments], gpudeck.env | looks | env, size)


@pytest.mark.parametrize("size", [(80, 24), (120, 40)], ids=["80x24", "120x40"])
def test_live_gpus_and_disks_then_a_lost_gpu(
    pane: Terminal, gpudeck: Gpudeck, box: str, fleet: Fleet, size: tuple[int, int]
) -> None:
    fleet.set(3, util=97, temperature=66)
    open_console(pane, gpudeck, box, size=size)
    screen = pane.wait("97%")
    assert all(len(line) <= size[0] for line in screen.splitlines())
    for word in (box, "up", "GPUs", "Disks", "NEXT", "66°", "REC"):
        assert word in screen
    assert screen.count("✓ ok") >= 8
    fleet.call(5, "*", 15)
    assert "GPU 5 lost" in pane.wait("LOST")
    pane.keys("q")
    pane.wait("[ended 0]")


def test_the_session_is_recorded_and_replays_to_the_live_end(
    pane: Terminal, gpudeck: Gpudeck, box: str, fleet: Fleet
) -> None:
    open_console(pane, gpudeck, box)
    pane.wait("✓ ok")
    pane.keys("N")
    pane.wait("Note")
    pane.keys("night begins", "Enter")
    fleet.set(0, util=55)
    pane.wait("55%")
    pane.keys("q")
    pane.wait("[ended 0]")
    (recording,) = (gpudeck.home / "data" / "gpudeck" / "recordings").glob("*.jsonl")
    assert recording.stat().st_mode & 0o777 == 0o600
    replay = gpudeck.json("--replay", str(recording), "--headless")
    assert replay["hosts"][box]["gpus"][0]["util_pct"] == 55
    assert [note["text"] for note in replay["notes"]] == ["night begins"]
    header = json.loads(recording.read_text().splitlines()[0])
    assert header["hosts"] == [box]


@pytest.mark.parametrize("size", [(80, 24), (120, 40)], ids=["80x24", "120x40"])
def test_a_recording_that_cannot_grow_is_a_banner_and_the_session_lives(
    pane: Terminal, gpudeck: Gpudeck, box: str, fleet: Fleet, size: tuple[int, int]
) -> None:
    env = gpudeck.env | {"TERM": "xterm-256color", "LANG": "C.UTF-8"}
    pane.start(["prlimit", "--fsize=8000", sys.executable, "-m", "console", box], env, size)
    first = pane.wait("recording stopped").splitlines()[0]
    for word in (box, "✓ up", "File too large"):
        assert word in first
    fleet.set(0, util=55)
    pane.wait("55%")
    pane.keys("q")
    pane.wait("[ended 0]")


def test_behind_a_dialog_the_box_goes_on(pane: Terminal, gpudeck: Gpudeck, box: str, fleet: Fleet) -> None:
    open_console(pane, gpudeck, box)
    pane.wait("✓ ok")
    pane.keys("N")
    pane.wait("Note")
    fleet.set(0, util=55)
    assert "Note" in pane.wait("55%")


def test_two_boxes_side_by_side(pane: Terminal, gpudeck: Gpudeck, box: str, fleet: Fleet) -> None:
    open_console(pane, gpudeck, box, "local")
    pane.wait(f"[{box}] local")
    pane.keys("]")
    pane.wait(f"{box} [local]")


def test_an_agent_that_is_killed_is_started_again(
    pane: Terminal, gpudeck: Gpudeck, box: str, fleet: Fleet, server: Sshd
) -> None:
    open_console(pane, gpudeck, box)
    pane.wait("✓ ok")
    os.kill(agent_pid(server), signal.SIGKILL)
    fleet.set(0, util=71)
    pane.wait("71%")
    pane.keys("q")
    pane.wait("[ended 0]")


def agent_pid(server: Sshd) -> int:
    """The agent is the only Python below the server."""
    return next(pid for pid in server.sessions() if "python" in Path(f"/proc/{pid}/comm").read_text())


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_the_terminal_is_given_back(pane: Terminal, gpudeck: Gpudeck, number: signal.Signals) -> None:
    open_console(pane, gpudeck, "local")
    pane.wait("✓ up")
    os.kill(pane.pid_of("-m console"), number)
    screen = pane.wait(f"[ended {128 + number}]")
    assert " echo" in screen
    pane.keys("typed")
    assert "GPUs" not in pane.wait("typed")


def test_no_configuration_begins_with_the_picker(pane: Terminal, gpudeck: Gpudeck) -> None:
    gpudeck.laptop.host("spare", 22)
    open_console(pane, gpudeck)
    screen = pane.wait("spare")
    assert screen.index("spare") < screen.index("local") < screen.index("demo")


def test_no_color_and_ascii(pane: Terminal, gpudeck: Gpudeck) -> None:
    open_console(pane, gpudeck, "local", "--ascii", NO_COLOR="1")
    pane.wait("+ up")
    coloured = pane.tmux("capture-pane", "-p", "-e")
    assert pane.screen().isascii()
    assert not [code for code in ("\x1b[3", "\x1b[4", "\x1b[9") if f"{code}1m" in coloured or f"{code}8;" in coloured]
