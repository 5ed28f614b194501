"""The slice of the link to a box."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from console.events import link as facts
from console.state.reducer import HostReducers
from console.values import CleanText, Unknown

if TYPE_CHECKING:
    from console.state.model import HostState


@dataclass
class Link:
    """The link as the last facts left it; `heard_t` is the time of the last sign of life of the agent."""

    state: facts.LinkState = "connecting"
    sentence: CleanText = CleanText("")
    via: tuple[CleanText, ...] = ()
    retry_s: float | None = None
    exit_code: int = 0
    heard_t: float | Unknown = field(default_factory=lambda: Unknown("the box has not answered yet"))
    rtt_s: float | Unknown = field(default_factory=lambda: Unknown("no ping was answered yet"))
    skew_s: float | Unknown = field(default_factory=lambda: Unknown("the box has not answered yet"))
    host_key: facts.HostKeyAsked | facts.HostKeyChanged | None = None
    noise: deque[CleanText] = field(default_factory=lambda: deque(maxlen=100))
    dropped: int = 0
    malformed: int = 0


def _changed(host: HostState, event: facts.LinkChanged, _t: float) -> None:
    link = host.link
    link.state, link.sentence, link.exit_code = event.state, event.sentence, event.exit_code
    link.retry_s = event.retry_s
    link.via = event.via or link.via
    if event.state == "up":
        link.host_key = None


def _key(host: HostState, event: facts.HostKeyAsked | facts.HostKeyChanged, _t: float) -> None:
    host.link.host_key = event


def _heartbeat(host: HostState, event: facts.HeartbeatHeard, t: float) -> None:
    host.link.heard_t, host.link.skew_s = t, event.skew_s


def _ping(host: HostState, event: facts.PingAnswered, _t: float) -> None:
    host.link.rtt_s = event.rtt_s


def _noise(host: HostState, event: facts.NoiseHeard, _t: float) -> None:
    host.link.noise.extend(event.lines)


def _dropped(host: HostState, event: facts.FramesDropped, _t: float) -> None:
    host.link.dropped += event.dropped
    host.link.malformed += event.malformed


REDUCERS: HostReducers = {
    facts.LinkChanged: _changed,
    facts.HostKeyAsked: _key,
    facts.HostKeyChanged: _key,
    facts.HeartbeatHeard: _heartbeat,
    facts.PingAnswered: _ping,
    facts.NoiseHeard: _noise,
    facts.FramesDropped: _dropped,
}
