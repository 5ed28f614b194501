from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.jobbox import JobBox


@pytest.fixture
def box(tmp_path: Path) -> Iterator[JobBox]:
    made = JobBox(tmp_path / "state")
    yield made
    made.clear()
