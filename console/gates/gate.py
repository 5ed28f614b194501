"""The answer of a gate: one record for all gates, which is also the fact that the record keeps."""

from __future__ import annotations

from console.events.plan import Gate, GateName, Verdict

__all__ = ["RANK", "Gate", "GateName", "Verdict"]

# How bad a verdict is: the worst of several is the one that counts.
RANK: dict[Verdict, int] = {"pass": 0, "warn": 1, "unknown": 2, "block": 3}
