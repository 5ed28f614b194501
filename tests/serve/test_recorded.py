"""A followed job is recorded by itself; what only looks, or leaves at once, is not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.serve.conftest import KEY, Box


def _recordings(box: Box) -> list[Path]:
    return sorted((box.gpudeck.home / "data" / "gpudeck" / "recordings").glob("*"))


@pytest.mark.slow
def test_a_followed_start_is_recorded(box: Box) -> None:
    box.serve("start", box.recipe("one"))
    (recording,) = _recordings(box)
    assert recording.stat().st_mode & 0o777 == 0o600
    assert recording.parent.stat().st_mode & 0o777 == 0o700
    assert KEY not in recording.read_text()
    replayed = box.gpudeck.json("--replay", str(recording), "--headless")
    (server,) = (one for one in replayed["hosts"]["local"]["servers"] if one["owner"] == "ours")
    assert server["phase"] == "ready"
    box.serve("status")
    box.serve("start", "one", "--detach")
    assert "argv  " in box.serve("start", "one", "--dry-run", exit_code=4)
    box.serve("start", "one", "--no-record")
    assert _recordings(box) == [recording]
    asked = box.gpudeck.laptop.directory / "asked.jsonl"
    box.serve("status", "--record", str(asked))
    assert json.loads(asked.read_text().splitlines()[0])["hosts"] == ["local"]
    assert _recordings(box) == [recording]


def test_a_data_directory_that_cannot_be_written_costs_the_recording_and_not_the_work(box: Box) -> None:
    data = box.gpudeck.home / "data"
    data.write_text("no directory")
    box.serve("start", box.recipe("one"))
    assert "Not recorded: " in box.said
