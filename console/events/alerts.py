"""Facts of what the user did about alerts: seen, and asked to be told of."""

from __future__ import annotations

from typing import Literal

from console.events.base import HostEvent
from console.values import CleanText

Moment = Literal["ready", "proved", "measured"]


class AlertsAcknowledged(HostEvent, frozen=True, gc=False, kw_only=True):
    """The user has seen these alerts, by their ids: they are no news any more."""

    alerts: tuple[CleanText, ...]


class TellAsked(HostEvent, frozen=True, gc=False, kw_only=True):
    """The user wants to be told, once, of the next such moment; `wanted` False takes it back.

    ready: a server answered; proved: every hash of a repository is right; measured: a benchmark ended. A failure on
    the way is told, too.
    """

    moment: Moment
    wanted: bool


EVENTS = (AlertsAcknowledged, TellAsked)
