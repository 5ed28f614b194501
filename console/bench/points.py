"""A measured point, and what has to be known beside the timelines to make one. Units are in the names."""

from __future__ import annotations

from typing import Any

import msgspec

from console.bench.flags import blocking
from console.bench.stats import Number
from console.values import Unknown, known, to_json

NOT_TOLD = Unknown("not told by the tool")


class Percentiles(msgspec.Struct, frozen=True):
    """Milliseconds."""

    p50: Number = NOT_TOLD
    p95: Number = NOT_TOLD
    p99: Number = NOT_TOLD


class Category(msgspec.Struct, frozen=True):
    """Requests of one kind of prompt. `busy_s` is the sum of their E2E."""

    requests: int
    tokens: int
    user_tok_s: Number
    busy_s: float
    accept_length: Number


class Context(msgspec.Struct, frozen=True):
    """What the console knows of a run beside the worker's files. `slo`: seconds by `ttft`, `tpot`, `e2e`."""

    gpus: int | Unknown = Unknown("the GPUs of the server are not known")
    slo: dict[str, float] = {}
    drafter: bool = False
    dataset_class: str = "real"
    cache_preset: str = "cold"
    ignore_eos: bool = True
    dummy_weights: bool = False
    recurrent_tree: bool = False


class Point(msgspec.Struct, frozen=True):
    """One (concurrency, repeat) of a run. `accept_counts`: verify steps, accepted, proposed drafts."""

    concurrency: int
    repeat: int
    window_s: Number
    requests: int
    failed: int | Unknown
    output_tok_s: Number
    name: str = ""
    variant: str = ""
    rate: Number = Unknown("closed loop")
    tokens: int | Unknown = NOT_TOLD
    output_tok_s_ci: tuple[float, float] | Unknown = NOT_TOLD
    total_tok_s: Number = NOT_TOLD
    tok_s_gpu: Number = NOT_TOLD
    peak_tok_s: Number = NOT_TOLD
    user_tok_s: Number = NOT_TOLD
    user_tok_s_p10: Number = NOT_TOLD
    ttft_ms: Percentiles = Percentiles()
    ttfo_ms: Percentiles = Percentiles()
    tpot_ms: Percentiles = Percentiles()
    itl_ms: Percentiles = Percentiles()
    icl_ms: Percentiles = Percentiles()
    e2e_ms: Percentiles = Percentiles()
    queued_ttft_ms: Percentiles = Percentiles()
    queued_e2e_ms: Percentiles = Percentiles()
    concurrency_mean: Number = NOT_TOLD
    concurrency_peak: int | Unknown = NOT_TOLD
    request_s: Number = NOT_TOLD
    accept_length: Number = NOT_TOLD
    accept_ratio: Number = NOT_TOLD
    accepted_per_position: tuple[float, ...] | Unknown = NOT_TOLD
    accept_counts: tuple[int, int, int] = (0, 0, 0)
    goodput_req_s: Number = NOT_TOLD
    attainment_ratio: Number = NOT_TOLD
    energy_j_tok: Number = NOT_TOLD
    flags: tuple[str, ...] = ()
    causes: tuple[str, ...] = ()
    categories: dict[str, Category] = {}
    aborted: bool = False

    @property
    def condition(self) -> str:
        """What tells it from other points of its concurrency: the sampling, the offered rate."""
        return " ".join(filter(None, (self.variant, f"{self.rate:g}/s" if known(self.rate) else "")))

    @property
    def offered(self) -> float:
        """What the load is turned up by: requests a second in open loop, else users at once."""
        return self.rate if known(self.rate) else float(self.concurrency)

    @property
    def counts(self) -> bool:
        """May win: it ran to its end and no flag blocks it."""
        return not self.aborted and not blocking(self.flags)


class PointHead(msgspec.Struct, frozen=True):
    """What a list of runs needs of a point: read in a fifth of the time."""

    concurrency: int
    output_tok_s: Number
    flags: tuple[str, ...] = ()
    aborted: bool = False
    name: str = ""

    @property
    def counts(self) -> bool:
        """As of a whole point."""
        return not self.aborted and not blocking(self.flags)


def point_json(point: Point) -> dict[str, Any]:
    """The point of `gpudeck.run/1`: an unknown is null with its reason beside it."""
    plain: dict[str, Any] = to_json(point)
    return plain
