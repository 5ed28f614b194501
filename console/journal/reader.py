"""Reads a recording: one's own, or a stranger's. Bounded in memory whatever the file holds."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, cast

from console.events import Stamped
from console.journal import codec
from console.journal.header import SCHEMA, Header, RecordingError, decode_header
from console.journal.upcast import UPCASTERS, Upcaster, upcast
from console.values import open_regular

MAX_LINE = 1024 * 1024  # the longest of ours, a plan, has a seventh
MAX_WARNINGS = 50
_GZIP = b"\x1f\x8b"


class Recording:
    """A recording on disk. `facts()` may be called again and gives the same facts each time.

    `warnings` is filled while reading: `newer_schema`, `torn_last_line`, `broken_line:<number>`,
    `missing_line:<number>` where `seq` does not go on.
    """

    def __init__(self, path: Path, upcasters: Mapping[int, Upcaster] = UPCASTERS, schema: int = SCHEMA) -> None:
        """Read the header. Raises RecordingError with a sentence for a file that is no recording."""
        self.path = path
        self._upcasters = upcasters
        self._schema = schema
        self.warnings: list[str] = []
        self.header: Header = self._read_header()

    def _open(self) -> IO[bytes]:
        with open_regular(self.path) as file:
            zipped = file.read(2) == _GZIP
        return cast(IO[bytes], gzip.open(self.path, "rb")) if zipped else self.path.open("rb")

    def _read_header(self) -> Header:
        name = self.path.name
        try:
            with self._open() as file:
                line = file.readline(64 * 1024)
        except FileNotFoundError as error:
            raise RecordingError(f"There is no recording {self.path}.") from error
        except (OSError, EOFError, zlib.error) as error:
            raise RecordingError(f"{name} cannot be read: {getattr(error, 'strerror', None) or error}.") from error
        if not line:
            raise RecordingError(f"{name} is empty: a recording begins with a header line.")
        return decode_header(line, name)

    def facts(self) -> Iterator[Stamped]:
        """Every fact in file order."""
        self.warnings = ["newer_schema"] if self.header.schema > self._schema else []
        counts = {"broken_line": 0, "missing_line": 0}
        due: int | None = 1
        for number, line, ends_file in self._lines():
            try:
                fact = self._fact(line)
            except codec.BrokenLineError:
                if ends_file and not line.endswith(b"\n"):
                    self.warnings.append("torn_last_line")
                    return
                due = None
                self._count(counts, "broken_line", number)
                continue
            if due is not None and fact.seq != due:
                self._count(counts, "missing_line", number)
            due = fact.seq + 1
            yield fact
        self.warnings += [f"{what}s:{count}" for what, count in counts.items() if count > MAX_WARNINGS]

    def _count(self, counts: dict[str, int], what: str, number: int) -> None:
        counts[what] += 1
        if counts[what] <= MAX_WARNINGS:
            self.warnings.append(f"{what}:{number}")

    def _fact(self, line: bytes) -> Stamped:
        seq, t, kind, raw = codec.decode_line(line)
        if self.header.schema >= self._schema:
            return codec.decode_fact((seq, t, kind, raw))
        fields = codec.decode_fields(raw)
        return codec.build_fact(seq, t, *upcast(kind, fields, self.header.schema, self._schema, self._upcasters))

    def _lines(self) -> Iterator[tuple[int, bytes, bool]]:
        """Line number, line, and whether the file ends with it. A line over MAX_LINE is given cut, hence broken."""
        number = 1
        with self._open() as file:
            file.readline(64 * 1024)
            while True:
                try:
                    line = file.readline(MAX_LINE)
                except (EOFError, zlib.error, OSError):
                    self.warnings.append("torn_last_line")
                    return
                if not line:
                    return
                number += 1
                if len(line) >= MAX_LINE and not line.endswith(b"\n"):
                    _skip_rest(file)
                    yield number, b"\n", False
                elif line.strip():
                    yield number, line, not line.endswith(b"\n")


def _skip_rest(file: IO[bytes]) -> None:
    while True:
        chunk = file.readline(MAX_LINE)
        if not chunk or chunk.endswith(b"\n"):
            return
