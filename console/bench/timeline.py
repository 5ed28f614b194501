"""One request as it was seen by the client, and the latencies that follow from it.

`t0`: request bytes handed to the socket; token events `(t, n)`: arrival and number of *new* tokens. Events without
tokens (role prelude, usage, `[DONE]`, pings) are no token events. Times are seconds of one clock.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from console.bench.stats import Number
from console.values import Unknown, known

NO_TOKENS = Unknown("no token arrived")
ONE_EVENT = Unknown("the whole answer came in one event")
NO_USAGE = Unknown("the server sent no usage")
ANSWER_KINDS = frozenset({"content", "tool"})


class Speculation(msgspec.Struct, frozen=True):
    """One request's counters: verify steps, drafts accepted, drafts proposed, `hist[i]` = steps that accepted i."""

    verify: int
    correct: int
    proposed: int = 0
    hist: tuple[int, ...] = ()


class Request(msgspec.Struct, frozen=True):
    """A request's timeline. `first_answer` is the index of the first token event that is not reasoning."""

    t0: float
    times: tuple[float, ...]
    tokens: tuple[int, ...]
    first_answer: int | Unknown
    sched: float | Unknown = Unknown("not scheduled")
    ended: float | Unknown = Unknown("still running")
    usage: int | Unknown = NO_USAGE
    requested: int = 0
    finish: str = ""
    http: int = 200
    error: str = ""
    ignore_eos: bool = False
    cut: bool = False
    prompt_tokens: int | Unknown = NO_USAGE
    cached_tokens: int | Unknown = NO_USAGE
    speculation: Speculation | Unknown = Unknown("no speculation counters")
    category: str = ""

    @classmethod
    def from_events(
        cls, t0: float, events: Iterable[tuple[float, int, str]], usage: int | Unknown, **rest: object
    ) -> Request:
        """From `(t, new tokens, kind)` events of any kind."""
        kept = [(t, n, kind) for t, n, kind in events if n > 0]
        answer = next((i for i, event in enumerate(kept) if event[2] in ANSWER_KINDS), Unknown("no answer token"))
        times, tokens = tuple(event[0] for event in kept), tuple(event[1] for event in kept)
        return cls(t0, times, tokens, answer, usage=usage, **rest)  # type: ignore[arg-type]


class Latencies(msgspec.Struct, frozen=True):
    """Seconds and tokens per second of one request; the formulas are in `latencies`."""

    queue: float
    output_tokens: int
    token_events: int
    token_mismatch: bool
    usage_missing: bool
    ttft: Number = NO_TOKENS
    ttfo: Number = NO_TOKENS
    e2e: Number = NO_TOKENS
    tpot: Number = NO_TOKENS
    tpot_decode: Number = NO_TOKENS
    tpot_incl_first: Number = NO_TOKENS
    ttft_from_sched: Number = NO_TOKENS
    e2e_from_sched: Number = NO_TOKENS
    user_tps_decode: Number = NO_TOKENS
    user_tps_e2e: Number = NO_TOKENS
    tokens_per_event: Number = NO_TOKENS


def output_tokens(request: Request) -> int:
    """Usage wins over the events; the requested length is never used."""
    return request.usage if known(request.usage) else sum(request.tokens)


def _ratio(top: float, bottom: float, why: Unknown) -> Number:
    return top / bottom if bottom > 0 else why


def latencies(request: Request) -> Latencies:
    """TTFT = tf - t0, E2E = tl - t0, TPOT = (tl - tf)/(O - 1), `tpot_decode` = (tl - tf)/(O - n1).

    O is the usage, else the tokens of the events; tf, tl the first and last token event, n1 the tokens of the
    first one. `*_from_sched` start at the scheduled time, `tpot_incl_first` = (tl - t0)/O is what guidellm calls TPOT.
    """
    total, counted, sent = output_tokens(request), sum(request.tokens), request.t0
    sched = request.sched if known(request.sched) else sent
    mismatch = known(request.usage) and request.usage != counted
    if not request.times:
        return Latencies(sent - sched, total, 0, mismatch, not known(request.usage))
    first, last = request.times[0], request.times[-1]
    several = len(request.times) > 1
    tpot = _ratio(last - first, total - 1, ONE_EVENT) if several else ONE_EVENT
    answer = request.first_answer
    return Latencies(
        ttft=first - sent,
        ttfo=request.times[answer] - sent if known(answer) else answer,
        e2e=last - sent,
        tpot=tpot,
        tpot_decode=_ratio(last - first, total - request.tokens[0], ONE_EVENT) if several else ONE_EVENT,
        tpot_incl_first=_ratio(last - sent, total, NO_TOKENS),
        ttft_from_sched=first - sched,
        e2e_from_sched=last - sched,
        user_tps_decode=_ratio(1.0, tpot, Unknown("TPOT is zero")) if known(tpot) else tpot,
        user_tps_e2e=_ratio(total, last - sent, Unknown("E2E is zero")),
        tokens_per_event=counted / len(request.times),
        queue=sent - sched,
        output_tokens=total,
        token_events=len(request.times),
        token_mismatch=mismatch,
        usage_missing=not known(request.usage),
    )


def chunk_gaps(request: Request) -> list[float]:
    """ICL: the time between consecutive token events. Shows stalls; it is not a time per token."""
    return [later - earlier for earlier, later in zip(request.times, request.times[1:], strict=False)]


def token_gaps(request: Request) -> list[float]:
    """ITL (spread): each event after the first gives n samples of gap/n, so that their mean is TPOT."""
    gaps: list[float] = []
    for gap, tokens in zip(chunk_gaps(request), request.tokens[1:], strict=True):
        gaps.extend([gap / tokens] * tokens)
    return gaps


def failure(request: Request) -> str:
    """Why the request did not succeed; empty for success.

    Success: HTTP 200 and a finish reason and at least one token and, under ignore_eos, finish `length` with
    exactly the requested tokens. A stream that just ends is a failure, whatever the status said.
    """
    if request.error:
        return request.error
    if request.http != 200:
        return f"http_{request.http}"
    if not request.finish:
        return "no_finish_reason"
    if request.finish == "abort":
        return "aborted"
    if output_tokens(request) < 1:
        return "no_tokens"
    if request.ignore_eos and request.finish != "length":
        return "early_eos"
    if request.ignore_eos and output_tokens(request) != request.requested:
        return "wrong_length"
    return ""


def pooled(requests: Sequence[Request], a: float, b: float) -> tuple[list[float], list[float]]:
    """ICL and ITL samples whose later event lies in [a, b), pooled over requests."""
    icl: list[float] = []
    itl: list[float] = []
    for request in requests:
        for i in range(1, len(request.times)):
            if a <= request.times[i] < b:
                gap, tokens = request.times[i] - request.times[i - 1], request.tokens[i]
                icl.append(gap)
                itl.extend([gap / tokens] * tokens)
    return icl, itl
