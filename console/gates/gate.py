"""The answer of a gate: one record for all gates, which is also the fact that the record keeps."""

from __future__ import annotations

from console.events.plan import Gate, GateName, Verdict

__all__ = ["Gate", "GateName", "Verdict"]
