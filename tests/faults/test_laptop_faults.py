"""What happens to the laptop: it sleeps, its disk fills up, two consoles look at one box.

SLEEP_S=120 makes the sleep two minutes long; by default it is a few seconds.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from console.journal import Recording
from tests.support.fault_log import limit, tell
from tests.support.gpudeck import Gpudeck
from tests.support.laptop import Laptop
from tests.support.patience import PATIENCE_S
from tests.support.scene import BoxSide, box_side
from tests.support.sshd import need_sshd
from tests.support.terminal import Terminal, terminal

SLEEP_S = float(os.environ.get("SLEEP_S", "5"))


@pytest.fixture
def box() -> Iterator[BoxSide]:
    need_sshd()
    with box_side() as one:
        yield one


@pytest.fixture
def pane(tmp_path: Path) -> Iterator[Terminal]:
    with terminal(tmp_path) as one:
        yield one


def laptop_of(directory: Path, box: BoxSide) -> Gpudeck:
    directory.mkdir(exist_ok=True)
    gpudeck = Gpudeck(Laptop(directory))
    gpudeck.laptop.ready(box.server)
    assert box.fleet is not None
    gpudeck.host("box", **box.fleet.env())
    return gpudeck


def open_console(pane: Terminal, gpudeck: Gpudeck) -> None:
    looks = {"TERM": "xterm-256color", "COLORTERM": "truecolor", "LANG": "C.UTF-8"}
    pane.start([sys.executable, "-m", "console", "box"], gpudeck.env | looks, (120, 40))


def closed(pane: Terminal, box: BoxSide) -> None:
    """The console ends well, the job lives, and nothing else of ours does."""
    pane.keys("q")
    pane.wait("[ended 0]")
    asyncio.run(box.ended(box.agents()))
    assert box.left() == []
    assert box.counted == list(range(len(box.counted)))


def recorded(gpudeck: Gpudeck) -> list[str]:
    """The kinds of the facts of the one recording, all of them there."""
    (path,) = (gpudeck.home / "data/gpudeck/recordings").glob("*.jsonl")
    recording = Recording(path)
    facts = list(recording.facts())
    assert [stamped.seq for stamped in facts] == list(range(1, len(facts) + 1))
    assert set(recording.warnings) <= {"torn_last_line"}
    return [type(stamped.event).__name__ for stamped in facts]


@pytest.mark.slow
def test_the_laptop_sleeps(pane: Terminal, tmp_path: Path, box: BoxSide) -> None:
    gpudeck, opened = laptop_of(tmp_path / "laptop", box), time.monotonic()
    open_console(pane, gpudeck)
    pane.wait("✓ ok")
    console, before = pane.pid_of("-m console"), len(box.counted)
    os.kill(console, signal.SIGSTOP)
    assert box.fleet is not None
    box.fleet.set(0, util=71)
    time.sleep(SLEEP_S)
    os.kill(console, signal.SIGCONT)
    began = time.monotonic()
    pane.wait("71%")
    pane.wait("✓ up")
    seen_s = time.monotonic() - began
    assert seen_s < limit(15)
    assert len(box.counted) >= before + SLEEP_S * 5
    closed(pane, box)
    assert recorded(gpudeck).count("GpusSampled") < 30 + time.monotonic() - opened
    tell("laptop sleeps", f"SIGSTOP of the console for {SLEEP_S:g} s", 15, seen_s, "none", "nothing")


@pytest.mark.slow
def test_the_laptops_disk_is_full(pane: Terminal, tmp_path: Path, box: BoxSide) -> None:
    """The recording ends, with a banner; the session goes on."""
    gpudeck = laptop_of(tmp_path / "laptop", box)
    recordings = gpudeck.home / "data/gpudeck/recordings"
    recordings.mkdir(parents=True)
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=32k", "tmpfs", str(recordings)], capture_output=True)
    if mounted.returncode != 0:
        pytest.skip(f"needs the right to mount: {mounted.stderr.decode().strip()}")
    try:
        began = time.monotonic()
        open_console(pane, gpudeck)
        assert "No space left on device" in pane.wait("recording stopped").splitlines()[0]
        seen_s = time.monotonic() - began
        assert box.fleet is not None
        box.fleet.set(0, util=71)
        pane.wait("71%")
        closed(pane, box)
        assert "GpusSampled" in recorded(gpudeck)
    finally:
        subprocess.run(["umount", "-l", str(recordings)], check=True)
    tell("laptop's disk full", "a file system of 32 KiB for the recordings", 30, seen_s, "none", "nothing")


@pytest.mark.slow
def test_two_consoles_on_one_box(pane: Terminal, tmp_path: Path, box: BoxSide) -> None:
    """Both see the same; one that is killed leaves the other, the job, and nothing of its own."""
    first, second = laptop_of(tmp_path / "one", box), laptop_of(tmp_path / "two", box)
    open_console(pane, first)
    pane.wait("✓ ok")
    watching = subprocess.Popen(
        second.argv("status", "box", "--watch", "--json"), env=second.env, stdout=subprocess.PIPE, text=True
    )
    assert watching.stdout is not None
    assert box.job.name in watching.stdout.readline()
    agents = box.agents()
    assert len(agents) == 2
    watching.kill()
    watching.communicate()
    began = time.monotonic()
    while len(box.agents()) > 1:
        assert time.monotonic() < began + PATIENCE_S
        time.sleep(0.05)
    assert box.fleet is not None
    box.fleet.set(0, util=71)
    pane.wait("71%")
    closed(pane, box)
    recorded(first)
    tell("two consoles on one box", "one of them killed (SIGKILL)", None, None, "none", "nothing")
