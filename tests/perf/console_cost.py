"""What the console costs while one works in it: from key to frame, of a core, of memory over eight hours."""

from __future__ import annotations

import re
import statistics
import sys
import tempfile
import time
from pathlib import Path

from tests.perf import mixed_hour
from tests.perf.box import CLOCK_MHZ, box
from tests.perf.process import ROOT, ran_s
from tests.perf.screen import Screen, screen
from tests.perf.table import Row
from tests.support.gpudeck import Gpudeck
from tests.support.laptop import Laptop

WATCHED_S = 20.0
SETTLE_S = 5.0
KEYS = 60
HOURS = 8
# A key, and a text that stands on the screen it leads to and on none of the others.
WAYS = ((b"2", "GPU health"), (b"3", "Stored"), (b"6", "Curve"), (b"7", "Compare"), (b"4", "Plan"))


def rows() -> list[Row]:
    """All of them; the CPU is that of the console's process alone."""
    with tempfile.TemporaryDirectory() as place:
        return [*_busy(Path(place)), *_nothing(Path(place)), _connected(), *_memory(Path(place))]


def _share(shown: Screen) -> float:
    """Percent of a core over a while."""
    time.sleep(SETTLE_S)
    before, began = ran_s(shown.pid), time.monotonic()
    time.sleep(WATCHED_S)
    return 100 * (ran_s(shown.pid) - before) / (time.monotonic() - began)


def _busy(place: Path) -> list[Row]:
    argv = [sys.executable, "-m", "tests.perf.busy_console", str(place / "night.jsonl")]
    env = Gpudeck(Laptop(place)).env
    with screen(argv, env, ROOT, (120, 40)) as shown:
        shown.wait("Decode batch")
        share = _share(shown)
        first = [shown.press(*way) for way in WAYS]
        waits = [shown.press(*WAYS[at % len(WAYS)]) for at in range(KEYS)]
    p95 = statistics.quantiles(waits, n=20)[-1]
    night = "download, 1,000 log lines/s, sweep, 8 GPUs"
    return [
        Row(measure="busy console, of a core", value=share, unit="%", budget=30, base=night),
        Row(measure="key to frame while busy, p95", value=1000 * p95, unit="ms", budget=80,
            base=f"{KEYS} changes of screen, median {1000 * statistics.median(waits):.0f} ms"),
        Row(measure="the same, a screen that was never shown before", value=1000 * statistics.median(first), unit="ms",
            budget=80, base=f"median of {len(WAYS)}"),
    ]  # fmt: skip


def _nothing(place: Path) -> list[Row]:
    with screen(
        [sys.executable, "-m", "console"], Gpudeck(Laptop(place)).env | {"PYTHONPATH": str(ROOT)}, place
    ) as shown:
        shown.wait("local")
        share = _share(shown)
    return [
        Row(measure="console with nothing connected, of a core", value=share, unit="%", budget=1, base="the picker")
    ]


def _connected() -> Row:
    with box() as there:
        argv = [sys.executable, "-m", "console", there.name, "--no-record"]
        with screen(argv, there.gpudeck.env, there.gpudeck.laptop.directory, (120, 40)) as shown:
            shown.wait(str(CLOCK_MHZ))
            share = _share(shown)
    return Row(measure="console on a quiet box, of a core", value=share, unit="%", budget=6, base="8 GPUs at 1 Hz, SSH")


def _memory(place: Path) -> list[Row]:
    """The replay on screen, taken to its end in one jump, and to the end of its first hour."""
    night = mixed_hour.write(place / "hours.jsonl", HOURS * mixed_hour.SECONDS)
    argv = [sys.executable, "-m", "console", "--replay", str(night)]
    env = Gpudeck(Laptop(place)).env | {"PYTHONPATH": str(ROOT)}
    peaks = []
    with screen(argv, env, place, (120, 40)) as shown:
        shown.wait("REPLAY", limit_s=120)
        for hour in (1, HOURS):
            shown.press(b"t", "Go to", limit_s=300)
            moment = hour * mixed_hour.SECONDS - 1
            shown.press(f"{moment}\r".encode(), f"REPLAY {hour - 1:02}:59:59", limit_s=300)
            peaks.append(_peak(shown.pid))
    return [
        Row(measure="replay of eight hours on screen, peak memory", value=peaks[1] / 1e6, unit="MB", budget=150,
            base=f"{HOURS * 82_800:,} facts, {night.stat().st_size / 1e6:.0f} MB"),
        Row(measure="the same", value=peaks[1] / peaks[0], budget=1.1, base="the peak behind its first hour"),
    ]  # fmt: skip


def _peak(pid: int) -> int:
    """The highest resident size so far, in bytes."""
    found = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    assert found is not None
    return int(found[1]) * 1024
