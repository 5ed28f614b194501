from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.place import Place


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    """This process works in a project of its own, with XDG folders of its own."""
    return Place(tmp_path).enter(monkeypatch)


@pytest.fixture
def one_recipe() -> Callable[[str], str]:
    return lambda body: f'[recipes.one]\nmodel = "org/name"\n{body}\n'
