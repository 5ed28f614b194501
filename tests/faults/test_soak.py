"""A long night: memory, file handles and rings do not grow with its length.

SOAK_S=600 runs the live part for ten minutes, SOAK_S=3600 for an hour; by default it is short.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.perf import mixed_hour
from tests.support.fault_log import tell

SOAK_S = float(os.environ.get("SOAK_S", "20"))
HOURS = 8
PEAK = """
import sys
from pathlib import Path
from console.session.replay import Replay
replay = Replay(Path(sys.argv[1]))
replay.advance()
with open("/proc/self/status") as file:
    print(next(line for line in file if line.startswith("VmHWM")).split()[1])
"""
LIVE = """
import asyncio, dataclasses, gc, os, sys, time
from collections import deque
from pathlib import Path
from console.app import ConsoleApp
from console.events import Stamped
from console.journal import Recorder
from tests.perf import mixed_hour
from tests.support.played import PlayedSession

def room(kept):
    if dataclasses.is_dataclass(kept):
        return sum(room(getattr(kept, field.name)) for field in dataclasses.fields(kept))
    if isinstance(kept, deque):
        return len(kept) if kept.maxlen is None else kept.maxlen
    if isinstance(kept, dict):
        return sum(1 + room(value) for value in kept.values())
    return sum(1 + room(value) for value in kept) if isinstance(kept, (list, set, tuple)) else 0

def size(state):
    gc.collect()
    with open("/proc/self/statm") as file:
        rss = int(file.read().split()[1]) * 4096
    return rss, len(os.listdir("/proc/self/fd")), len(asyncio.all_tasks()), room(state)

async def main(seconds, path):
    session = PlayedSession(*mixed_hour.before(), hosts=[mixed_hour.HOST])
    recorder = Recorder(path, session.header, sys.exit)
    app = ConsoleApp(session)
    async with app.run_test(size=(120, 40)) as pilot:
        number, began, first = 0, time.monotonic(), None
        while (now := time.monotonic() - began) < seconds or number < 150:
            for event in mixed_hour.second(number):
                session.t = number
                session.tell(event)
                recorder.record(Stamped(session.state.seq, session.t, event))
            session.events.clear()
            number += 1
            await asyncio.sleep(max(0.0, number / 10 - (time.monotonic() - began)))
            if number % 8 == 0:
                await pilot.press("12345678"[number // 8 % 8])
            if first is None and number >= 70 and now > seconds / 2:
                first = size(session.state)
        last = size(session.state)
        print(number, *first, *last)

asyncio.run(main(float(sys.argv[1]), Path(sys.argv[2])))
"""


def ran(code: str, *arguments: str) -> list[int]:
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], cwd=root, env=os.environ | {"PYTHONPATH": str(root)}, check=True,
        capture_output=True, text=True,
    )  # fmt: skip
    return [int(word) for word in done.stdout.split()]


@pytest.mark.slow
def test_eight_hours_take_no_more_memory_than_one(tmp_path: Path) -> None:
    hours = HOURS if "SOAK_S" in os.environ else 2
    one, many = tmp_path / "one.jsonl", tmp_path / "many.jsonl"
    mixed_hour.write(one)
    mixed_hour.write(many, hours * mixed_hour.SECONDS)
    began = time.monotonic()
    (short,), (long,) = ran(PEAK, str(one)), ran(PEAK, str(many))
    assert long < 1.1 * short, (short, long)
    words = f"a busy {hours} hours replayed in {time.monotonic() - began:.0f} s, peak {long / short:.2f} of one hour's"
    tell("long night, replayed", words, None, None, "none", "nothing")


@pytest.mark.slow
def test_ten_times_the_usual_rate(tmp_path: Path) -> None:
    """230 facts a second, if the machine is idle, through the recorder and all screens; the second half is no larger
    than the first. The rows that the state keeps are counted with every ring full."""
    seconds, *middle, rss_end, handles_end, tasks_end, rows_end = ran(LIVE, str(SOAK_S), str(tmp_path / "night.jsonl"))
    rss, handles, tasks, rows = middle
    assert handles_end <= handles
    assert tasks_end <= tasks + 2
    assert rows_end <= rows
    assert rss_end < 1.1 * rss, (rss, rss_end)
    words = (
        f"{SOAK_S:g} s, {23 * seconds / SOAK_S:.0f} facts a second on screen and recorded; at the end memory "
        f"{rss_end / rss:.2f}, handles {handles_end / handles:.2f}, rows kept {rows_end / rows:.2f} of half time's"
    )
    tell("long night, live", words, None, None, "none", "nothing")
