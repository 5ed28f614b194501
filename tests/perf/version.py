"""`gpudeck --version`, and what the one-shot commands load."""

from __future__ import annotations

import statistics
import subprocess
import sys

from tests.perf import process
from tests.perf.table import Row

TIMES = 9
LOADED = "import console.cli.status, sys; print(*sys.modules)"


def rows() -> list[Row]:
    """CPU of the whole process, and the modules that `gpudeck status` has no use for before it connects."""
    costs = [process.run([sys.executable, "-m", "console", "--version"]) for _ in range(TIMES)]
    loaded = subprocess.run(
        [sys.executable, "-c", LOADED], check=True, capture_output=True, text=True, cwd=process.ROOT
    )
    heavy = {"textual", "rich", "asyncssh", "huggingface_hub"} & set(loaded.stdout.split())
    return [
        Row(measure="gpudeck --version, CPU", value=1000 * statistics.median(costs), unit="ms", budget=80,
            base=f"median of {TIMES}"),
        Row(measure="gpudeck status loads textual, rich, asyncssh or huggingface_hub", value=len(heavy),
            unit="of them", budget=0, base="before it connects"),
    ]  # fmt: skip
