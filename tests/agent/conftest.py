from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.fakes import Disks


@pytest.fixture
def disks(tmp_path: Path) -> Disks:
    return Disks(tmp_path)
