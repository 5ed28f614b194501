"""A command line and a box, this machine, whose interpreter has the SGLang stand-in."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import served
from tests.support.gpudeck import Gpudeck
from tests.support.jobbox import JobBox
from tests.support.laptop import Laptop
from tests.support.ports import free_port

KEY = "sk-test-0123456789abcdef"


@pytest.fixture(scope="session")
def served_python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return served.interpreter(tmp_path_factory.mktemp("standin") / "venv")


@pytest.fixture(scope="session")
def served_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return served.model(tmp_path_factory.mktemp("models") / "tiny")


class Box:
    """Runs `gpudeck … local …`; recipes are added to the laptop's gpudeck.toml."""

    def __init__(self, directory: Path, python: Path, model: Path) -> None:
        self.gpudeck = Gpudeck(Laptop(directory))
        self.python, self.model, self.port = python, model, free_port()
        self.state = self.gpudeck.home / "state" / "gpudeck"
        self.jobs = self.state / "jobs"

    def recipe(self, name: str, **env: str) -> str:
        with (self.gpudeck.laptop.directory / "gpudeck.toml").open("a") as file:
            file.write(served.recipe(name, self.python, self.model, self.port, **env))
        return name

    def serve(self, *words: str, exit_code: int = 0) -> str:
        """A serve command on this box; its standard output."""
        done = self.gpudeck.run("serve", "local", *words, STANDIN_KEY=KEY)
        assert done.returncode == exit_code, done.stderr + done.stdout
        assert KEY not in done.stdout + done.stderr
        self.said = done.stderr
        return done.stdout

    def server(self, *words: str) -> dict[str, object]:
        """The server object of `serve status`."""
        found: dict[str, object] = self.gpudeck.json("serve", "local", "status", *words, STANDIN_KEY=KEY)["server"]
        return found

    def stop_all(self) -> None:
        JobBox(self.gpudeck.home / "state").clear()


@pytest.fixture
def box(tmp_path: Path, served_python: Path, served_model: Path) -> Iterator[Box]:
    one = Box(tmp_path, served_python, served_model)
    yield one
    one.stop_all()
