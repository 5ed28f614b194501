"""The story a log tells, folded record by record: phases with their times, pools, limits, live lines, errors.

The log alone never says `ready`: its ready line is kept (`ready_stamp`), the proof is a request (see the watch).
Stamps are the box's local time in whole seconds.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Any

import msgspec

from console.serve.phases import Phase, phase_of, place
from console.serve.record import Record
from console.values import CleanText

MAX_ERRORS = 64
MAX_NOTES = 200
DETAIL_LINES = 40
NOTABLE = (
    "rror", "rrno", "failed", "died", "imeout", "timeout", "not available", "already in use", "unbalanced", "too old",
    "out of memory", "no kernel image", "No space left", "less than the minimum", "CRITICAL", "Xid",
)  # fmt: skip


class Span(msgspec.Struct, frozen=True, kw_only=True):
    """One measured step of one rank. `step`: distributed, weights, or the graphs' own name. `used_gb` is GiB."""

    step: str
    rank: str
    draft: bool
    begin: str | None
    end: str | None
    elapsed_s: float | None = None
    used_gb: float | None = None
    arch: CleanText | None = None


class Pool(msgspec.Struct, frozen=True, kw_only=True):
    """The KV pool of one rank: every rank prints its own, they are never added up. Sizes are GiB."""

    rank: str
    draft: bool
    tokens: int
    k_gb: float | None = None
    v_gb: float | None = None
    kv_gb: float | None = None

    @property
    def size_gb(self) -> float | None:
        """K and V together, or MLA's one pool."""
        if self.kv_gb is not None:
            return self.kv_gb
        return None if self.k_gb is None or self.v_gb is None else self.k_gb + self.v_gb


class PhaseTime(msgspec.Struct, frozen=True, kw_only=True):
    """When the server entered a phase; `draft` in the drafter's block."""

    phase: Phase
    draft: bool
    begin: str | None


class LogError(msgspec.Struct, frozen=True, kw_only=True):
    """An error with its place in the start. `source`: scheduler, request (one HTTP call), command_line, process."""

    stamp: str | None
    rank: str
    phase: Phase
    source: str
    type: CleanText
    message: CleanText
    detail: tuple[CleanText, ...] = ()


class Note(msgspec.Struct, frozen=True, kw_only=True):
    """A line that may name a cause, with its phase."""

    stamp: str | None
    phase: Phase
    text: CleanText


