"""Stored runs: one directory a run, append-only, readable without this program.

    manifest.json     what was measured: comparison keys, treatment, machine, load; written once
    points.jsonl      one point a line, in the order of measuring
    server_info.json  the server's effective arguments, secrets stripped
    events/           the worker's files as they came from the box
    notes.jsonl       notes and marks, the last mark counts

A torn last line (the laptop died) is left out. An unknown is `{"unknown": reason}`; NaN and Infinity never occur.
"""

from __future__ import annotations

import fcntl
import os
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Generic, TypeVar

import msgspec

from console.bench.comparable import comparable_hash
from console.bench.points import Point, PointHead, point_json
from console.bench.stats import Number
from console.values import Unknown, known

MARKS = ("", "keep", "baseline", "bad")
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+=,-]{0,180}")


class RunError(ValueError):
    """No such run, or its files cannot be read; the text says which."""


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """What a run was. `setup`: the comparison keys (see `comparable`), `treatment`: the legend;
    `serves`: the server's command line, secrets masked; `pair`: what the drafter gate calls target, drafter and
    algorithm together."""

    id: str
    created: str
    source: str = "gpudeck"
    host: str = ""
    recipe: str = ""
    preset: str = ""
    sweep: str = ""
    baseline: str = ""
    setup: dict[str, Any] = {}
    treatment: dict[str, Any] = {}
    machine: dict[str, Any] = {}
    load: dict[str, Any] = {}
    gpus: int | Unknown = Unknown("the GPUs of the server are not known")
    drafter: bool = False
    tree: bool = False
    pair: str = ""
    random_prompts: bool = False
    command: str = ""
    serves: str = ""
    remarks: tuple[str, ...] = ()


class Note(msgspec.Struct, frozen=True):
    t: str
    text: str = ""
    mark: str | None = None


P = TypeVar("P", Point, PointHead)


class _Stored(msgspec.Struct, Generic[P], frozen=True):
    manifest: Manifest
    points: tuple[P, ...]
    notes: tuple[Note, ...] = ()

    @property
    def id(self) -> str:
        return self.manifest.id

    @property
    def mark(self) -> str:
        return last_mark(self.notes)

    @property
    def best_tok_s(self) -> Number:
        return best(self.points)


class Run(_Stored[Point], frozen=True):
    """A run with everything that was measured."""


class Listed(_Stored[PointHead], frozen=True):
    """A run as a list shows it: of its points the heads alone."""


def last_mark(notes: Sequence[Note]) -> str:
    return next((note.mark for note in reversed(notes) if note.mark is not None), "")


def best(points: Sequence[Point | PointHead]) -> Number:
    """The highest rate of the points that count."""
    rates = [point.output_tok_s for point in points if point.counts and known(point.output_tok_s)]
    return max(rates) if rates else Unknown("no point counts")


class RunStore:
    """All runs under one directory. Created 0700, its files 0600."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def create(self, manifest: Manifest) -> Path:
        """A new run's directory with its manifest. Raises RunError when the id is taken or no name."""
        directory = self._directory(manifest.id)
        self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            directory.mkdir(mode=0o700)
        except FileExistsError:
            raise RunError(f"the run {manifest.id} exists already") from None
        _write(directory / "manifest.json", msgspec.json.format(msgspec.json.encode(manifest)))
        return directory

    def resume(self, manifest: Manifest) -> None:
        """A run that may be there already, in part when the disk was full. Raises OSError, RunError."""
        try:
            self.create(manifest)
        except RunError:
            path = self._existing(manifest.id) / "manifest.json"
            if not path.exists():
                _write(path, msgspec.json.format(msgspec.json.encode(manifest)))

    def add_point(self, run_id: str, point: Point) -> None:
        """Once: two consoles of this laptop may follow the same measurement."""
        _append(self._existing(run_id) / "points.jsonl", msgspec.json.encode(point), lambda line: _same(line, point))

    def add_note(self, run_id: str, note: Note) -> None:
        if note.mark is not None and note.mark not in MARKS:
            raise RunError(f"there is no mark {note.mark!r}")
        _append(self._existing(run_id) / "notes.jsonl", msgspec.json.encode(note))

    def add_file(self, run_id: str, name: str, data: bytes) -> None:
        """A file of the worker below `events/`, or `server_info.json`; kept as it is, never overwritten."""
        if not NAME.fullmatch(name):
            raise RunError(f"{name!r} is no file name")
        folder = self._existing(run_id)
        if name != "server_info.json":
            folder = folder / "events"
            folder.mkdir(mode=0o700, exist_ok=True)
        if not (folder / name).exists():
            _write(folder / name, data)

    def file(self, run_id: str, name: str) -> bytes:
        """A file of the worker, as it was kept. Raises OSError, RunError."""
        return (self._existing(run_id) / "events" / name).read_bytes()

    def load(self, run_id: str) -> Run:
        return _load(self._existing(run_id))

    def runs(self) -> list[Run]:
        """All readable runs, newest first."""
        return sorted(self._readable(), key=_newest, reverse=True)

    def listing(self) -> tuple[list[Listed], list[str]]:
        """All runs, newest first, with the heads of their points; and the directories that hold no run, by name."""
        found: list[Listed] = []
        broken: list[str] = []
        for entry in self._entries():
            try:
                found.append(Listed(*_parts(Path(entry.path), _HEAD)))
            except RunError:
                broken.append(entry.name)
        return sorted(found, key=_newest, reverse=True), sorted(broken)

    def find(self, words: str) -> Run:
        """By id or unambiguous beginning of one; the newest run of a recipe by its name, of all as `last`.

        Raises RunError.
        """
        names = [entry.name for entry in self._entries()]
        matches = [words] if words in names else [name for name in names if name.startswith(words)]
        if len(matches) == 1:
            return self.load(matches[0])
        newest = next((run for run in self.runs() if words in ("last", run.manifest.recipe)), None)
        if newest is not None:
            return newest
        if words == "last":
            raise RunError("there are no runs yet")
        raise RunError(f"{words!r} means {len(matches)} runs" if matches else f"there is no run {words!r}")

    def _readable(self) -> Iterator[Run]:
        for entry in self._entries():
            try:
                yield _load(Path(entry.path))
            except RunError:
                continue

    def _entries(self) -> list[os.DirEntry[str]]:
        try:
            return [entry for entry in os.scandir(self.root) if entry.is_dir()]
        except FileNotFoundError:
            return []

    def _directory(self, run_id: str) -> Path:
        if not NAME.fullmatch(run_id):
            raise RunError(f"{run_id!r} is no run id")
        return self.root / run_id

    def _existing(self, run_id: str) -> Path:
        directory = self._directory(run_id)
        if not directory.is_dir():
            raise RunError(f"there is no run {run_id!r}")
        return directory


