"""A replay gives the same state however one gets there."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from console.session.moments import parse_moment
from console.session.player import Player
from console.session.replay import Replay, play
from console.views.notable import notable

RECORDINGS = sorted((Path(__file__).parents[1] / "recordings").rglob("*.jsonl*"))
RECORDING = Path(__file__).parents[1] / "recordings/first_light.jsonl"


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.name)
def test_every_recording_replays_for_ever(path: Path) -> None:
    replay = Replay(path)
    replay.advance()
    assert replay.state.seq > 0
    assert not replay.state.session.unknown_kinds
    assert not [warning for warning in replay.warnings if warning.startswith("broken")]


def at(t: float) -> Replay:
    replay = Replay(RECORDING)
    replay.advance(t)
    return replay


@settings(max_examples=30)
@given(st.lists(st.floats(min_value=0, max_value=12), min_size=1, max_size=5))
def test_seeking_anywhere_equals_playing_there(moments: list[float]) -> None:
    replay = Replay(RECORDING)
    for t in moments:
        replay.seek(t)
    assert replay.state == at(moments[-1]).state
    assert replay.now() == pytest.approx(moments[-1])


def test_speed_changes_nothing() -> None:
    fast, slow = Replay(RECORDING), Replay(RECORDING)
    play(fast, None)
    play(slow, 1000.0)
    assert fast.state == slow.state
    assert fast.now() == slow.now()


def test_the_next_notable_event_is_the_lost_gpu_and_then_there_is_none() -> None:
    player = Player(at(2.0))
    stamped = player.next_notable(notable)
    assert stamped is not None
    assert json.dumps([gauges.state for gauges in stamped.event.gpus]).count("lost") == 1  # type: ignore[attr-defined]
    assert player.next_notable(notable) is None


def test_a_deploy_is_stopped_at_by_its_proofs_and_points() -> None:
    player = Player(Replay(RECORDING.with_name("demo_deploy.jsonl.gz")))
    kinds = []
    while (stamped := player.next_notable(notable)) is not None:
        kinds.append(type(stamped.event).__name__)
    assert [kind for kind in kinds if kind not in ("LinkChanged", "PlanChecked")] == [
        "RepoVerified", "RepoVerified", "ServerProved", "PointMeasured", "PointMeasured", "BenchEnded",
    ]  # fmt: skip
    assert player.replay.ended


def test_the_player_stands_at_the_end_and_starts_again() -> None:
    player = Player(Replay(RECORDING), speed=8.0)
    for _ in range(20):
        player.tick(1.0)
    assert player.replay.now() == pytest.approx(player.duration_s)
    player.toggle()
    assert player.replay.now() == 0.0


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("0", 0),
        ("12.5", 12.5),
        ("02:56:20", None),
        ("25:00:00", ValueError),
        ("soon", ValueError),
        ("-1", ValueError),
        ("nan", ValueError),
    ],
)
def test_moments(text: str, seconds: object) -> None:
    header = Replay(RECORDING).header
    if seconds is ValueError:
        with pytest.raises(ValueError, match=text):
            parse_moment(text, header)
    elif seconds is None:
        assert 0 <= parse_moment(text, header) < 86400
    else:
        assert parse_moment(text, header) == seconds
