"""Alerts as rows, and what the user can ask to be told of."""

from __future__ import annotations

from typing import NamedTuple

from console.events.alerts import Moment
from console.state import HostState
from console.state.alerts import Alert
from console.values import format_duration

# What can be waited for, in the words of a person.
MOMENTS: dict[Moment, str] = {
    "ready": "a server is READY, or its start failed",
    "proved": "a download is proved, or fell short",
    "measured": "a benchmark or sweep is done",
}


class AlertRow(NamedTuple):
    """One alert for a table: `kind` is the kind of state, `word` says whether it is news, seen, or over."""

    id: str
    kind: str
    word: str
    ago: str
    lasted: str
    sentence: str


def alert_rows(host: HostState, now: float) -> list[AlertRow]:
    """What is so now, the news first, then what was, the latest first."""
    current = sorted(host.alerts.current.values(), key=lambda one: (one.seen_t is not None, _rank(one), -one.since_t))
    return [_row(one, now) for one in [*current, *reversed(host.alerts.history)]]


def _rank(alert: Alert) -> int:
    return ("fail", "warn").index(alert.level)


def _row(alert: Alert, now: float) -> AlertRow:
    over = alert.until_t is not None
    word = "over" if over and not alert.once else "seen" if alert.seen_t is not None else alert.level
    kind = "off" if word in ("over", "seen") else alert.level
    end = now if alert.until_t is None else alert.until_t
    lasted = "" if alert.once else format_duration(max(1.0, end - alert.since_t))
    again = f" ({alert.times} times)" if alert.times > 1 else ""
    ago = format_duration(max(1.0, now - alert.since_t))
    return AlertRow(alert.id, kind, word, ago, lasted, f"{alert.sentence}{again}")


def news(host: HostState) -> list[Alert]:
    """The alerts that nobody has seen yet."""
    return [one for one in host.alerts.current.values() if one.seen_t is None]


def badge(host: HostState) -> tuple[str, str]:
    """(kind, text) for the header: how many alerts are news; empty when none is."""
    fresh = news(host)
    if not fresh:
        return "ok", ""
    kind = "fail" if any(one.level == "fail" for one in fresh) else "warn"
    return kind, f"{len(fresh)} alert{'s' if len(fresh) > 1 else ''}"
