"""Keys in the log pane while the server writes 1,000 lines a second: from the key to its frame (budget 100 ms)."""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from pathlib import Path

from tests.perf.process import ROOT
from tests.perf.screen import Screen, screen
from tests.perf.table import Row
from tests.support.gpudeck import Gpudeck
from tests.support.laptop import Laptop

TIMES = 40
SETTLE_S = 0.5


def rows() -> list[Row]:
    with tempfile.TemporaryDirectory() as place:
        argv = [sys.executable, "-m", "tests.perf.busy_console", str(Path(place) / "night.jsonl")]
        with screen(argv, Gpudeck(Laptop(Path(place))).env, ROOT, (120, 40)) as shown:
            shown.wait("Decode batch")
            shown.press(b"5", "Decode batch")
            waits = [_opened(shown) for _ in range(TIMES)]
    p95 = statistics.quantiles(waits, n=20)[-1]
    base = f"{TIMES} times `/`, median {1000 * statistics.median(waits):.0f} ms"
    return [
        Row(measure="key in the log pane at 1,000 lines/s, p95", value=1000 * p95, unit="ms", budget=100, base=base)
    ]


def _opened(shown: Screen) -> float:
    """Seconds from `/` to the bar of find; it is closed again, and that is painted."""
    waited = shown.press(b"/", " find ")
    shown.press(b"\r", "Decode batch")
    time.sleep(SETTLE_S)
    return waited
