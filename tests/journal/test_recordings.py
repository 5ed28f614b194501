"""Recordings: what is written is read back; what a stranger wrote is survived."""

from __future__ import annotations

import gzip
import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from console.events import Stamped
from console.events.host import ProbeFailed
from console.events.link import LinkChanged, NoteWritten, PingAnswered, UnknownEvent
from console.journal import Recorder, Recording, RecordingError, new_header
from console.values import clean
from console.values.secrets import Secret

STARTED = datetime(2026, 1, 31, 22, 15, 4, 250_000, tzinfo=UTC)
HEADER = {"gpudeck": "0.1.0", "schema": 1, "started": "2026-01-31T22:15:04.250Z", "hosts": ["box"]}
PING: list[Any] = [1, 0.5, "PingAnswered", {"host": "box", "rtt_s": 0.01}]


def write(path: Path, *lines: object, end: str = "\n") -> Path:
    text = "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines)
    path.write_text(text + end)
    return path


def record(path: Path, *events: Any) -> list[str]:
    failures: list[str] = []
    recorder = Recorder(path, new_header("0.1.0", ("box",), STARTED), failures.append)
    for number, event in enumerate(events, 1):
        recorder.record(Stamped(number, number / 4, event))
    recorder.close()
    return failures


def test_the_format_is_the_contract(tmp_path: Path) -> None:
    record(
        tmp_path / "r.jsonl", PingAnswered(host="box", rtt_s=0.01), NoteWritten(text=clean("night begins"), host="box")
    )
    lines = [json.loads(line) for line in (tmp_path / "r.jsonl").read_text().splitlines()]
    assert lines[0] == HEADER
    assert lines[1:] == [
        [1, 0.25, "PingAnswered", {"host": "box", "rtt_s": 0.01}],
        [2, 0.5, "NoteWritten", {"text": "night begins", "host": "box"}],
    ]
    assert (tmp_path / "r.jsonl").stat().st_mode & 0o777 == 0o600


def test_what_was_recorded_is_read_back(tmp_path: Path) -> None:
    events = [
        LinkChanged(host="box", state="lost", sentence=clean("no route"), retry_s=2.5),
        ProbeFailed(host="box", probe=clean("disks"), reason=clean("x")),
    ]
    record(tmp_path / "r.jsonl", *events)
    recording = Recording(tmp_path / "r.jsonl")
    assert [stamped.event for stamped in recording.facts()] == events
    assert recording.warnings == []
    assert recording.header.at(0.75) == "2026-01-31T22:15:05.000Z"


def test_gzip_reads_the_same(tmp_path: Path) -> None:
    record(tmp_path / "r.jsonl", PingAnswered(host="box", rtt_s=0.01))
    (tmp_path / "r.jsonl.gz").write_bytes(gzip.compress((tmp_path / "r.jsonl").read_bytes()))
    plain, zipped = Recording(tmp_path / "r.jsonl"), Recording(tmp_path / "r.jsonl.gz")
    assert list(plain.facts()) == list(zipped.facts()) != []


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\n",
        b"\x00\xff\xfe binary \x01" * 50,
        b"{}\n",
        b"[1,2]\n",
        b"not json\n",
        b"\x1f\x8bbroken gzip",
        b'{"gpudeck":"1","schema":0,"started":"2026-01-01T00:00:00Z","hosts":[]}\n',
        b'{"gpudeck":"1","schema":1,"started":"soon","hosts":[]}\n',
    ],
)
def test_what_is_no_recording_is_said_in_one_sentence(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "odd").write_bytes(content)
    with pytest.raises(RecordingError) as caught:
        Recording(tmp_path / "odd")
    assert "odd" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_missing_file_and_a_directory(tmp_path: Path) -> None:
    for path in (tmp_path / "gone", tmp_path):
        with pytest.raises(RecordingError):
            Recording(path)


def test_one_torn_last_line_is_accepted(tmp_path: Path) -> None:
    recording = Recording(write(tmp_path / "r", HEADER, PING, '[2, 0.7, "PingAns', end=""))
    assert len(list(recording.facts())) == 1
    assert recording.warnings == ["torn_last_line"]


def test_a_whole_last_line_without_newline_counts(tmp_path: Path) -> None:
    recording = Recording(write(tmp_path / "r", HEADER, PING, end=""))
    assert len(list(recording.facts())) == 1
    assert recording.warnings == []


