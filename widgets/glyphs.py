"""The glyph sets. A state is glyph + word + colour, so that it reads without any one of the three.

`--ascii` puts the class `-ascii` on the app; widgets and `console.tcss` both go by that class.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from widgets.cells import StateKind, printable, width_of

ASCII_CLASS = "-ascii"


@dataclass(frozen=True, slots=True)
class Glyphs:
    """One set. `eighths` are the partial blocks, narrow to wide; `levels` the sparkline heights, low to high."""

    ascii: bool
    states: Mapping[StateKind, str]
    eighths: str
    full: str
    track: str
    unknown_track: str
    tick: str
    levels: str
    ellipsis: str
    down: str
    separator: str
    filled: str
    hollow: str

    def of(self, kind: StateKind) -> str:
        """The glyph of a state."""
        return self.states[kind]

    def text(self, text: str) -> str:
        """Text that this set can show: printable, and pure ASCII when the set is."""
        text = printable(text)
        if not self.ascii or text.isascii():
            return text
        return "".join(_plain(char) for char in text)


UNICODE = Glyphs(
    ascii=False,
    states={"ok": "✓", "warn": "!", "fail": "✗", "unknown": "?", "busy": "▶", "stale": "◌", "off": "·"},
    eighths="▏▎▍▌▋▊▉",
    full="█",
    track="·",
    unknown_track="╌",
    tick="┊",
    levels="▁▂▃▄▅▆▇█",
    ellipsis="…",
    down="↓",
    separator="│",
    filled="●▲■◆▼★▶◀",
    hollow="○△□◇▽☆▷◁",
)

ASCII = Glyphs(
    ascii=True,
    states={"ok": "+", "warn": "!", "fail": "x", "unknown": "?", "busy": ">", "stale": "~", "off": "-"},
    eighths="",
    full="#",
    track=".",
    unknown_track="-",
    tick="|",
    levels="_.-=+*%#",
    ellipsis="~",
    down="v",
    separator="|",
    filled="ABCDEFGH",
    hollow="abcdefgh",
)

_PLAIN = {
    "…": "~", "·": ".", "°": " ", "→": ">", "←": "<", "↑": "^", "↓": "v", "⇄": "=", "×": "x", "±": "~", "≤": "<",
    "≥": ">", "≠": "!", "Σ": "S", "µ": "u", "✓": "+", "✗": "x", "●": "*", "○": "o", "▶": ">", "│": "|", "┊": "|",
    "─": "-", "–": "-", "—": "-", "’": "'", "‘": "'", "“": '"', "”": '"', "≈": "~", "∞": "8", "²": "2",
}  # fmt: skip


def _plain(char: str) -> str:
    """One character as ASCII of the same width, so that columns stay aligned."""
    return char if char.isascii() else _PLAIN.get(char) or "?" * width_of(char)
