"""The header line: box, link and its age, recording, what may be changed, the time."""

from __future__ import annotations

from typing import cast

from console.events.link import LinkState
from console.screens.frame import Frame
from console.screens.replay_bar import clock
from console.state import HostState
from console.values import format_duration, known
from console.views.alerts import badge
from widgets.cells import Cell, State, StateKind
from widgets.header_bar import HeaderBar, Part

_KINDS: dict[LinkState, StateKind] = {
    "connecting": "busy", "up": "ok", "stale": "stale", "lost": "fail", "blocked": "fail",
}  # fmt: skip


def paint_header(bar: HeaderBar, frame: Frame) -> None:
    """Show the moment in the header."""
    host, session = frame.host, frame.session
    left = [Part((Cell("gpudeck", "strong"),), 5)]
    if session.demo:
        left.append(Part((Cell(" DEMO ", "badge"),)))
    if session.controls is None:
        left.append(Part((Cell(f" REPLAY {clock(frame.now)} ", "replay"),)))
    left += _hosts(frame)
    if host is not None:
        left += _link(host, frame.now)
    bar.set_parts(left, _right(frame))


def _hosts(frame: Frame) -> list[Part]:
    names = list(frame.session.state.hosts)
    shown = frame.host.name if frame.host else "no box"
    if len(names) < 2:
        return [Part((Cell(shown, "strong"),))]
    pieces: list[Cell] = []
    for name in names:
        pieces += [Cell(" ")] * bool(pieces) + [Cell(f"[{name}]", "strong") if name == shown else Cell(name, "dim")]
    return [Part(tuple(pieces))]


def _link(host: HostState, now: float) -> list[Part]:
    link = host.link
    parts = [Part((State(_KINDS[link.state], link.state),))]
    if link.via:
        parts.append(Part((Cell("via " + " → ".join(link.via), "label"),), 4))
    if known(link.heard_t):
        parts.append(Part((Cell(f"{_age(now - link.heard_t)} ago", "label"),), 2))
    if known(link.rtt_s):
        parts.append(Part((Cell(f"⇄ {format_duration(link.rtt_s)}", "label"),), 3))
    return parts


def _age(seconds: float) -> str:
    """Whole seconds: milliseconds would change, and be painted, at every beat of the frame clock."""
    return f"{max(0, int(seconds))} s" if seconds < 10 else format_duration(seconds)


def _right(frame: Frame) -> list[Part]:
    session = frame.session
    parts = []
    if failure := session.state.session.recorder_failure:
        parts += [Part((Cell(" recording stopped ", "alarm"),)), Part((Cell(f" {failure} ", "alarm"),), 1)]
    elif session.recording:
        parts.append(Part((State("busy", "REC"),), 1))
    if fault := session.state.session.worker_failure:
        parts += [Part((Cell(" a task failed ", "alarm"),)), Part((Cell(f" {fault} ", "alarm"),), 2)]
    kind, text = badge(frame.host) if frame.host else ("ok", "")
    if text:
        parts.append(Part((State(cast(StateKind, kind), text),), 1))
    if session.read_only and session.controls is not None:
        parts.append(Part((Cell("read-only", "warn"),)))
    parts.append(Part((Cell(session.header.at(frame.now)[11:19] + "Z", "dim"),), 2))
    return parts
