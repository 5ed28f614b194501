"""What a fault test saw, as a line for docs/reliability.md; kept only where GPUDECK_FAULT_LOG names a file."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from tests.support.patience import PATIENCE_S


def limit(within_s: float) -> float:
    """How long to wait for what must be seen `within_s`: that is asserted where it is measured, for the page."""
    return within_s if os.environ.get("GPUDECK_FAULT_LOG") else max(within_s, PATIENCE_S)


def tell(fault: str, trigger: str, within_s: float | None, seen_s: float | None, lost: str, left: str) -> None:
    """One run of one fault. `seen_s` is None where there is nothing to be seen; `lost` and `left` are words."""
    _keep({"fault": fault, "trigger": trigger, "within_s": within_s, "seen_s": seen_s, "lost": lost, "left": left})


def tell_fuzz(what: str, seconds: float, variants: int, read: int, files: int, size: int) -> None:
    """One run of a fuzzer over a corpus of `files` files, `size` bytes together; `read` variants were still read."""
    _keep({"fuzz": what, "seconds": seconds, "variants": variants, "read": read, "files": files, "size": size})


def _keep(row: dict[str, Any]) -> None:
    if path := os.environ.get("GPUDECK_FAULT_LOG"):
        with Path(path).open("a") as file:
            file.write(json.dumps(row) + "\n")
