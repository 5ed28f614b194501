"""A laptop whose box is this machine with eight fake GPUs, and an interpreter with the SGLang stand-in."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from console.demo.sglang import install
from tests.support.fakes import Fleet
from tests.support.gpudeck import Gpudeck
from tests.support.laptop import Laptop
from tests.support.models import model_directory


@pytest.fixture(scope="session")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An interpreter of its own with the stand-in as its `sglang`."""
    venv = tmp_path_factory.mktemp("engine") / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", venv], check=True)
    (packages,) = venv.glob("lib/python*/site-packages")
    install(packages)
    return venv / "bin" / "python"


@pytest.fixture
def gpudeck(tmp_path: Path) -> Gpudeck:
    return Gpudeck(Laptop(tmp_path))


@pytest.fixture
def fleet(gpudeck: Gpudeck, tmp_path: Path) -> Fleet:
    """Eight fake GPUs on `local`."""
    played = Fleet(tmp_path)
    gpudeck.host("local", **played.env())
    return played


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A small complete model directory."""
    return model_directory(tmp_path / "models" / "tiny")
