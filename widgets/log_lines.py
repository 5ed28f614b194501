"""The lines behind a log view: a ring with absolute numbers, a filter, a search. Pure, without Textual."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from typing import Literal, NamedTuple

from widgets.cells import Span

Level = Literal["", "debug", "info", "warning", "error"]

RING = 5_000
PROGRESS_REACH = 64

_LEVELS: dict[Level, tuple[str, str]] = {
    "": ("", ""), "debug": ("D", "dim"), "info": ("I", ""), "warning": ("W", "warn"), "error": ("E", "fail"),
}  # fmt: skip


class LogLine(NamedTuple):
    """One line. Lines with the same `progress` key replace each other while they are near the end."""

    text: str
    level: Level = ""
    rank: str = ""
    time: str = ""
    progress: str = ""


def line_spans(line: LogLine) -> list[Span]:
    """`time rank level text`, without the parts that the line does not have."""
    letter, ink = _LEVELS[line.level]
    parts = [Span(line.time, "dim"), Span(line.rank, "label"), Span(letter, ink or "dim"), Span(line.text, ink)]
    spans: list[Span] = []
    for part in parts:
        if part.text:
            spans += [Span(" "), part] if spans else [part]
    return spans


def line_text(line: LogLine) -> str:
    """The line as shown, as plain text: what find and copy work on."""
    return "".join(text for text, _ in line_spans(line))


def matcher(wanted: str) -> Callable[[str], list[tuple[int, int]]]:
    """A finder of all places of a text; the case counts only when the text has an upper-case letter."""
    fold = wanted == wanted.lower()

    def find(text: str) -> list[tuple[int, int]]:
        haystack = text.lower() if fold else text
        places: list[tuple[int, int]] = []
        at = haystack.find(wanted)
        while at >= 0:
            places.append((at, at + len(wanted)))
            at = haystack.find(wanted, at + len(wanted))
        return places

    return find


class LogRing:
    """The newest lines, numbered from 0 since the start of the log; numbers stay when old lines leave.

    `shown` are the numbers of the lines that pass the filter, in order. `older` lines, fetched back from the file,
    have numbers below, and are kept above the capacity until `forget_older`.
    """

    def __init__(self, capacity: int = RING) -> None:
        self.capacity = capacity
        self.first = 0
        self.older = 0
        self._lines: list[LogLine] = []
        self._passing: list[int] | None = None
        self.wanted = ""
        self._passes: Callable[[str], list[tuple[int, int]]] = matcher("")
        self._progress: dict[str, int] = {}

    def __getitem__(self, number: int) -> LogLine:
        return self._lines[number - self.first]

    @property
    def end(self) -> int:
        """The number of the next line."""
        return self.first + len(self._lines)

    @property
    def shown(self) -> Sequence[int]:
        """Numbers of the lines that pass the filter."""
        return range(self.first, self.end) if self._passing is None else self._passing

    def extend(self, lines: Iterable[LogLine]) -> tuple[int, int]:
        """Add lines; how many shown lines came, and how many left at the top."""
        before, start = len(self.shown), self.end
        for line in lines:
            self._add(line)
        if self._passing is not None:
            self._passing += [number for number in range(start, self.end) if self._passes(line_text(self[number]))]
        came = len(self.shown) - before
        return came, self._trim()

    def extend_back(self, lines: Sequence[LogLine]) -> int:
        """Put lines before the first one; how many of them are shown."""
        before = len(self.shown)
        self._lines[:0] = lines
        self.first -= len(lines)
        self.older += len(lines)
        if self._passing is not None:
            numbers = range(self.first, self.first + len(lines))
            self._passing[:0] = [number for number in numbers if self._passes(line_text(self[number]))]
        return len(self.shown) - before

    def forget_older(self) -> int:
        """Keep to the capacity again; how many shown lines left."""
        self.older = 0
        return self._trim()

    def _add(self, line: LogLine) -> None:
        at = self._progress.get(line.progress) if line.progress else None
        if at is not None and at >= max(self.first, self.end - PROGRESS_REACH):
            self._lines[at - self.first] = line
            return
        if line.progress:
            self._progress[line.progress] = self.end
        self._lines.append(line)

    def _trim(self) -> int:
        surplus = len(self._lines) - self.capacity - self.older
        if surplus <= 0:
            return 0
        del self._lines[:surplus]
        self.first += surplus
        self._progress = {key: at for key, at in self._progress.items() if at >= self.first}
        if self._passing is None:
            return surplus
        left = bisect_left(self._passing, self.first)
        del self._passing[:left]
        return left

    def clear(self) -> None:
        """Forget all lines; the numbers go on."""
        self.first = self.end
        self.older = 0
        self._lines.clear()
        self._progress.clear()
        if self._passing is not None:
            self._passing.clear()

    def filter(self, wanted: str) -> None:
        """Show only lines that contain the text; an empty one shows all."""
        self.wanted = wanted
        self._passes = matcher(wanted)
        self._passing = [n for n in range(self.first, self.end) if self._passes(line_text(self[n]))] if wanted else None

    def matching(self, wanted: str) -> list[int]:
        """Numbers of the shown lines that contain the text."""
        find = matcher(wanted)
        return [number for number in self.shown if find(line_text(self[number]))] if wanted else []

    def text_between(self, start: tuple[int, int] | None, end: tuple[int, int] | None) -> str:
        """The shown text from (number, character) to (number, character); None is the very first or last."""
        out: list[str] = []
        for number in self.shown:
            if (start and number < start[0]) or (end and number > end[0]):
                continue
            text = line_text(self[number])
            if end and number == end[0]:
                text = text[: end[1]]
            if start and number == start[0]:
                text = text[start[1] :]
            out.append(text)
        return "\n".join(out)


def nothing_holds(text: str) -> str:
    """What is said where a filter leaves nothing."""
    return f'nothing holds "{text}"'


def shift(spans: Sequence[Span], by: int, ellipsis: str) -> list[Span]:
    """The spans without their first `by` characters; the cut shows the ellipsis."""
    if by <= 0:
        return list(spans)
    out: list[Span] = []
    for text, ink in spans:
        out.append(Span(text[by:], ink))
        by = max(0, by - len(text))
    rest = [span for span in out if span.text]
    return [Span(ellipsis + rest[0].text[1:], rest[0].ink), *rest[1:]] if rest else [Span(ellipsis, "dim")]
