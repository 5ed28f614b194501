from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.jobbox import JobBox
from tests.support.place import Place


@pytest.fixture
def box(tmp_path: Path) -> Iterator[JobBox]:
    made = JobBox(tmp_path / "state")
    yield made
    made.clear()


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    """This process works in a project of its own, with XDG folders of its own."""
    return Place(tmp_path).enter(monkeypatch)
