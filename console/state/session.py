"""Facts of the console itself folded into the session's own state."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from console.events import Event
from console.events import link as facts
from console.events.bench import RunsListed
from console.values import CleanText

if TYPE_CHECKING:
    from console.state.model import State

KINDS_TOLD = 100


def _note(state: State, event: facts.NoteWritten, t: float) -> None:
    state.session.notes.append((t, event.text))


def _recorder(state: State, event: facts.RecorderFailed, _t: float) -> None:
    state.session.recorder_failure = event.reason


def _worker(state: State, event: facts.WorkerFailed, _t: float) -> None:
    state.session.worker_failure = CleanText(f"{event.task}: {event.reason}")


def _runs(state: State, event: RunsListed, _t: float) -> None:
    state.session.runs = event
    state.session.runs_revision += 1


def _unknown(state: State, event: facts.UnknownEvent, _t: float) -> None:
    kinds = state.session.unknown_kinds
    if event.kind in kinds or len(kinds) < KINDS_TOLD:
        kinds[event.kind] += 1


def _intent(_state: State, _event: facts.IntentIssued, _t: float) -> None:
    """A wish is kept for the audit alone: state follows from facts."""


REDUCERS: dict[type[Event], Callable[[State, Any, float], None]] = {
    facts.NoteWritten: _note,
    facts.RecorderFailed: _recorder,
    facts.WorkerFailed: _worker,
    facts.UnknownEvent: _unknown,
    facts.IntentIssued: _intent,
    RunsListed: _runs,
}
