"""The last line: the keys that are valid here and now, as many as there is room for."""

from __future__ import annotations

import unicodedata

from console.intents import INTENTS, Intent, available, refusal
from console.screens.frame import Frame
from widgets.cells import Cell, Line, Piece

_KEY_NAMES = {"escape": "esc", "slash": "/", "backslash": "\\", "at": "@", "plus": "+", "minus": "-",
              "underscore": "_"}  # fmt: skip
_SCREENS = "0-8"


def key_name(key: str) -> str:
    """A key as the user knows it."""
    if key in _KEY_NAMES or len(key) == 1:
        return _KEY_NAMES.get(key, key)
    try:
        sign = unicodedata.lookup(key.replace("_", " ").upper())
    except KeyError:
        return key
    return sign if sign.isprintable() and not sign.isspace() else key


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
    left = width - len(f"{_SCREENS} screens ")
    for intent in [*(one for one in valid if one.footer), *home]:
        name, title = key_name(intent.keys[0]), f" {_short(intent)}   "
        left -= len(name) + len(title)
        if left < 0:
            break
        pieces += [Cell(name, "key"), Cell(title, "dim")]
    pieces += [Cell(_SCREENS, "key"), Cell(" screens", "dim")]
    return Line(tuple(pieces))


def _short(intent: Intent) -> str:
    return intent.title.lower()
