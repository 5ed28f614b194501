"""What the load worker's client costs: CPU per event and the rate it reaches, against the built-in mock.

Budgets (two cores, busy machine): at 25,600 events/s 25 µs on the standard library and 10 µs with uvloop and orjson; at
1,600/s 110 and 45 µs; at 3,200/s a p99 loop lag of 10 ms on an idle machine. The worker runs under the recipe's
interpreter, so uvloop and orjson need not be here: `GPUDECK_FAST_PYTHON` names an interpreter that has both.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys

from tests.perf.process import ROOT
from tests.perf.table import Row

OFFERED = ((1600, 32, 110.0, 45.0), (3200, 64, 110.0, 45.0), (25600, 256, 25.0, 10.0))
LAG_RATE = 3200
CLIENT = ROOT / "tests/perf/load_client.py"
HAS_BOTH = "import uvloop, orjson"
TRIES = 5


def measure(variant: str, backend: str, rate: int, streams: int, seconds: float) -> dict[str, float]:
    """The cheapest of a few: what other processes do to caches and kernel is no cost of ours."""
    python = sys.executable if variant == "stdlib" else fast_python()
    argv = [python, str(CLIENT), variant, backend, str(rate), str(streams), str(seconds)]
    tries = [json.loads(subprocess.run(argv, check=True, capture_output=True).stdout) for _ in range(TRIES)]
    return min(tries, key=lambda seen: float(seen["cpu_us_per_event"]))


def fast_python() -> str:
    """An interpreter with uvloop and orjson; empty when there is none."""
    named = (os.environ.get("GPUDECK_FAST_PYTHON"), sys.executable)
    return next((python for python in named if python and _has_both(python)), "")


def _has_both(python: str) -> bool:
    return subprocess.run([python, "-c", HAS_BOTH], capture_output=True).returncode == 0


def rows(seconds: float = 3.0) -> list[Row]:
    """Both variants that the load worker has, against the rate that it was offered."""
    variants = ("stdlib", "uvloop and orjson") if fast_python() else ("stdlib",)
    found = []
    for rate, streams, plain, fast in OFFERED:
        for variant in variants:
            name, budget = f"load worker, {rate:,} events/s offered, {variant}", plain if variant == "stdlib" else fast
            seen = measure(variant, "generate", rate, streams, seconds)
            note = f"{seen['events_per_s']:,.0f} events/s reached, cheapest of {TRIES}"
            value = seen["cpu_us_per_event"]
            found.append(Row(measure=name, value=value, unit="µs CPU an event", budget=budget, base=note))
            if rate == LAG_RATE:
                lag_ms = 1000 * seen["loop_lag_p99_s"]
                found.append(Row(measure=f"{name}, added lag p99", value=lag_ms, unit="ms", budget=10))
    if len(variants) == 1:
        reason = "GPUDECK_FAST_PYTHON names no interpreter with both"
        found.append(Row(measure="load worker, uvloop and orjson", value=reason))
    return found
