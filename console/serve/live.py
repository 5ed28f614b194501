"""Live gauges from two readings in a row: rates from counters, and what froze is marked stale.

SGLang refreshes its gauges only while it works: 18 s of idling left `num_running_reqs` at 1 and the throughput at
523. The decoded-tokens counter tells: when it stands still, the gauges beside it are old.
"""

from __future__ import annotations

import msgspec

from console.serve.gauges import Gauges
from console.values import Unknown, known


class Live(msgspec.Struct, frozen=True, kw_only=True):
    """What the live pane shows. `stale` names the gauges that froze; `idle`: nothing runs."""

    gauges: Gauges
    idle: bool | Unknown
    stale: tuple[str, ...] = ()


_FROZEN = ("running", "queued", "gen_tok_s", "kv_ratio", "accept_length", "cache_hit_ratio")


def live(before: Gauges | None, now: Gauges, elapsed_s: float) -> Live:
    """Judge a reading by the one before it, `elapsed_s` seconds earlier and of the same source."""
    if now.source == "loads":  # computed when asked: only the throughput is from the last decode
        idle = known(now.running) and known(now.queued) and now.running == 0 and now.queued == 0
        return Live(gauges=msgspec.structs.replace(now, gen_tok_s=0.0) if idle else now, idle=idle)
    if now.source == "get_load":
        return Live(gauges=now, idle=now.running == 0 if known(now.running) else now.running)
    if before is None or before.source != now.source or elapsed_s <= 0:
        return Live(gauges=now, idle=Unknown("one reading only"))
    if not known(now.tokens_decoded) or not known(before.tokens_decoded):
        return Live(gauges=now, idle=Unknown("no token counter"))
    decoded = now.tokens_decoded - before.tokens_decoded
    if decoded > 0:
        return Live(gauges=msgspec.structs.replace(now, gen_tok_s=decoded / elapsed_s), idle=False)
    if decoded < 0:
        return Live(gauges=now, idle=Unknown("the server was restarted"))
    frozen = tuple(name for name in _FROZEN if known(getattr(now, name)))
    return Live(gauges=now, idle=True, stale=frozen)
