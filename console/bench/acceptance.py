"""Speculative decoding: accept length, acceptance per position, speed-up, crossover.

Accept length = 1 + Σcorrect/Σverify, pooled over the requests of this run. SGLang's per-request field counts the
prefill's token as well, its server-wide value counts since the start of the server: neither is used as a result.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

import msgspec

from console.bench.stats import Number
from console.bench.timeline import Speculation
from console.values import Unknown

NO_VERIFY = Unknown("no verify steps were counted")


class Acceptance(msgspec.Struct, frozen=True):
    """Pooled acceptance. `rate` is accepted over proposed; `marginal[j]` = P(at least j+1 drafts accepted)."""

    verify: int
    correct: int
    proposed: int
    accept_length: Number
    rate: Number
    marginal: tuple[float, ...] = ()
    conditional: tuple[float | None, ...] = ()
    full_block_share: Number = Unknown("no histogram was sent")


def pool(counters: Sequence[Speculation]) -> Acceptance:
    """Numerators and denominators are summed over requests; a mean of per-request lengths would be wrong."""
    verify, correct = sum(c.verify for c in counters), sum(c.correct for c in counters)
    proposed = sum(c.proposed for c in counters)
    length: Number = 1 + correct / verify if verify else NO_VERIFY
    rate: Number = correct / proposed if proposed else Unknown("no proposals were counted")
    marginal = _marginal(_merge([c.hist for c in counters]))
    conditional = tuple(
        value / before if before else None for before, value in zip((1.0, *marginal), marginal, strict=False)
    )
    full: Number = marginal[-1] if marginal else Unknown("no histogram was sent")
    return Acceptance(verify, correct, proposed, length, rate, marginal, conditional, full)


def from_histogram(hist: Sequence[int], k: int) -> Acceptance:
    """From `hist[i]` = verify steps that accepted i of k drafts."""
    verify, correct = sum(hist), sum(i * steps for i, steps in enumerate(hist))
    return pool([Speculation(verify, correct, verify * k, tuple(hist))])


def _merge(histograms: Sequence[tuple[int, ...]]) -> list[int]:
    """One histogram of all requests; nothing when a request sent none, since half a histogram would lie."""
    if not histograms or not all(histograms):
        return []
    width = max(len(hist) for hist in histograms)
    return [sum(hist[i] for hist in histograms if i < len(hist)) for i in range(width)]


def _marginal(hist: Sequence[int]) -> tuple[float, ...]:
    total = sum(hist)
    if not total:
        return ()
    at_least = list(accumulate(reversed(hist)))[::-1]
    return tuple(steps / total for steps in at_least[1:])


def server_field(completion_tokens: int, verify: int) -> Number:
    """SGLang's `spec_accept_length` of one request, for contrast: biased up by the prefill's token."""
    return completion_tokens / verify if verify else NO_VERIFY


class Timed(msgspec.Struct, frozen=True):
    """A prompt (or a category) with its tokens and both speeds in tokens per second."""

    tokens: float
    spec_tps: float
    ar_tps: float


class SpeedUp(msgspec.Struct, frozen=True):
    """`speedup` is by total time; the other two are what other reports print."""

    speedup: Number
    ratio_of_means: Number
    mean_of_ratios: Number


def speedup(prompts: Sequence[Timed]) -> SpeedUp:
    """Σ tokens/ar_tps ÷ Σ tokens/spec_tps."""
    if not prompts or any(p.spec_tps <= 0 or p.ar_tps <= 0 for p in prompts):
        missing = Unknown("a speed is missing")
        return SpeedUp(missing, missing, missing)
    return SpeedUp(
        sum(p.tokens / p.ar_tps for p in prompts) / sum(p.tokens / p.spec_tps for p in prompts),
        sum(p.spec_tps for p in prompts) / sum(p.ar_tps for p in prompts),
        sum(p.spec_tps / p.ar_tps for p in prompts) / len(prompts),
    )


def modelled_speedup(accept_length: float, draft_cost: float, verify_cost: float) -> float:
    """Sanity model: accept length / (draft cost + verify cost), costs in autoregressive steps of the same batch."""
    return accept_length / (draft_cost + verify_cost)


def crossover(points: Sequence[tuple[int, float]]) -> int | None:
    """The first concurrency from which the speed-up stays below 1.0 to the end of the sweep."""
    result: int | None = None
    for concurrency, gain in sorted(points, reverse=True):
        if gain >= 1.0:
            break
        result = concurrency
    return result
