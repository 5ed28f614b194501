"""A laptop, a real sshd whose root login is noisy, and the command line."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.fakes import Fleet
from tests.support.gpudeck import Gpudeck
from tests.support.laptop import Laptop
from tests.support.sshd import Sshd, sshd


@pytest.fixture(scope="session")
def server() -> Iterator[Sshd]:
    """One server for all tests of the command line; they only add keys to it."""
    with sshd() as one:
        yield one.start("SetEnv GPUDECK_TEST=1")


@pytest.fixture
def gpudeck(tmp_path: Path) -> Gpudeck:
    return Gpudeck(Laptop(tmp_path))


@pytest.fixture
def box(gpudeck: Gpudeck, server: Sshd) -> str:
    """An alias that logs in."""
    return gpudeck.laptop.ready(server)


@pytest.fixture
def fleet(gpudeck: Gpudeck, box: str, tmp_path: Path) -> Fleet:
    """Eight fake GPUs on the box, through the real nvidia-ml-py."""
    played = Fleet(tmp_path)
    gpudeck.host(box, **played.env())
    return played
