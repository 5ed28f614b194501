"""Whether speculation was seen to be exact, per box and pair: `$XDG_STATE_HOME/gpudeck/exactness.json`.

A pair is a target at a revision with its drafter, algorithm, tree and version: the key that the drafter gate tells.
The evidence is in the two stored runs that each entry names.
"""

from __future__ import annotations

import msgspec

from console.config import paths

EXACT_PROMPTS = 50  # greedy answers equal to the autoregressive baseline's that lift `inexact_verification`


class Exactness(msgspec.Struct, frozen=True, kw_only=True):
    """Greedy answers of a speculative run that equal those of the autoregressive one, of `prompts` compared."""

    run: str
    baseline: str
    prompts: int
    equal: int

    @property
    def exact(self) -> bool:
        """All equal, and enough of them."""
        return self.equal == self.prompts >= EXACT_PROMPTS


def exactness_of(host: str, pair: str) -> Exactness | None:
    """What was compared last; None when nothing was, or for a server whose pair is not known (empty)."""
    return _read().get(host, {}).get(pair) if pair else None


def remember_exactness(host: str, pair: str, seen: Exactness) -> None:
    """Keep it in place of what was compared before. Raises OSError."""
    table = _read()
    table.setdefault(host, {})[pair] = seen
    paths.write_private(paths.home_dir("state") / "exactness.json", msgspec.json.encode(table))


def _read() -> dict[str, dict[str, Exactness]]:
    try:
        content = (paths.home_dir("state") / "exactness.json").read_bytes()
        return msgspec.json.decode(content, type=dict[str, dict[str, Exactness]])
    except (OSError, msgspec.MsgspecError):
        return {}
