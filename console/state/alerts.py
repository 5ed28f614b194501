"""The slice of alerts: what began to be wrong, since when, whether it was seen, and what was wrong before.

Everything follows from facts and their times, so that a replay has the alerts of the night. A condition begins at one
threshold and ends at another, and one that is back soon is the same alert: nothing flickers.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from console.events import alerts as facts
from console.state.reducer import HostReducers
from console.values import CleanText, Unknown, clean

if TYPE_CHECKING:
    from console.state.model import HostState

HISTORY = 50
BACK_S = 60.0

Level = Literal["warn", "fail"]


@dataclass
class Alert:
    """`id` says what it is about; `once`: it happened, so that it is current until it was seen.

    `until_t` is None while it is so, `seen_t` until the user acknowledged it. `times`: how often it came back.
    """

    id: str
    level: Level
    sentence: str
    since_t: float
    once: bool = False
    until_t: float | None = None
    seen_t: float | None = None
    times: int = 1


@dataclass
class Told:
    """A moment that the user had asked to be told of."""

    moment: facts.Moment
    sentence: CleanText
    t: float


@dataclass
class Alerts:
    """`current` by id, `history` the ones that are over, the newest last; `wanted` moments, `told` ones in order."""

    current: dict[str, Alert] = field(default_factory=dict)
    history: deque[Alert] = field(default_factory=lambda: deque(maxlen=HISTORY))
    wanted: set[facts.Moment] = field(default_factory=set)
    told: list[Told] = field(default_factory=list)

    def hold(self, about: str, level: Level, sentence: str, t: float, *, once: bool = False) -> None:
        """It is so; what was over less than a minute ago goes on, and what gets worse is news again."""
        alert = self.current.get(about)
        if alert is None:
            alert = self._back(about, t) or Alert(about, level, sentence, t, once)
            self.current[about] = alert
        elif (level, alert.level) == ("fail", "warn"):
            alert.seen_t = None
        alert.level, alert.sentence = level, sentence

    def _back(self, about: str, t: float) -> Alert | None:
        past = next((one for one in reversed(self.history) if one.id == about), None)
        if past is None or past.once or past.until_t is None or t - past.until_t > BACK_S:
            return None
        self.history.remove(past)
        past.until_t, past.times = None, past.times + 1
        return past

    def leave(self, about: str, t: float) -> None:
        """It is so no longer."""
        if alert := self.current.pop(about, None):
            alert.until_t = t
            self.history.append(alert)

    def leave_all(self, prefix: str, t: float, *, but: frozenset[str] = frozenset()) -> None:
        """Those of a kind end, except the ones that were just found again."""
        for about in [one for one in self.current if one.startswith(prefix) and one not in but]:
            self.leave(about, t)

    def seen(self, about: str) -> bool:
        """The user acknowledged it: what is still so, or what had happened."""
        if alert := self.current.get(about):
            return alert.seen_t is not None
        return any(one.id == about and one.once and one.seen_t is not None for one in self.history)

    def tell(self, moment: facts.Moment, sentence: str, t: float) -> None:
        """Tell the user, who asked for it once."""
        if moment in self.wanted:
            self.wanted.discard(moment)
            self.told.append(Told(moment, clean(sentence), t))


def between(value: float | Unknown, enter: float, leave: float) -> bool | None:
    """A threshold with hysteresis for a value that is bad when low: True begins, False ends, None keeps."""
    if isinstance(value, Unknown):
        return None
    return True if value <= enter else False if value >= leave else None


def _acknowledged(host: HostState, event: facts.AlertsAcknowledged, t: float) -> None:
    for about in event.alerts:
        if alert := host.alerts.current.get(about):
            alert.seen_t = t
            if alert.once:
                host.alerts.leave(about, t)


def _asked(host: HostState, event: facts.TellAsked, _t: float) -> None:
    if event.wanted:
        host.alerts.wanted.add(event.moment)
    else:
        host.alerts.wanted.discard(event.moment)


REDUCERS: HostReducers = {facts.AlertsAcknowledged: _acknowledged, facts.TellAsked: _asked}
