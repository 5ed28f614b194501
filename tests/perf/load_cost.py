"""What the load worker's client costs: CPU per event and the rate it reaches, against the built-in mock.

`python tests/perf/load_cost.py [seconds]` prints one row per offered rate and variant. Budgets (two cores, busy
machine): at 25,600 events/s 25 µs on the standard library and 10 µs with uvloop and orjson; at 1,600/s 110 and 45 µs;
at 3,200/s a p99 loop lag of 10 ms on an idle machine. Exit status 1 when a CPU budget is exceeded.
"""

from __future__ import annotations

import asyncio
import importlib.util
import json
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.perf.table import Row

ROWS = ((1600, 32, 110.0, 45.0), (3200, 64, 110.0, 45.0), (25600, 256, 25.0, 10.0))
LAG_RATE = 3200
ROOT = Path(__file__).resolve().parent.parent.parent


def child(variant: str, backend: str, rate: int, streams: int, seconds: float) -> None:
    """One measurement in a process of its own; prints its JSON."""
    if variant == "stdlib":
        sys.modules["orjson"] = None  # type: ignore[assignment]
    sys.path.insert(0, str(ROOT))
    from console.payloads.load import calibrate, main

    pid, port = calibrate.start_mock(rate, streams)
    if variant != "stdlib":
        main.faster_loop()
    try:
        result = asyncio.run(calibrate.measure(port, streams, seconds, backend))
    finally:
        calibrate.end_mock(pid)
    sys.stdout.write(json.dumps(result))


def measure(variant: str, backend: str, rate: int, streams: int, seconds: float) -> dict[str, float]:
    argv = [sys.executable, __file__, "--child", variant, backend, str(rate), str(streams), str(seconds)]
    found: dict[str, float] = json.loads(subprocess.run(argv, check=True, capture_output=True).stdout)
    return found


def rows(seconds: float = 5.0) -> list[Row]:
    """Both variants that the load worker has, against the rate that it was offered."""
    missing = [name for name in ("uvloop", "orjson") if importlib.util.find_spec(name) is None]
    found = []
    for rate, streams, plain, fast in ROWS:
        for variant, budget in (("stdlib", plain), ("uvloop and orjson", fast)):
            name, unit = f"load worker, {rate:,} events/s offered, {variant}", "µs CPU an event"
            if variant != "stdlib" and missing:
                reason = f"{' and '.join(missing)} not installed"
                found.append(Row(measure=name, value=reason, unit=unit, budget=budget))
                continue
            seen = measure(variant, "generate", rate, streams, seconds)
            note = f"{seen['events_per_s']:,.0f} events/s reached"
            found.append(Row(measure=name, value=seen["cpu_us_per_event"], unit=unit, budget=budget, base=note))
            if rate == LAG_RATE:
                lag_ms = 1000 * seen["loop_lag_p99_s"]
                found.append(Row(measure=f"{name}, added lag p99", value=lag_ms, unit="ms", budget=10))
    return found


def main(seconds: float) -> int:
    variants = ["stdlib"]
    if all(importlib.util.find_spec(name) for name in ("uvloop", "orjson")):
        variants.append("fast")
    failed = False
    sys.stdout.write("variant  backend   offered/s  reached/s  µs/event  budget  loop lag p99 ms\n")
    for variant in variants:
        for backend in ("generate", "chat"):
            for rate, streams, plain, fast in ROWS:
                budget = plain if variant == "stdlib" else fast
                seen = measure(variant, backend, rate, streams, seconds)
                failed |= seen["cpu_us_per_event"] > budget
                sys.stdout.write(
                    f"{variant:8} {backend:9} {rate:9} {seen['events_per_s']:10.0f} {seen['cpu_us_per_event']:9.1f}"
                    f" {budget:7.0f} {1000 * seen['loop_lag_p99_s']:16.1f}\n"
                )
    return int(failed)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        child(sys.argv[2], sys.argv[3], int(sys.argv[4]), int(sys.argv[5]), float(sys.argv[6]))
    else:
        sys.exit(main(float(sys.argv[1]) if sys.argv[1:] else 5.0))
