"""The last line: the keys that are valid here and now, as many as there is room for."""

from __future__ import annotations

from console.intents import INTENTS, Intent, available, key_name, key_of, refusal
from console.screens.frame import Frame
from widgets.cells import Cell, Line, Piece


def valid_key(key: str, frame: Frame) -> str:
    """The key of a step as this session has it; empty where its action cannot be had now."""
    if key in ("", "enter"):
        return key
    situation = frame.situation
    ids = [intent.id for intent in INTENTS if key in intent.keys]
    having = [one for one in available(situation) if one.id in ids and not refusal(one, situation)]
    return key_name(having[0].keys[0]) if having else ""


def footer(frame: Frame, width: int) -> Line:
    """What this screen is for comes behind what is always there; what has no room is left out."""
    situation = frame.situation
    valid = [one for one in available(situation) if not refusal(one, situation)]
    home = [one for one in valid if frame.screen in one.home and not one.footer]
    pieces: list[Piece] = [Cell(" ")]
    screens = _screens(frame)
    left = width - len(f"{screens} screens ")
    for intent in [*(one for one in valid if one.footer), *home]:
        name, title = key_name(intent.keys[0]), f" {_short(intent)}   "
        left -= len(name) + len(title)
        if left < 0:
            break
        pieces += [Cell(name, "key"), Cell(title, "dim")]
    pieces += [Cell(screens, "key"), Cell(" screens", "dim")]
    return Line(tuple(pieces))


def _screens(frame: Frame) -> str:
    """`0-8`, or every key where the user's do not follow each other."""
    keys = [key_of(intent.id, frame.table) for intent in INTENTS if intent.id.startswith("screen_")]
    return "0-8" if keys == list("012345678") else " ".join(keys)


def _short(intent: Intent) -> str:
    return intent.title.lower()
