"""One record of SGLang's log: what a line says, as data."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

import msgspec

from console.values import CleanText

Level = Literal["info", "warning", "error"]

_ERROR_KINDS = frozenset(("exception", "error", "cli_error", "child_exit"))
_ERROR_STARTS = ("ERROR", "CRITICAL", "Traceback (most recent call last)")


class Record(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """One line or one progress frame.

    `stamp` is the box's local time as printed, `ranks` the parallel ranks of a stamped line. `text` is the message
    without its stamp. `fields` are the values of this kind: `_s` seconds, `_gb` what SGLang prints as GB (GiB).
    """

    kind: str
    stamp: str | None
    ranks: dict[str, int]
    fields: dict[str, Any]
    text: CleanText

    @property
    def rank(self) -> str:
        """The rank suffix as printed: `TP1`, `DP0 TP3`, empty when there is one rank."""
        return " ".join(f"{name}{number}" for name, number in self.ranks.items())

    @property
    def level(self) -> Level:
        """SGLang prints no levels; this is what a reader wants to find."""
        if self.kind in _ERROR_KINDS or self.text.startswith(_ERROR_STARTS):
            return "error"
        if "Warning" in self.text or "warning" in self.text or "deprecated" in self.text:
            return "warning"
        return "info"


def seconds_between(begin: str, end: str) -> float:
    """Seconds between two stamps of one log (its clock has whole seconds and no zone)."""
    return (datetime.fromisoformat(end) - datetime.fromisoformat(begin)).total_seconds()
