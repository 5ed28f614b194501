"""Facts of the link to a box, and of the session itself."""

from __future__ import annotations

from typing import Literal

from console.events.base import Event, HostEvent
from console.values import CleanText

LinkState = Literal["connecting", "up", "stale", "lost", "blocked"]


class LinkChanged(HostEvent, frozen=True, gc=False, kw_only=True):
    """The link entered a state. `sentence` says why; `exit_code` what a one-shot command ends with.

    `via` names the hops between the laptop and the box, `retry_s` when the next attempt starts.
    """

    state: LinkState
    sentence: CleanText = CleanText("")
    via: tuple[CleanText, ...] = ()
    retry_s: float | None = None
    exit_code: int = 0


class HostKeyAsked(HostEvent, frozen=True, gc=False, kw_only=True):
    """The box, or a hop to it, showed a host key that no known_hosts file holds."""

    target: CleanText
    algorithm: CleanText
    fingerprint: CleanText


class HostKeyChanged(HostEvent, frozen=True, gc=False, kw_only=True):
    """The host key differs from the known one. There is no way to accept it from here."""

    target: CleanText
    known_fingerprint: CleanText
    shown_fingerprint: CleanText
    file: CleanText
    line: int


class HeartbeatHeard(HostEvent, frozen=True, gc=False, kw_only=True):
    """The agent's sign of life, once a second; `skew_s` is the box's clock minus the laptop's."""

    skew_s: float


class PingAnswered(HostEvent, frozen=True, gc=False, kw_only=True):
    """A request went to the agent and came back: proves both directions of the link."""

    rtt_s: float


class NoiseHeard(HostEvent, frozen=True, gc=False, kw_only=True):
    """What was said before the agent spoke: a banner, a noisy rc file, where the SSH configuration was not obeyed."""

    lines: tuple[CleanText, ...]


class FramesDropped(HostEvent, frozen=True, gc=False, kw_only=True):
    """Frames of the agent that were lost, or that were no frames."""

    dropped: int
    malformed: int


class IntentIssued(Event, frozen=True, gc=False, kw_only=True):
    """A wish of the user, for the record; `reduce` never causes it. `refused_by` names the guard."""

    host: str
    key: CleanText
    command: CleanText
    refused_by: CleanText = CleanText("")


class NoteWritten(Event, frozen=True, gc=False, kw_only=True):
    """A note of the user, for the record and for the reports of the runs of this box; `host` empty: of all boxes."""

    text: CleanText
    host: str = ""


class RecorderFailed(Event, frozen=True, gc=False, kw_only=True):
    """The recording stopped, the console goes on."""

    path: CleanText
    reason: CleanText


class WorkerFailed(Event, frozen=True, gc=False, kw_only=True):
    """A fault of gpudeck itself ended a task of the session; the others go on."""

    task: CleanText
    reason: CleanText


class UnknownEvent(Event, frozen=True, kw_only=True):
    """A line of a recording whose kind this version does not know: kept, counted, shown."""

    kind: CleanText
    fields: dict[str, object]


EVENTS = (
    LinkChanged,
    HostKeyAsked,
    HostKeyChanged,
    HeartbeatHeard,
    PingAnswered,
    NoiseHeard,
    FramesDropped,
    IntentIssued,
    NoteWritten,
    RecorderFailed,
    WorkerFailed,
)
