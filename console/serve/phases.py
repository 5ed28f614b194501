"""The phases of a server's life, in order, and the advance through them."""

from __future__ import annotations

from console.events.serve import ServerPhase

Phase = ServerPhase

# The order in which one start walks through them; the draft model's block repeats KV and graphs after its weights.
TARGET_BLOCK: tuple[Phase, ...] = ("imports", "distributed", "weights", "kv", "graphs")
DRAFT_BLOCK: tuple[Phase, ...] = ("draft_weights", "kv", "graphs")
STARTING: frozenset[Phase] = frozenset(
    ("spawn", "imports", "distributed", "weights", "draft_weights", "kv", "graphs", "warmup")
)

# What a record starts, in the target's block and in the draft's.
_STARTS: dict[str, tuple[Phase, Phase]] = {
    "dist_begin": ("distributed", "draft_weights"),
    "weights_begin": ("weights", "draft_weights"),
    "weights_end": ("kv", "kv"),
    "kv": ("kv", "kv"),
    "graph_begin": ("graphs", "graphs"),
}


def phase_of(kind: str, draft: bool) -> Phase | None:
    """The phase that a record of this kind says a rank is in."""
    if kind in ("summary", "listening"):
        return "warmup"
    starts = _STARTS.get(kind)
    return starts[draft] if starts else None


def place(phase: Phase, draft: bool) -> int:
    """A number that only grows during a start: a slower rank's line never moves the server back."""
    if phase == "spawn":
        return -1
    if phase == "warmup":
        return len(TARGET_BLOCK) + len(DRAFT_BLOCK)
    return len(TARGET_BLOCK) + DRAFT_BLOCK.index(phase) if draft else TARGET_BLOCK.index(phase)
