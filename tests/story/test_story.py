"""Each mistake of that night is met and prevented on the demo box, and the recording holds what prevented it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from console.cli.main import run
from console.demo.story.scenes import SCENES
from tests.support.told import Told

PREVENTED = {
    "quoting": ["JobsSampled"],
    "unknown-size": ["GateChecked disk unknown", "DeployStepped"],
    "gated": ["GateChecked access request_needed", "DeployStepped"],
    "empty-token": ["TokenChecked", "GateChecked access login_required", "DeployStepped"],
    "disk-full": ["GateChecked disk no", "DeployStepped"],
    "silent-download": ["DownloadProgressed"],
    "nested-config": ["GateChecked memory fits"],
    "incomparable": ["RunsListed"],
    "capped-concurrency": ["GateChecked arguments server_cap", "PointMeasured"],
    "accept-length": ["PointMeasured"],
    "lost-gpu": ["GpusSampled", "GateChecked gpus lost", "DeployStepped"],
    "oom": ["GateChecked memory no", "DeployStepped"],
    "truncated-shard": ["RepoVerified"],
    "foreign-process": ["GpuProcessesSampled", "GateChecked gpus unbalanced", "DeployStepped"],
    "link-cut": ["LinkChanged", "JobsSampled"],
}
PAGE = Path(__file__).parents[2] / "docs" / "story.md"
SHORT = ("quoting", "incomparable", "disk-full")


def test_every_scenario_of_the_contract_is_there() -> None:
    assert list(PREVENTED) == list(SCENES)


def test_the_page_of_the_story_is_true() -> None:
    rows = re.findall(
        r"^\| `([\w-]+)` \| (.*?) \| [^|]* \| (.*) \|$", PAGE.read_text("utf-8").replace("\\|", "¦"), re.M
    )
    told = [(name, mistake.replace("¦", "|"), re.findall(r"`(\w+)`", kinds)) for name, mistake, kinds in rows]
    kinds = {name: [one.split()[0] for one in facts] for name, facts in PREVENTED.items()}
    assert told == [(name, scene.mistake, kinds[name]) for name, scene in SCENES.items()]


@pytest.mark.parametrize("name", SHORT)
def test_a_mistake_is_met_and_prevented(story: Callable[[str], Told], name: str) -> None:
    _met_and_prevented(story(name), name)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in PREVENTED if name not in SHORT])
def test_every_mistake_is_met_and_prevented(story: Callable[[str], Told], name: str) -> None:
    _met_and_prevented(story(name), name)


def _met_and_prevented(told: Told, name: str) -> None:
    assert told.code == 0, told.captions
    assert told.last | {"prevented": []} == {
        "schema": "gpudeck.demo/1", "scenario": name, "ok": True, "prevented": []
    }  # fmt: skip
    assert told.prevented() == PREVENTED[name]
    assert f"{name}: {SCENES[name].mistake}" in told.captions
    assert "  Prevented. " in told.captions
    notes = [fields["text"] for kind, fields in told.facts.values() if kind == "NoteWritten"]
    assert all(note in told.captions for note in notes)


@pytest.mark.slow
def test_the_whole_story(story: Callable[[str], Told], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = story("tour")
    assert told.code == 0, told.captions
    assert told.prevented() == [kind for kinds in PREVENTED.values() for kind in kinds]
    ends = [(run(["--replay", str(tmp_path / "night.jsonl"), "--json"]), capsys.readouterr().out) for _ in range(2)]
    assert ends[0] == ends[1]
    assert json.loads(ends[0][1])["events"] == len(told.facts)
    own = [path.name for path in (tmp_path / "data").rglob("*")]
    assert own == [], "the story keeps its runs and recordings to itself"
