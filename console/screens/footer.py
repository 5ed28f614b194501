"""The last line: the keys that are valid here and now, as many as there is room for."""

from __future__ import annotations

from console.intents import INTENTS, available, key_name, key_of, refusal
from console.screens.frame import Frame
from widgets.cells import Cell, Line, Piece, width_of


def valid_key(key: str, frame: Frame) -> str:
    """The key of a step as this session has it; empty where its action cannot be had now."""
    if key in ("", "enter"):
        return key
    situation = frame.situation
    ids = [intent.id for intent in INTENTS if key in intent.keys]
    having = [one for one in available(situation) if one.id in ids and not refusal(one, situation)]
    return key_name(having[0].keys[0]) if having else ""


def footer(frame: Frame, width: int) -> Line:
    """What is always there, then what this screen is for, then the screens; what has no room is left out."""
    situation = frame.situation
    valid = [one for one in available(situation) if not refusal(one, situation)]
    home = [one for one in valid if frame.screen in one.home and not one.footer]
    pieces: list[Piece] = [Cell(" ")]
    left = width - 1
    least = _width(_screens(frame, "", ""))
    for intent in [*(one for one in valid if one.footer), *home]:
        name, title = key_name(intent.keys[0]), f" {intent.title.lower()}  "
        if left - len(name) - len(title) < least:
            break
        left -= len(name) + len(title)
        pieces += [Cell(name, "key"), Cell(title, "dim")]
    return Line((*pieces, *_roomiest(frame, left)))


def _roomiest(frame: Frame, room: int) -> list[Cell]:
    """The screens with their names; with that of the one that is shown; by their keys alone."""
    forms = [_screens(frame, "all", ""), *(_screens(frame, "here", end) for end in (" screens", "")),
             *(_screens(frame, "", end) for end in (" screens", ""))]  # fmt: skip
    return next((form for form in forms if _width(form) <= room), forms[-1])


def _screens(frame: Frame, named: str, end: str) -> list[Cell]:
    pieces: list[Cell] = []
    for intent in INTENTS:
        name = intent.id.removeprefix("screen_")
        if name != intent.id:
            here = name == frame.screen
            pieces.append(Cell(key_of(intent.id, frame.table), "key"))
            shown = f" {name} " if named == "all" or (named and here) else " "
            pieces.append(Cell(shown, "strong" if here else "dim"))
    if end:
        return [*pieces, Cell(end.strip(), "dim")]
    return [*pieces[:-1], pieces[-1]._replace(text=pieces[-1].text.rstrip())]


def _width(pieces: list[Cell]) -> int:
    return sum(width_of(piece.text) for piece in pieces)
