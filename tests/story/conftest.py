"""The story of that night in this process, so that a test can take a gate away."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from console.cli.main import run
from tests.support.told import Told


@pytest.fixture
def story(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Told]:
    """Plays a scenario headless, recorded."""
    for kind in ("CONFIG", "DATA", "STATE", "CACHE"):
        monkeypatch.setenv(f"XDG_{kind}_HOME", str(tmp_path / kind.lower()))
    monkeypatch.chdir(tmp_path)

    def play(name: str) -> Told:
        record = tmp_path / "night.jsonl"
        code = run(["demo", "--headless", "--scenario", name, "--record", str(record)])
        *captions, last = capsys.readouterr().out.splitlines()
        lines = [json.loads(line) for line in record.read_text("utf-8").splitlines()[1:]]
        facts = {seq: (kind, fields) for seq, _, kind, fields in lines}
        return Told(code, json.loads(last), "\n".join(captions), facts)

    return play
