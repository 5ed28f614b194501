"""Old recordings make room, never one with a note, never one that is being written."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from console.events import Stamped
from console.events.link import NoteWritten, PingAnswered
from console.journal import Recorder, Recording, make_room, new_header
from console.values import clean


def recorder(directory: Path, name: str, note: bool = False) -> Recorder:
    one = Recorder(directory / f"{name}.jsonl", new_header("0.1.0", ("box",), datetime.now(UTC)), print)
    for number in range(1, 2000):
        one.record(Stamped(number, float(number), PingAnswered(host="box", rtt_s=number / 7)))
    if note:
        one.record(Stamped(2000, 2000.0, NoteWritten(text=clean("keep me"))))
    return one


def names(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


def test_below_the_limit_nothing_happens(tmp_path: Path) -> None:
    recorder(tmp_path, "a").close()
    make_room(tmp_path)
    assert names(tmp_path) == ["a.jsonl"]


def test_the_oldest_are_gzipped_first_and_replay_the_same(tmp_path: Path) -> None:
    for name in ("a", "b"):
        recorder(tmp_path, name).close()
    facts = list(Recording(tmp_path / "a.jsonl").facts())
    make_room(tmp_path, limit_bytes=int((tmp_path / "a.jsonl").stat().st_size * 1.6))
    assert names(tmp_path) == ["a.jsonl.gz", "b.jsonl"]
    assert list(Recording(tmp_path / "a.jsonl.gz").facts()) == facts
    assert (tmp_path / "a.jsonl.gz").stat().st_mode & 0o777 == 0o600


def test_then_they_are_deleted_but_for_those_with_a_note_and_the_one_in_use(tmp_path: Path) -> None:
    recorder(tmp_path, "a").close()
    recorder(tmp_path, "b", note=True).close()
    in_use = recorder(tmp_path, "c")
    make_room(tmp_path, limit_bytes=1)
    assert names(tmp_path) == ["b.jsonl.gz", "c.jsonl"]
    in_use.close()
