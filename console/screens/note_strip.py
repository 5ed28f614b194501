"""What was noted last, in full, above the footer and over the panes: nothing moves when it comes and goes."""

from __future__ import annotations

from console.screens.frame import Frame
from widgets.cells import Cell, Line

NOTE_S = 12.0


def note_lines(frame: Frame) -> list[Line]:
    """The newest note, for a while; none when there is none."""
    notes = frame.session.state.session.notes
    if not notes or frame.now - notes[-1][0] >= NOTE_S:
        return []
    return [Line((Cell(notes[-1][1], "strong"),))]