_MANIFEST = msgspec.json.Decoder(Manifest)
_POINT = msgspec.json.Decoder(Point)
_HEAD = msgspec.json.Decoder(PointHead)
_NOTE = msgspec.json.Decoder(Note)


def _newest(run: Run | Listed) -> tuple[str, str]:
    return run.manifest.created, run.id


def _load(directory: Path) -> Run:
    return Run(*_parts(directory, _POINT))


def _parts(directory: Path, decoder: msgspec.json.Decoder[Any]) -> tuple[Manifest, tuple[Any, ...], tuple[Note, ...]]:
    try:
        manifest = _MANIFEST.decode((directory / "manifest.json").read_bytes())
    except (OSError, msgspec.DecodeError) as error:
        raise RunError(f"{directory.name}: the manifest cannot be read: {error}") from error
    points = _lines(directory / "points.jsonl", decoder)
    return manifest, tuple(points), tuple(_lines(directory / "notes.jsonl", _NOTE))


def _lines(path: Path, decoder: msgspec.json.Decoder[Any]) -> list[Any]:
    """Decoded lines; a torn last line is left out. Raises RunError for a broken one in the middle."""
    try:
        rows = path.read_bytes().split(b"\n")
    except FileNotFoundError:
        return []
    except OSError as error:
        raise RunError(f"{path.parent.name}/{path.name}: {error.strerror}") from error
    found = []
    for number, row in enumerate(rows, 1):
        try:
            found += [decoder.decode(row)] if row else []
        except msgspec.DecodeError as error:
            if number < len(rows):
                raise RunError(f"{path.parent.name}/{path.name}:{number}: {error}") from error
    return found


def _same(line: bytes, point: Point) -> bool:
    """Whether a stored line is this point: its name and what was measured."""
    try:
        head = msgspec.json.decode(line, type=PointHead)
    except msgspec.MsgspecError:
        return False
    return (head.name, head.aborted, head.output_tok_s) == (point.name, point.aborted, point.output_tok_s)


def _append(path: Path, line: bytes, unless: Callable[[bytes], bool] = lambda _: False) -> None:
    """One whole line, `unless` one says that it is there; a torn one before it is closed first, so that it spoils no
    other."""
    handle = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
    with os.fdopen(handle, "r+b", buffering=0) as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        if any(unless(one) for one in file.read().splitlines()):
            return
        size = file.seek(0, os.SEEK_END)
        if size:
            file.seek(size - 1)
            if file.read(1) != b"\n":
                size = file.truncate(_last_line(file, size))
        try:
            _write_all(file, line + b"\n")
        except OSError:  # a full disk takes the beginning of a line
            file.truncate(size)
            raise


def _last_line(file: Any, size: int) -> int:
    file.seek(0)
    return int(file.read(size).rfind(b"\n")) + 1


def _write(path: Path, data: bytes) -> None:
    """The whole file or none of it; two consoles may write the same one."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb", buffering=0) as file:
            _write_all(file, data)
        os.replace(temporary, path)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise


def _write_all(file: Any, data: bytes) -> None:
    """Down to the disk: one that is full may say so only there."""
    while data:
        data = data[file.write(data) :]
    os.fsync(file.fileno())


def run_json(run: Run) -> dict[str, Any]:
    """The body of `gpudeck.run/1`."""
    manifest = run.manifest
    body: dict[str, Any] = {
        "id": manifest.id,
        "created": manifest.created,
        "source": manifest.source,
        "host": manifest.host,
        "recipe": manifest.recipe,
        "preset": manifest.preset,
        "sweep": manifest.sweep,
        "mark": run.mark,
        "treatment": manifest.treatment,
        "comparable_hash": comparable_hash(manifest.setup),
        "setup": manifest.setup,
        "machine": manifest.machine,
        "points": [point_json(point) for point in run.points],
        "notes": [{"t": note.t, "text": note.text} for note in run.notes if note.text],
        "remarks": list(manifest.remarks),
    }
    return body
