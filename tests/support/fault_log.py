"""What a fault test saw, as a line for docs/reliability.md; kept only where GPUDECK_FAULT_LOG names a file."""

from __future__ import annotations

import json
import os
from pathlib import Path


def tell(fault: str, trigger: str, within_s: float | None, seen_s: float | None, lost: str, left: str) -> None:
    """One run of one fault. `seen_s` is None where there is nothing to be seen; `lost` and `left` are words."""
    if path := os.environ.get("GPUDECK_FAULT_LOG"):
        row = {"fault": fault, "trigger": trigger, "within_s": within_s, "seen_s": seen_s, "lost": lost, "left": left}
        with Path(path).open("a") as file:
            file.write(json.dumps(row) + "\n")
