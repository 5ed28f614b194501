"""The load worker's own client against its built-in mock, in a process of its own; prints the cost as JSON.

`PYTHON tests/perf/load_client.py VARIANT BACKEND RATE STREAMS SECONDS`. Standard library and the worker alone, so that
any interpreter runs it; VARIANT `stdlib` keeps uvloop and orjson away even where they are installed.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path


def main(variant: str, backend: str, rate: int, streams: int, seconds: float) -> None:
    sys.path[0] = str(Path(__file__).resolve().parents[2])  # in place of this folder, whose modules hide others
    if variant == "stdlib":
        sys.modules["orjson"] = None  # type: ignore[assignment]
    from console.payloads.load import calibrate
    from console.payloads.load.main import faster_loop

    pid, port = calibrate.start_mock(rate, streams)
    if variant != "stdlib":
        faster_loop()
    try:
        result = asyncio.run(calibrate.measure(port, streams, seconds, backend))
    finally:
        calibrate.end_mock(pid)
    sys.stdout.write(json.dumps(result))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), float(sys.argv[5]))
