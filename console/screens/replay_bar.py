"""The bar of a replay: where it is, how fast it plays, how long it is, where something happened, what was noted."""

from __future__ import annotations

from itertools import groupby

from console.intents import key_of
from console.screens.frame import Frame
from console.session.player import Mark, Player
from widgets.cells import Cell, Line, Piece, cut, width_of
from widgets.glyphs import Glyphs

NOTE_S = 30.0
LEAST_BAR = 12
HEAD = 3  # pieces before the bar; one stands behind it
_HINTS = ((("play",), "play "), (("back_10", "on_10"), "10 s "), (("notable",), "next"))


def replay_line(player: Player, frame: Frame, width: int, glyphs: Glyphs) -> Line:
    """One line of `width` cells: the bar takes what position, speed, length, note and keys leave to it."""
    now, whole = player.replay.now(), player.duration_s
    state = "paused" if player.paused else "ended" if player.replay.ended else "playing"
    head = (
        Cell(f" REPLAY {clock(now)} ", "replay"),
        Cell(f" {player.speed:g}×  ", "strong"),
        Cell(f"{state:<8}", "warn" if player.paused else "label"),
    )
    end = Cell(f" {clock(whole)} ", "dim")
    left = width - sum(width_of(cell.text) for cell in (*head, end))
    right = _note(frame, left - LEAST_BAR - 1, glyphs) or _hints(frame)
    taken = 1 + sum(width_of(piece.text) for piece in right if isinstance(piece, Cell))
    if left - taken < LEAST_BAR:
        right, taken = (), 0
    bar = _bar(now / whole if whole else 0.0, player.marks, whole, max(0, left - taken), glyphs)
    return Line((*head, *bar, end), right)


def _note(frame: Frame, room: int, glyphs: Glyphs) -> tuple[Piece, ...]:
    """The note that was written last, for a while; cut where it would leave no bar."""
    notes = [text for t, text in frame.session.state.session.notes if 0 <= frame.now - t < NOTE_S]
    return (Cell(cut(f"note: {notes[-1]}", room - 1, glyphs.ellipsis) + " ", "strong"),) if notes else ()


def _hints(frame: Frame) -> tuple[Piece, ...]:
    pieces: list[Piece] = []
    for ids, does in _HINTS:
        for one in ids:
            pieces += [Cell(key_of(one, frame.table), "key"), Cell(" ", "dim")]
        pieces.append(Cell(f"{does} ", "dim"))
    return tuple(pieces)


def _bar(ratio: float, marks: tuple[Mark, ...], whole: float, width: int, glyphs: Glyphs) -> list[Cell]:
    """What was played, and on it a sign wherever something notable happened, or was noted."""
    done = round(ratio * width)
    cells = [(glyphs.full, "bar-busy") if at < done else (glyphs.track, "track") for at in range(width)]
    for mark in marks:
        at = min(width - 1, int(mark.t / whole * width)) if whole and width else -1
        if at >= 0 and cells[at][1] != "warn":
            cells[at] = (glyphs.filled[3], "warn") if mark.noted else (glyphs.tick, "tick")
    return [Cell("".join(sign for sign, _ in same), ink) for ink, same in groupby(cells, key=lambda cell: cell[1])]


def moment_at(line: Line, x: int, whole_s: float) -> float | None:
    """The moment that the bar of `replay_line` shows at this cell; None beside the bar."""
    cells = [piece for piece in line.left if isinstance(piece, Cell)]
    start = sum(width_of(cell.text) for cell in cells[:HEAD])
    width = sum(width_of(cell.text) for cell in cells[HEAD:-1])
    return (x - start + 0.5) / width * whole_s if start <= x < start + width else None


def clock(seconds: float) -> str:
    """Seconds as HH:MM:SS."""
    whole = int(seconds)
    return f"{whole // 3600:02}:{whole // 60 % 60:02}:{whole % 60:02}"
