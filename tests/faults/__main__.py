"""Runs the fault suite and writes docs/reliability.md: `python -m tests.faults`, or `make reliability`.

What runs saw is kept in build/faults.jsonl, so that the count of runs grows from call to call; `--table` writes the
page from it without a run. KILLS=50, SLEEP_S=120 and SOAK_S=600 make the long parts long.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.faults.reliability import document

ROOT = Path(__file__).parents[2]
LOG = ROOT / "build" / "faults.jsonl"
PAGE = ROOT / "docs" / "reliability.md"


def rows() -> Iterable[dict[str, Any]]:
    return [json.loads(line) for line in LOG.read_text().splitlines()]


def main() -> int:
    code = 0
    if "--table" not in sys.argv:
        LOG.parent.mkdir(exist_ok=True)
        os.environ["GPUDECK_FAULT_LOG"] = str(LOG)
        longer = ["-p", "no:cacheprovider", "-o", "faulthandler_timeout=0"]  # an hour of SOAK_S is no hang
        code = int(pytest.main([*longer, str(ROOT / "tests" / "faults")]))
    PAGE.write_text(document(rows(), datetime.now(UTC).date().isoformat()))
    return code


if __name__ == "__main__":
    raise SystemExit(main())