@dataclass(slots=True)
class Story:
    """What the log has said so far. Only `add` changes it."""

    phase: Phase = "spawn"
    phases: list[PhaseTime] = field(default_factory=list)
    spans: list[Span] = field(default_factory=list)
    open_spans: dict[tuple[str, str], Span] = field(default_factory=dict)
    pools: list[Pool] = field(default_factory=list)
    limits: dict[str, Any] = field(default_factory=dict)
    timings: dict[str, float] = field(default_factory=dict)
    progress: Record | None = None
    decode: Record | None = None
    prefill: Record | None = None
    last_stamp: str | None = None
    args_stamp: str | None = None
    listening_stamp: str | None = None
    ready_stamp: str | None = None
    ends: list[Record] = field(default_factory=list)
    errors: list[LogError] = field(default_factory=list)
    notes: deque[Note] = field(default_factory=lambda: deque(maxlen=MAX_NOTES))
    retractions: int = 0
    ignored_imports: list[CleanText] = field(default_factory=list)
    spec_cap: int | None = None
    _place: int = -1
    _loaded: set[str] = field(default_factory=set)
    _drafting: set[str] = field(default_factory=set)
    _rank_phase: dict[str, Phase] = field(default_factory=dict)
    _traceback: Record | None = None
    _traceback_source: str = "process"

    @property
    def stop_requested(self) -> bool:
        """The log shows that SGLang itself got a SIGTERM."""
        return any(record.kind == "stop_requested" for record in self.ends)

    def rank_phase(self, rank: str) -> Phase:
        return self._rank_phase.get(rank, self.phase)

    def add(self, record: Record) -> None:
        """Fold one record."""
        if record.stamp is not None:
            self.last_stamp = record.stamp
        if self._place < 0:
            self._enter("imports", False, record.stamp)
        handler = _HANDLERS.get(record.kind)
        if handler is not None:
            handler(self, record)

    def _enter(self, phase: Phase, draft: bool, stamp: str | None) -> None:
        where = place(phase, draft)
        if where > self._place:
            self._place, self.phase, self.progress = where, phase, None
            self.phases.append(PhaseTime(phase=phase, draft=draft, begin=stamp))

    def _step(self, record: Record) -> None:
        """A record that moves its rank, and with the first rank the server."""
        rank, kind = record.rank, record.kind
        if kind in ("dist_begin", "weights_begin") and rank in self._loaded:
            self._drafting.add(rank)
        draft = rank in self._drafting
        phase = phase_of(kind, draft)
        if phase is not None:
            self._rank_phase[rank] = phase
            self._enter(phase, draft, record.stamp)

    def _begin(self, record: Record) -> None:
        self._step(record)
        step = _step_name(record)
        span = Span(step=step, rank=record.rank, draft=record.rank in self._drafting, begin=record.stamp, end=None)
        self.open_spans[record.rank, step] = span

    def _end(self, record: Record) -> None:
        step, values = _step_name(record), record.fields
        blank = Span(step=step, rank=record.rank, draft=record.rank in self._drafting, begin=None, end=None)
        span = self.open_spans.pop((record.rank, step), blank)
        measured = {name: values.get(name) for name in ("elapsed_s", "used_gb", "arch")}
        self.spans.append(msgspec.structs.replace(span, end=record.stamp, **measured))
        if record.kind == "weights_end":
            self._step(record)
            self._loaded.add(record.rank)

    def _kv(self, record: Record) -> None:
        self._step(record)
        sizes = {name: record.fields.get(name) for name in ("k_gb", "v_gb", "kv_gb")}
        draft = record.rank in self._drafting
        self.pools.append(Pool(rank=record.rank, draft=draft, tokens=record.fields["tokens"], **sizes))

    def _summary(self, record: Record) -> None:
        self._step(record)
        self.limits = record.fields

    def _listening(self, record: Record) -> None:
        self._step(record)
        self.listening_stamp = record.stamp

    def _ready(self, record: Record) -> None:
        self.ready_stamp = record.stamp

    def _args(self, record: Record) -> None:
        self.args_stamp = record.stamp

    def _timings(self, record: Record) -> None:
        self.timings = record.fields

    def _cap(self, record: Record) -> None:
        self.spec_cap = record.fields["max_running_requests"]

    def _progress(self, record: Record) -> None:
        self.progress = record

    def _live(self, record: Record) -> None:
        if record.kind == "decode":
            self.decode = record
        else:
            self.prefill = record

    def _ending(self, record: Record) -> None:
        self.ends.append(record)
        if record.kind == "exception":
            self._traceback, self._traceback_source = record, _source(record)

    def _error(self, record: Record) -> None:
        owner = self._traceback
        rank = owner.rank if owner else ""
        source = "command_line" if record.kind == "cli_error" else self._traceback_source
        self._traceback, self._traceback_source = None, "process"
        if len(self.errors) < MAX_ERRORS:
            found = LogError(
                stamp=owner.stamp if owner else self.last_stamp,
                rank=rank,
                phase=self.rank_phase(rank),
                source=source,
                type=CleanText(record.fields.get("type", "")),
                message=CleanText(record.fields["message"]),
            )
            self.errors.append(found)

    def _text(self, record: Record) -> None:
        text = record.text
        if record.stamp is not None:
            if text.startswith("ERROR: ") and "ASGI application" in text:
                self._traceback, self._traceback_source = record, "request"
        elif self.errors and text[0] != " ":
            self._detail(text)
        if text.startswith("Ignore import error"):
            self.ignored_imports.append(text)
        elif text.startswith("KV cache pool is full"):
            self.retractions += 1
        elif text[:1] != " " and any(word in text for word in NOTABLE):
            phase = self.rank_phase(record.rank)
            self.notes.append(Note(stamp=record.stamp or self.last_stamp, phase=phase, text=text))

    def _detail(self, text: CleanText) -> None:
        """Unstamped lines behind an error line belong to its message."""
        error = self.errors[-1]
        if len(error.detail) < DETAIL_LINES:
            self.errors[-1] = msgspec.structs.replace(error, detail=(*error.detail, text))


def _step_name(record: Record) -> str:
    return {"dist": "distributed", "weights": "weights"}.get(record.kind.split("_")[0]) or str(record.fields["what"])


def _source(record: Record) -> str:
    return str(record.fields.get("source", "scheduler"))


_HANDLERS = {
    "dist_begin": Story._begin,
    "dist_end": Story._end,
    "weights_begin": Story._begin,
    "weights_end": Story._end,
    "graph_begin": Story._begin,
    "graph_end": Story._end,
    "kv": Story._kv,
    "summary": Story._summary,
    "listening": Story._listening,
    "ready": Story._ready,
    "server_args": Story._args,
    "startup_timings": Story._timings,
    "spec_cap": Story._cap,
    "progress": Story._progress,
    "decode": Story._live,
    "prefill": Story._live,
    "stop_requested": Story._ending,
    "child_exit": Story._ending,
    "sigquit": Story._ending,
    "exception": Story._ending,
    "stopped": Story._ending,
    "error": Story._error,
    "cli_error": Story._error,
    "text": Story._text,
}
