from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.place import Place


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    made = Place(tmp_path)
    for name, value in made.env.items():
        monkeypatch.setenv(name, value)
    return made


@pytest.fixture
def one_recipe() -> Callable[[str], str]:
    return lambda body: f'[recipes.one]\nmodel = "org/name"\n{body}\n'
