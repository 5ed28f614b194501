"""What earlier starts took and measured, per box and recipe: `$XDG_STATE_HOME/gpudeck/starts.json`, a cache of facts.

The time that a start still takes is told from these, and the next plan is compared with what the last one measured.
"""

from __future__ import annotations

import msgspec

from console.config import paths

KEPT = 5


class Start(msgspec.Struct, frozen=True, kw_only=True):
    """One start that became ready: seconds per phase, and what it measured per GPU (GiB, tokens)."""

    job: str
    phases_s: dict[str, float]
    actuals: dict[str, float]


Starts = dict[str, dict[str, tuple[Start, ...]]]


def earlier_starts(host: str, recipe: str) -> tuple[Start, ...]:
    """The last few, the newest last; none when nothing is remembered."""
    return _read().get(host, {}).get(recipe, ())


def remember_start(host: str, recipe: str, start: Start) -> None:
    """Keep a start; the same job again replaces what it said before. Raises OSError."""
    starts = _read()
    others = tuple(one for one in earlier_starts(host, recipe) if one.job != start.job)
    starts.setdefault(host, {})[recipe] = (*others, start)[-KEPT:]
    paths.write_private(paths.home_dir("state") / "starts.json", msgspec.json.encode(starts))


def _read() -> Starts:
    try:
        return msgspec.json.decode((paths.home_dir("state") / "starts.json").read_bytes(), type=Starts)
    except (OSError, msgspec.MsgspecError):
        return {}
