"""A scenario of the demo that was played headless."""

from __future__ import annotations

from typing import Any, NamedTuple


class Told(NamedTuple):
    """How it ended, its last line, its captions, and the facts of its recording by `seq`."""

    code: int
    last: dict[str, Any]
    captions: str
    facts: dict[int, tuple[str, dict[str, Any]]]

    def prevented(self) -> list[str]:
        """The facts that the last line names, as `Kind` or `GateChecked name state`."""
        return [_short(*self.facts[seq]) for seq in self.last["prevented"]]


def _short(kind: str, fields: dict[str, Any]) -> str:
    gate = fields.get("gate")
    return f"{kind} {gate['name']} {gate['state']}" if gate else kind
