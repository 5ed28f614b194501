"""Remote text, cleaned where it enters.

A log line, a file name or a process name from a box can carry terminal control sequences. `clean` is the only
maker of `CleanText`; everything that stores or shows remote text asks for that type.
"""

from __future__ import annotations

import re
from typing import Any, NewType

CleanText = NewType("CleanText", str)

MAX_CHARS = 4096
MOST_READ = 64 * 1024  # characters of a line that are looked at, a progress bar's frames among them

_SEQUENCES = re.compile(
    r"(?:\x1b[\]PX^_]|[\x90\x98\x9d\x9e\x9f])"  # OSC, DCS, SOS, PM, APC, in 7 and 8 bits …
    r"(?:(?!\x1b\\)[^\x07\x9c])*(?:\x07|\x9c|\x1b\\)?"  # … up to their end, or to the end of the text
    r"|(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?"  # CSI
    r"|\x1b[ -/]*[0-~]?"  # other escapes
)
_CONTROLS = {code: 0x2400 + code for code in range(0x20)}  # visible glyphs: ␀ ␁ …
_CONTROLS |= {0x09: 0x20, 0x7F: 0x2421}
_CONTROLS |= dict.fromkeys(range(128, 160), 65533)
_CONTROLS |= dict.fromkeys(range(55296, 57344), 65533)
_BIDI_AND_INVISIBLE = (
    0x061C, 0x200B, 0x200E, 0x200F, 0x2028, 0x2029, *range(0x202A, 0x202F), *range(0x2060, 0x206A), 0xFEFF,
)  # fmt: skip
_CONTROLS |= dict.fromkeys(_BIDI_AND_INVISIBLE, 65533)
_COMBINING_FLOOD = re.compile(r"([̀-ͯ᪰-᫿᷀-᷿⃐-⃿︠-︯]{4})[̀-ͯ᪰-᫿᷀-᷿⃐-⃿︠-︯]+")
_SUSPECT = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]|[̀-ͯ᪰-᫿᷀-᷿⃐-⃿︠-︯]{5}"
)


def clean(text: str | bytes, limit: int = MAX_CHARS) -> CleanText:
    """One line of remote text that is safe to print.

    Escape sequences are removed, of a progress bar's `\\r` frames the last stays, other control characters
    become visible glyphs, C1, bidi and invisible ones U+FFFD; the text ends with `…` past `limit` characters.
    """
    if isinstance(text, bytes):
        text = (
            text[: 4 * limit + 4].decode("utf-8", "replace")
            if len(text) > 4 * limit
            else text.decode("utf-8", "replace")
        )
    text = text[: max(MOST_READ, 4 * limit)]
    if len(text) <= limit and not _SUSPECT.search(text):
        return CleanText(text)
    text = _SEQUENCES.sub("", text)
    text = _last_frame(text)
    text = _COMBINING_FLOOD.sub(r"\1", text.translate(_CONTROLS))
    return CleanText(text if len(text) <= limit else text[: limit - 1] + "…")


def _last_frame(text: str) -> str:
    """What a terminal would show of `old\\rnew`: the last segment that is not empty."""
    if "\r" not in text:
        return text
    return next((frame for frame in reversed(text.split("\r")) if frame), "")


def clean_lines(text: str | bytes, limit: int = MAX_CHARS) -> list[CleanText]:
    """Several lines of remote text, each cleaned."""
    if isinstance(text, bytes):
        text = text.decode("utf-8", "replace")
    return [clean(line, limit) for line in text.split("\n")]


def clean_tree(data: Any, limit: int = MAX_CHARS) -> Any:
    """The same JSON data with every string, keys included, cleaned."""
    if isinstance(data, str):
        return clean(data, limit)
    if isinstance(data, list):
        return [clean_tree(item, limit) for item in data]
    if isinstance(data, dict):
        return {clean(key, limit): clean_tree(item, limit) for key, item in data.items()}
    return data
