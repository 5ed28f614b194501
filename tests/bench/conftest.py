"""A command line and a box, this machine, whose interpreter has the SGLang stand-in."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import served
from tests.support.gpudeck import Gpudeck
from tests.support.laptop import Laptop
from tests.support.ports import free_port


class ServedBox:
    """`gpudeck … local …` with recipes for the stand-in on a port of its own."""

    def __init__(self, directory: Path, python: Path, model: Path) -> None:
        self.gpudeck = Gpudeck(Laptop(directory))
        self.directory, self.python, self.model, self.port = directory, python, model, free_port()

    def recipe(self, name: str, **env: str) -> None:
        with (self.directory / "gpudeck.toml").open("a") as file:
            file.write(served.recipe(name, self.python, self.model, self.port, **env))

    def stop_all(self) -> None:
        for job in (self.gpudeck.home / "state" / "gpudeck" / "jobs").glob("serve-*"):
            if not (job / "drained.json").exists():
                self.gpudeck.run("jobs", "local", "stop", job.name, "--grace", "0", STANDIN_KEY="sk-x")


@pytest.fixture
def served_box(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedBox]:
    python = served.interpreter(tmp_path_factory.mktemp("standin") / "venv")
    box = ServedBox(tmp_path, python, served.model(tmp_path / "tiny"))
    yield box
    box.stop_all()
