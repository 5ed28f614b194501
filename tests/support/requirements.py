"""Parts of the machine that some tests need: skipped without them, failed where GPUDECK_REQUIRE names them."""

from __future__ import annotations

import os

import pytest


def need(part: str, present: bool, why: str) -> None:
    """Skips the test when the part is missing, or fails it when the part is required here."""
    if present:
        return
    if part in os.environ.get("GPUDECK_REQUIRE", "").split(","):
        pytest.fail(f"{part} is required here: {why}")
    pytest.skip(f"needs {part}: {why}")