def test_a_cut_gzip_gives_what_is_there(tmp_path: Path) -> None:
    lines = [json.dumps(HEADER)] + [
        json.dumps([n, n / 7, "NoteWritten", {"text": os.urandom(20).hex()}]) for n in range(1, 999)
    ]
    whole = gzip.compress("\n".join(lines).encode())
    (tmp_path / "r").write_bytes(whole[: len(whole) // 2])
    recording = Recording(tmp_path / "r")
    assert 100 < len(list(recording.facts())) < 998
    assert recording.warnings == ["torn_last_line"]


@pytest.mark.parametrize(
    "line",
    [
        "{",
        "[]",
        "[1,2,3,4]",
        '[2,0.6,"PingAnswered",{"host":"box","rtt_s":"fast"}]',
        '[2,0.6,"PingAnswered",{"host":"box"}]',
        '[2,0.6,"PingAnswered",[]]',
        '[2,NaN,"PingAnswered",{"host":"box","rtt_s":1}]',
        '[2,1e300,"PingAnswered",{"host":"box","rtt_s":1}]',
        '[2,-1,"PingAnswered",{"host":"box","rtt_s":1}]',
        "[" * 5000,
        '[2,0.6,"NoteWritten",{"text":' + "[" * 5000,
        "x" * 5_000_000,
    ],
    ids=[
        "brace",
        "empty",
        "types",
        "wrong-type",
        "missing-field",
        "list",
        "nan",
        "beyond",
        "before",
        "deep",
        "deep-field",
        "huge",
    ],
)
def test_a_broken_line_in_the_middle_is_skipped_and_counted(tmp_path: Path, line: str) -> None:
    recording = Recording(
        write(tmp_path / "r", HEADER, PING, line, [3, 0.7, "PingAnswered", {"host": "box", "rtt_s": 0.02}])
    )
    assert [stamped.seq for stamped in recording.facts()] == [1, 3]
    assert recording.warnings == ["broken_line:3"]


def test_lines_that_somebody_took_away_are_missed(tmp_path: Path) -> None:
    later = [4, 0.7, "PingAnswered", {"host": "box", "rtt_s": 0.02}]
    recording = Recording(write(tmp_path / "r", HEADER, PING, later))
    assert [stamped.seq for stamped in recording.facts()] == [1, 4]
    assert recording.warnings == ["missing_line:3"]


@pytest.mark.parametrize(
    ("started", "utc"),
    [
        ("2026-01-31T22:15:04", "2026-01-31T22:15:04.500Z"),
        ("2026-02-01T00:15:04+02:00", "2026-01-31T22:15:04.500Z"),
    ],
)
def test_a_start_is_told_in_utc(tmp_path: Path, started: str, utc: str) -> None:
    assert Recording(write(tmp_path / "r", HEADER | {"started": started})).header.at(0.5) == utc


@pytest.mark.parametrize("started", ["9999-12-31T00:00:00Z", "0001-01-01T00:00:00+05:00", "yesterday", ""])
def test_a_start_beyond_the_calendar_is_no_recording(tmp_path: Path, started: str) -> None:
    with pytest.raises(RecordingError):
        Recording(write(tmp_path / "r", HEADER | {"started": started}))


def test_unknown_kinds_and_fields_are_kept(tmp_path: Path) -> None:
    lines = (
        [1, 0, "MoonRose", {"phase": "full\x1b[1m"}],
        [2, 1, "PingAnswered", {"host": "box", "rtt_s": 1.0, "hops": 3}],
    )
    first, second = Recording(write(tmp_path / "r", HEADER, *lines)).facts()
    assert first.event == UnknownEvent(kind=clean("MoonRose"), fields={"phase": "full"})
    assert second.event == PingAnswered(host="box", rtt_s=1.0)
    assert second.extra == {"hops": 3}


def test_a_newer_schema_warns(tmp_path: Path) -> None:
    recording = Recording(write(tmp_path / "r", HEADER | {"schema": 9}, PING))
    assert len(list(recording.facts())) == 1
    assert recording.warnings == ["newer_schema"]


def test_an_older_schema_is_lifted_step_by_step(tmp_path: Path) -> None:
    steps = {
        1: lambda kind, fields: ("PingDone" if kind == "Ping" else kind, fields),
        2: lambda kind, fields: ("PingAnswered", {"host": fields["box"], "rtt_s": fields["rtt_s"]}),
    }
    path = write(tmp_path / "r", HEADER, [1, 0.5, "Ping", {"box": "b", "rtt_s": 2.0}])
    assert [stamped.event for stamped in Recording(path, steps, schema=3).facts()] == [
        PingAnswered(host="b", rtt_s=2.0)
    ]


@pytest.mark.parametrize(
    "hostile", ["\x1b]52;c;x\x07", "\u202egpj", "\x9b31m", "\u2066x", "a\rb", "z" + "\u0301" * 60, "\ufeff"]
)
@pytest.mark.parametrize("escaped", [True, False])
def test_a_strangers_recording_is_cleaned_again(tmp_path: Path, hostile: str, escaped: bool) -> None:
    line = json.dumps([1, 0, "NoteWritten", {"text": f"<{hostile}>"}], ensure_ascii=escaped)
    (stamped,) = Recording(write(tmp_path / "r", HEADER, line)).facts()
    assert stamped.event == NoteWritten(text=clean(f"<{hostile}>"))


def test_the_recorder_never_writes_over_a_file(tmp_path: Path) -> None:
    (tmp_path / "r").write_text("precious")
    with pytest.raises(FileExistsError):
        record(tmp_path / "r")
    assert (tmp_path / "r").read_text() == "precious"


def test_a_full_disk_is_told_once_and_raises_nothing() -> None:
    failures: list[str] = []
    recorder = Recorder.__new__(Recorder)
    recorder.path, recorder._failed, recorder._flushed_t = Path("/dev/full"), failures.append, 0.0
    recorder._file = open("/dev/full", "wb")  # noqa: SIM115 - the recorder closes it
    for number in range(1, 4):
        recorder.record(Stamped(number, float(number), NoteWritten(text=clean("x"))))
    recorder.close()
    assert len(failures) == 1
    assert "No space left" in failures[0]
    assert not recorder.recording


def test_no_secret_reaches_the_file(tmp_path: Path) -> None:
    Secret("sesame-open-9")
    token = "hf_" + "Q" * 30
    record(tmp_path / "r", NoteWritten(text=clean(f"token {token} and sesame-open-9")))
    text = (tmp_path / "r").read_text()
    assert token not in text
    assert "sesame" not in text
