"""How long a start still takes, from earlier starts of the same treatment on the same box."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median

from console.serve.phases import Phase
from console.serve.record import seconds_between
from console.serve.story import Story
from console.values import Unknown

# In the order of a start. The drafter's KV and graphs count to its block's one name in the sums below.
_ORDER: tuple[Phase, ...] = ("spawn", "imports", "distributed", "weights", "kv", "graphs", "draft_weights", "warmup")

PhaseSeconds = Mapping[str, float]


def phase_seconds(story: Story, launched: str | None = None) -> dict[str, float]:
    """Seconds spent in each phase that has ended, by the log's stamps; `launched`: the stamp of the launch.

    The drafter's block counts as `draft_weights`; warm-up ends at the ready line.
    """
    marks = [
        (("draft_weights" if one.draft and one.phase != "warmup" else one.phase), one.begin) for one in story.phases
    ]
    marks = [(name, launched if name == "imports" else begin) for name, begin in marks]
    ends = [begin for _, begin in marks[1:]] + [story.ready_stamp]
    seconds: dict[str, float] = {}
    for (name, begin), end in zip(marks, ends, strict=True):
        if begin is not None and end is not None:
            seconds[name] = seconds.get(name, 0.0) + seconds_between(begin, end)
    return seconds


def remaining_s(phase: Phase, in_phase_s: float, earlier: Sequence[PhaseSeconds]) -> float | Unknown:
    """Seconds to ready: medians of the phases to come, and what the present one has left."""
    if not earlier:
        return Unknown("first start of this recipe here")
    if phase not in _ORDER:
        return Unknown(f"not starting: {phase}")
    later = _ORDER[_ORDER.index(phase) + 1 :]
    ahead = sum(median(start.get(name, 0.0) for start in earlier) for name in later)
    return ahead + max(0.0, median(start.get(phase, 0.0) for start in earlier) - in_phase_s)
