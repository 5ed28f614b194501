"""Readings in a row of one server: rates, staleness, and the moment when it answers no more."""

from __future__ import annotations

from console.events.serve import ServerGauged, ServerUnproved
from console.serve.gauges import Gauges
from console.serve.live import Live, live
from console.values import CleanText, clean

MISSES = 3  # unanswered questions in a row until a ready server counts as unproved


class Gauging:
    """Feed it every reading, None when nobody answered."""

    def __init__(self, host: str, server: CleanText) -> None:
        self._host, self._server = host, server
        self._before: Gauges | None = None
        self._before_s = 0.0
        self._misses = 0

    def take(self, gauges: Gauges | None, now_s: float) -> list[ServerGauged | ServerUnproved]:
        if gauges is None:
            self._misses += 1
            if self._misses != MISSES:
                return []
            return [ServerUnproved(host=self._host, server=self._server, sentence=clean("it answers no more"))]
        self._misses = 0
        judged = live(self._before, gauges, now_s - self._before_s)
        self._before, self._before_s = gauges, now_s
        return [_fact(self._host, self._server, judged)]


def _fact(host: str, server: CleanText, judged: Live) -> ServerGauged:
    gauges = judged.gauges
    return ServerGauged(
        host=host,
        server=server,
        source=gauges.source,
        running=gauges.running,
        queued=gauges.queued,
        gen_tok_s=gauges.gen_tok_s,
        kv_ratio=gauges.kv_ratio,
        cache_hit_ratio=gauges.cache_hit_ratio,
        accept_length=gauges.accept_length,
        max_running=gauges.max_running,
        idle=judged.idle,
        stale=tuple(clean(name) for name in judged.stale),
    )
