"""A mixed hour replayed headless, against a decode of its lines that does nothing with them."""

from __future__ import annotations

import statistics
import tempfile
from pathlib import Path

from tests.perf import mixed_hour
from tests.perf.process import Spent, run_code
from tests.perf.table import Row

TIMES = 5
REPLAY = "import sys\nfrom console.cli.main import main\nsys.argv[1:] = ['--replay', sys.argv[1], '--headless']\nmain()"
DECODE = """
import msgspec
decode = msgspec.json.decode
with open(sys.argv[1], "rb") as file:
    for line in file:
        decode(line)
"""


def rows() -> list[Row]:
    """CPU of whole processes, interleaved; their own peak memory, and that of a third of the hour."""
    with tempfile.TemporaryDirectory() as place:
        hour = mixed_hour.write(Path(place, "hour.jsonl"))
        third = mixed_hour.write(Path(place, "third.jsonl"), mixed_hour.SECONDS // 3)
        pairs = [(run_code(REPLAY, str(hour)), run_code(DECODE, str(hour))) for _ in range(TIMES)]
        short = run_code(REPLAY, str(third))
        size = hour.stat().st_size
    ours, theirs = _median([pair[0] for pair in pairs]), _median([pair[1] for pair in pairs])
    peak = pairs[0][0].peak_bytes
    return [
        Row(measure="headless replay of a mixed hour, CPU", value=ours, unit="s", budget=1.0,
            base=f"82,800 events, {size / 1e6:.1f} MB; median of {TIMES}, the whole process"),
        Row(measure="the same", value=ours / theirs, budget=5.0, base=f"a decode of its lines, {theirs:.2f} s"),
        Row(measure="peak memory of that replay", value=peak / 1e6, unit="MB"),
        Row(measure="the same", value=peak / short.peak_bytes, budget=1.05, base="that of a third of the hour"),
    ]  # fmt: skip


def _median(spent: list[Spent]) -> float:
    return statistics.median(one.cpu_s for one in spent)
