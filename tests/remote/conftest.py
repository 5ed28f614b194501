"""One real sshd for the tests that change nothing in it, and a laptop with its own SSH files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.laptop import Laptop
from tests.support.sshd import Sshd, sshd


@pytest.fixture
def laptop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Laptop:
    """No ssh agent, no state of the user who runs the tests."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    return Laptop(tmp_path)


@pytest.fixture(scope="session")
def plain_server() -> Iterator[Sshd]:
    """A server as most boxes have it; tests only add keys to it."""
    with sshd() as server:
        yield server.start()


@pytest.fixture
def server() -> Iterator[Sshd]:
    """A server of the test's own, not started yet."""
    with sshd() as one:
        yield one
