"""The laptop of a fault test: XDG directories of its own, no ssh agent."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from console.remote import connection, login
from console.remote.agent import Agent
from console.remote.pipe import Pipe
from tests.support import served
from tests.support.sshd import need_sshd


@pytest.fixture
def laptop_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    need_sshd()
    for kind in ("CONFIG", "DATA", "STATE", "CACHE"):
        monkeypatch.setenv(f"XDG_{kind}_HOME", str(tmp_path / kind.lower()))
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    return tmp_path


@pytest.fixture
def short_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    """Six seconds of silence instead of twenty until the link counts as lost; the agent's alarm after eight."""
    monkeypatch.setattr(login, "KEEPALIVE_S", 2)
    monkeypatch.setattr(login, "KEEPALIVE_COUNT", 2)
    start_agent = connection.start_agent

    async def with_alarm(pipe: Pipe, python: str, config: dict[str, Any], package: str) -> Agent:
        return await start_agent(pipe, python, {**config, "idle_s": 8}, package)

    monkeypatch.setattr(connection, "start_agent", with_alarm)


@pytest.fixture(scope="module")
def interpreter(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Python that has the stand-in for SGLang."""
    return served.interpreter(tmp_path_factory.mktemp("standin") / "venv")
