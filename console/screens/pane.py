"""A pane of the console: the titled frame, painted only when its slices of the state changed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from console.screens.frame import STALE_S, Frame, stale_text
from console.values import Unknown, known
from widgets.cells import Line
from widgets.lines import Lines
from widgets.pane import Pane


def fill(widget: Lines, lines: Sequence[Line]) -> None:
    """Show these lines; without any, the widget takes no room."""
    widget.display = bool(lines)
    widget.set_lines(lines)


def _older(data_t: float | Unknown, heard_t: float | Unknown) -> float | Unknown:
    return min(data_t, heard_t) if known(data_t) and known(heard_t) else heard_t


class DeckPane(Pane):
    """Subclasses name their slices and implement `show`, and `data_t` when their data ages by itself.

    `stale_after_s` allows for the period of the data; without a link nothing new can come, whatever the period.
    """

    slices: ClassVar[tuple[str, ...]] = ()
    stale_after_s: ClassVar[float] = 3.0
    _painted: object = None

    def paint(self, frame: Frame) -> None:
        """Paint what changed since the last frame."""
        host = frame.host
        connected = host is not None and host.link.state == "up"
        data_t = self.data_t(frame) if connected or host is None else _older(self.data_t(frame), host.link.heard_t)
        stale = stale_text(data_t, frame.now, self.stale_after_s if connected else STALE_S)
        key = (host.name, *(host.revisions[name] for name in self.slices), stale) if host else None
        if key == self._painted and key is not None:
            return
        self._painted = key
        self.set_stale(stale)
        self.show(frame)

    def data_t(self, frame: Frame) -> float | Unknown:
        """When the newest data of the pane was true; without a link every pane is as old as the link at least."""
        return Unknown("true until something else is told")

    def show(self, frame: Frame) -> None:
        """Hand the rows of this moment to the widgets."""
        raise NotImplementedError
