"""How many lines of SGLang's log the parser reads a second: `python tests/perf/log_parser_cost.py` (budget 50,000)."""

from __future__ import annotations

import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from console.serve.parse import LogParser
from console.serve.story import Story
from tests.perf.table import Row
from tests.support.sglang import H200, log_bytes

BUDGET = 50_000


def rate(chunk: int = 65536, times: int = 10) -> float:
    """Lines a second of CPU, parsed and folded, of a captured log of start and benchmark."""
    data = log_bytes(f"{H200}/dflash_tp1/server.log") * times
    parser, story, lines = LogParser(), Story(), 0
    started = time.process_time()
    for at in range(0, len(data), chunk):
        for record in parser.feed(data[at : at + chunk]):
            story.add(record)
            lines += 1
    return lines / (time.process_time() - started)


def rows() -> list[Row]:
    best = max(rate() for _ in range(5))
    return [Row(measure="SGLang's log, parsed and folded", value=best, unit="lines/s", budget=BUDGET, at_least=True,
                base="best of 5, a second of CPU")]  # fmt: skip


if __name__ == "__main__":
    best = max(rate() for _ in range(5))
    sys.stdout.write(f"{best:,.0f} lines/s parsed and folded (budget {BUDGET:,})\n")
    sys.exit(best < BUDGET)
