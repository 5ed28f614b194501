"""The laptop of a fault test: XDG directories of its own, no ssh agent."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.sshd import need_sshd


@pytest.fixture
def laptop_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    need_sshd()
    for kind in ("CONFIG", "DATA", "STATE", "CACHE"):
        monkeypatch.setenv(f"XDG_{kind}_HOME", str(tmp_path / kind.lower()))
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    return tmp_path
