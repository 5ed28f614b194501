"""What a running server says of its load, from whichever of its sources answers.

`/v1/loads` (0.5.23; a 500 in some 0.5.11), `/metrics`, `/get_load` (0.5.11), the log's batch lines. A gauge that a
source does not have is Unknown. Several data-parallel ranks are added up; ratios are weighted by tokens.
"""

from __future__ import annotations

import re
from typing import Any, Literal

import msgspec

from console.serve.record import Record
from console.values import Unknown, known

Source = Literal["loads", "metrics", "get_load", "log"]
_ABSENT = Unknown("this source does not have it")
_SAMPLE = re.compile(r"^sglang[:_](\w+)(?:\{([^}]*)\})? ([-+\w.]+)$", re.MULTILINE)
_LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')


class Gauges(msgspec.Struct, frozen=True, kw_only=True):
    """One reading. Throughput in tokens/s, ratios 0…1, `tokens_decoded` a counter since the server's start."""

    source: Source
    running: int | Unknown = _ABSENT
    queued: int | Unknown = _ABSENT
    gen_tok_s: float | Unknown = _ABSENT
    kv_ratio: float | Unknown = _ABSENT
    kv_used_tokens: int | Unknown = _ABSENT
    kv_total_tokens: int | Unknown = _ABSENT
    cache_hit_ratio: float | Unknown = _ABSENT
    accept_length: float | Unknown = _ABSENT
    max_running: int | Unknown = _ABSENT
    tokens_decoded: int | Unknown = _ABSENT


def read_loads(body: Any) -> Gauges | None:
    """`/v1/loads`; None when the body is not of that kind."""
    loads = body.get("loads") if isinstance(body, dict) else None
    if not isinstance(loads, list) or not loads or not all(isinstance(load, dict) for load in loads):
        return None
    used, total = _total(loads, "num_used_tokens"), _total(loads, "max_total_num_tokens")
    return Gauges(
        source="loads",
        running=_whole(_total(loads, "num_running_reqs")),
        queued=_whole(_total(loads, "num_waiting_reqs")),
        gen_tok_s=_total(loads, "gen_throughput"),
        kv_ratio=_ratio(used, total),
        kv_used_tokens=_whole(used),
        kv_total_tokens=_whole(total),
        cache_hit_ratio=_mean(loads, "cache_hit_rate"),
        accept_length=_accepted(_mean([load.get("speculative") or {} for load in loads], "accept_length")),
        max_running=_whole(_total(loads, "max_running_requests")),
    )


def read_get_load(body: Any) -> Gauges | None:
    """`/get_load`: `num_reqs` counts the waiting ones, too."""
    if not isinstance(body, list) or not body or not all(isinstance(load, dict) for load in body):
        return None
    requests, waiting = _total(body, "num_reqs"), _total(body, "num_waiting_reqs")
    running = requests - waiting if known(requests) and known(waiting) else _ABSENT
    return Gauges(
        source="get_load",
        running=_whole(running),
        queued=_whole(waiting),
        kv_used_tokens=_whole(_total(body, "num_tokens")),
    )


def read_metrics(text: str) -> Gauges | None:
    """`/metrics` in Prometheus text; every tensor-parallel rank repeats the same, so rank 0 counts."""
    values: dict[str, list[float]] = {}
    for name, labels, value in _SAMPLE.findall(text):
        if name in _METRICS and _first_rank(name, dict(_LABEL.findall(labels))):
            values.setdefault(name, []).append(float(value))
    if not values:
        return None
    added = {name: sum(found) for name, found in values.items()}
    used, total = added.get("num_used_tokens", _ABSENT), added.get("max_total_num_tokens", _ABSENT)
    accept = values.get("spec_accept_length")
    hits = values.get("cache_hit_rate")
    return Gauges(
        source="metrics",
        running=_whole(added.get("num_running_reqs", _ABSENT)),
        queued=_whole(added.get("num_queue_reqs", _ABSENT)),
        gen_tok_s=added.get("gen_throughput", _ABSENT),
        kv_ratio=_ratio(used, total),
        kv_used_tokens=_whole(used),
        kv_total_tokens=_whole(total),
        cache_hit_ratio=sum(hits) / len(hits) if hits else _ABSENT,
        accept_length=_accepted(sum(accept) / len(accept)) if accept else _ABSENT,
        tokens_decoded=_whole(added.get("realtime_tokens_total", _ABSENT)),
    )


def read_log(decode: Record | None, averaged_over_gap: bool = False) -> Gauges | None:
    """The last decode line. The first one after idling averages over the gap: its throughput is dropped."""
    if decode is None:
        return None
    values = decode.fields
    return Gauges(
        source="log",
        running=values.get("running", _ABSENT),
        queued=values.get("queue", _ABSENT),
        gen_tok_s=Unknown("first line after idling") if averaged_over_gap else values.get("tok_s", _ABSENT),
        kv_ratio=values.get("token_usage", values.get("full_token_usage", _ABSENT)),
        kv_used_tokens=values.get("token", values.get("full_token", _ABSENT)),
        accept_length=_accepted(values.get("accept_len", _ABSENT)),
    )


def _accepted(length: float | Unknown) -> float | Unknown:
    """SGLang says 0 until something was drafted; an accept length is at least 1."""
    return Unknown("nothing was drafted yet") if known(length) and not length else length


_METRICS = frozenset((
    "num_running_reqs", "num_queue_reqs", "gen_throughput", "num_used_tokens", "max_total_num_tokens",
    "cache_hit_rate", "spec_accept_length", "realtime_tokens_total",
))  # fmt: skip


def _first_rank(name: str, labels: dict[str, str]) -> bool:
    if name == "realtime_tokens_total" and labels.get("mode") != "decode":
        return False
    return labels.get("tp_rank", "0") == "0" and labels.get("pp_rank", "0") == "0"


def _numbers(loads: list[dict[str, Any]], name: str) -> list[float]:
    found = (load.get(name) for load in loads)
    return [value for value in found if isinstance(value, int | float) and not isinstance(value, bool)]


def _total(loads: list[dict[str, Any]], name: str) -> float | Unknown:
    numbers = _numbers(loads, name)
    return sum(numbers) if len(numbers) == len(loads) else _ABSENT


def _mean(loads: list[dict[str, Any]], name: str) -> float | Unknown:
    numbers = _numbers(loads, name)
    return sum(numbers) / len(numbers) if numbers else _ABSENT


def _ratio(used: float | Unknown, total: float | Unknown) -> float | Unknown:
    if not known(used) or not known(total) or total <= 0:
        return _ABSENT
    return used / total


def _whole(value: float | Unknown) -> int | Unknown:
    return int(value) if known(value) else value
