"""From the worker's timelines to a point: the one place where a measured number is made.

A request belongs to a closed-loop window when it ended inside it, to an open-loop window when it was scheduled
inside it. TTFT counts for requests whose first token came inside; tokens count wherever their event lies.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from console.bench import acceptance, stats, throughput
from console.bench.flags import ClientHealth, PointFacts, flags
from console.bench.points import Category, Context, Percentiles, Point
from console.bench.stats import Number
from console.bench.timeline import Latencies, Request, Speculation, failure, latencies, pooled
from console.values import Unknown, clean, known

MAX_POWER_GAP_S = 3.0
CROSS_CHECK_S = 5.0
SECOND = 1e-6


def read_requests(lines: Iterable[bytes], ignore_eos: bool) -> list[Request]:
    """Requests of a worker's file, times in seconds since the point's epoch."""
    return [_request(msgspec.json.decode(line), ignore_eos) for line in lines if line.strip()]


def _request(data: Mapping[str, Any], ignore_eos: bool) -> Request:
    spec = data["spec"]
    return Request(
        t0=data["t0"] * SECOND,
        times=tuple(t * SECOND for t in data["times"]),
        tokens=tuple(data["tokens"]),
        first_answer=_or(data["answer"], "the stream does not tell answer from reasoning"),
        sched=data["sched"] * SECOND if data["sched"] is not None else Unknown("not scheduled"),
        ended=data["ended"] * SECOND,
        usage=_or(data["usage"], "the server sent no usage"),
        requested=data["requested"],
        finish=clean(data["finish"]),
        http=data["http"],
        error=clean(data["error"]),
        ignore_eos=ignore_eos,
        cut=data["cut"],
        prompt_tokens=_or(data["prompt"], "the server sent no usage"),
        cached_tokens=_or(data["cached"], "the server reports no cached tokens"),
        speculation=Speculation(spec[0], spec[1], spec[2], tuple(spec[3])) if spec else NO_COUNTERS,
        category=clean(data["category"]),
    )


NO_COUNTERS = Unknown("no speculation counters")


def _or(value: Any, reason: str) -> Any:
    return Unknown(reason) if value is None else value


class Population(msgspec.Struct, frozen=True):
    """The requests of one window, sorted by what they are good for."""

    sent: list[Request]
    failed: list[Request]
    finished: list[Request]
    first_token: list[Request]


def population(requests: list[Request], a: float, b: float, open_loop: bool) -> Population:
    if open_loop:
        sent = [r for r in requests if known(r.sched) and a <= r.sched < b]
    else:
        sent = [r for r in requests if not r.cut and known(r.ended) and a <= _end(r) < b]
    judged = [r for r in sent if not r.cut]
    failed = [r for r in judged if failure(r)]
    finished = [r for r in judged if not failure(r)]
    first = [r for r in requests if r.times and a <= r.times[0] < b and (r.cut or not failure(r))]
    return Population(sent, failed, finished, first)


def _end(request: Request) -> float:
    return request.times[-1] if request.times else float(request.ended if known(request.ended) else request.t0)


def measure(result: Mapping[str, Any], requests: list[Request], context: Context) -> Point:
    """The point of a worker's result and its requests."""
    a, b = (t * SECOND for t in result["window"])
    open_loop = bool(result["rate"])
    people = population(requests, a, b, open_loop)
    seen = throughput.window(requests, a, b)
    each = [latencies(request) for request in people.finished]
    icl, itl = pooled(requests, a, b)
    ttft = [latencies(request).ttft for request in people.first_token]
    facts = _facts(result, people, context, seen.tps, b - a, (ttft, icl))
    raised = flags(facts)
    accept = acceptance.pool([r.speculation for r in people.finished if known(r.speculation)])
    good = _goodput(people, context, open_loop, b - a)
    intervals = [(r.t0, float(r.ended)) for r in requests if known(r.ended)]
    active = throughput.concurrency(intervals, a, b)
    entered = throughput.input_tokens(requests, a, b)
    power = _power(result, a, b, seen.tokens)
    user = _values(each, "user_tps_decode")
    return Point(
        name=result["name"],
        variant=result["variant"],
        concurrency=result["concurrency"],
        repeat=result["repeat"],
        rate=_or(result["rate"], "closed loop"),
        window_s=b - a,
        requests=len(people.finished),
        failed=len(people.failed),
        tokens=seen.tokens,
        output_tok_s=seen.tps,
        output_tok_s_ci=stats.batch_means(throughput.batches(requests, a, b)).ci,
        total_tok_s=(seen.tokens + entered) / (b - a) if known(entered) else entered,
        tok_s_gpu=seen.tps / context.gpus if known(context.gpus) else context.gpus,
        peak_tok_s=seen.peak_tps,
        user_tok_s=stats.percentile(user, 50),
        user_tok_s_p10=stats.percentile(user, 10),
        ttft_ms=_ms([value for value in ttft if known(value)]),
        ttfo_ms=_ms(_values(each, "ttfo")),
        tpot_ms=_ms(_values(each, "tpot")),
        itl_ms=_ms(itl),
        icl_ms=_ms(icl),
        e2e_ms=_ms(_values(each, "e2e")),
        queued_ttft_ms=_ms(_values(each, "ttft_from_sched")),
        queued_e2e_ms=_ms(_values(each, "e2e_from_sched")),
        concurrency_mean=active.mean,
        concurrency_peak=active.peak,
        request_s=len(people.finished) / (b - a),
        accept_length=accept.accept_length if accept.verify else NO_COUNTERS,
        accept_ratio=accept.rate if accept.verify else NO_COUNTERS,
        accepted_per_position=accept.marginal or Unknown("the server sent no histogram"),
        accept_counts=(accept.verify, accept.correct, accept.proposed),
        goodput_req_s=good.goodput,
        attainment_ratio=good.attainment,
        energy_j_tok=power.joules_per_token,
        flags=tuple(flag.name for flag in raised),
        causes=tuple(flag.cause for flag in raised),
        categories=_categories(people.finished),
        aborted=result["aborted"] or bool(result["gone"]),
    )


def _values(each: list[Latencies], name: str) -> list[float]:
    return [value for value in (getattr(item, name) for item in each) if known(value)]


def _ms(seconds: list[float]) -> Percentiles:
    values = stats.percentiles(seconds, (50, 95, 99))
    return Percentiles(*[value * 1000 if known(value) else value for value in values])


def _goodput(people: Population, context: Context, open_loop: bool, seconds: float) -> throughput.Goodput:
    """Open loop: the clock starts at the schedule, and what did not finish is a miss."""
    if not context.slo:
        none = Unknown("no service level was asked for")
        return throughput.Goodput(0, 0, none, none, {}, 0)
    finished = set(map(id, people.finished))
    judged = []
    for request in people.sent:
        seen = latencies(request)
        ttft, e2e = (seen.ttft_from_sched, seen.e2e_from_sched) if open_loop else (seen.ttft, seen.e2e)
        judged.append(throughput.Judged(id(request) in finished, ttft, seen.tpot, e2e))
    return throughput.goodput(judged, context.slo, seconds)


def _categories(finished: list[Request]) -> dict[str, Category]:
    """What the accept preset compares: per kind of prompt."""
    result = {}
    for name in sorted({request.category for request in finished}):
        own = [request for request in finished if request.category == name]
        seen = [latencies(request) for request in own]
        counters = [request.speculation for request in own if known(request.speculation)]
        result[name] = Category(
            requests=len(own),
            tokens=sum(item.output_tokens for item in seen),
            user_tok_s=stats.percentile(_values(seen, "user_tps_e2e"), 50),
            busy_s=sum(_values(seen, "e2e")),
            accept_length=acceptance.pool(counters).accept_length if counters else NO_COUNTERS,
        )
    return result


def _power(result: Mapping[str, Any], a: float, b: float, tokens: int) -> throughput.Energy:
    if not result["power"]:
        missing = Unknown(result["gpus_reason"] or "no power was sampled")
        return throughput.Energy(missing, missing)
    samples = [(t * SECOND, watts) for t, watts, _ in result["power"]]
    return throughput.energy(samples, a, b, tokens, len(result["gpus"]), MAX_POWER_GAP_S)


def _facts(
    result: Mapping[str, Any],
    people: Population,
    context: Context,
    tps: float,
    seconds: float,
    gaps: tuple[list[Number], list[float]],
) -> PointFacts:
    before, after = result["server_before"], result["server_after"]
    finished, (ttft, icl) = people.finished, gaps
    client = {key: value for key, value in result["client"].items() if value is not None}
    throttle = {name for _, _, names in result["power"] for name in names}
    median, p99 = stats.percentiles(icl, (50, 99))
    ends = [failure(request) for request in people.failed]
    return PointFacts(
        concurrency=result["concurrency"],
        sent=len(people.sent),
        failed=len(people.failed) - ends.count("early_eos"),
        finished=len(finished),
        prompt_tokens=_sum(finished, "prompt_tokens"),
        cached_tokens=_cached(finished, before["metrics"], after["metrics"]),
        cache_preset=context.cache_preset,
        ignore_eos=context.ignore_eos,
        stopped_early=ends.count("early_eos"),
        usage_missing=sum(latencies(request).usage_missing for request in finished),
        token_mismatch=sum(latencies(r).token_mismatch for r in finished) + ends.count("wrong_length"),
        client=msgspec.convert(
            {key: client[key] for key in ClientHealth.__struct_fields__ if key in client}, ClientHealth
        ),
        client_tps=tps,
        server_tps=_server_tps(result["window_metrics"], seconds, len(people.first_token), tps),
        ttft_p50_s=stats.percentile([value for value in ttft if known(value)], 50),
        icl_s=(median, stats.mean(icl), p99),
        stationary=result["stationary"],
        max_running_requests=_or(before["max_running_requests"], "the server did not say"),
        drafter=context.drafter,
        dataset_class=context.dataset_class,
        simulate_acc_len=before["simulate_acc_len"],
        throttle_reasons=tuple(sorted(throttle)),
        server_start_before=_or(before["process"], "the server's process cannot be seen"),
        server_start_after=_or(after["process"], "the server's process cannot be seen"),
        args_hash_before=_or(before["args_hash"], "no /server_info"),
        args_hash_after=_or(after["args_hash"], "no /server_info"),
        dummy_weights=context.dummy_weights,
        recurrent_tree=context.recurrent_tree,
    )


def _sum(requests: list[Request], name: str) -> int | Unknown:
    total = 0
    for request in requests:
        value: int | Unknown = getattr(request, name)
        if not known(value):
            return value
        total += value
    return total


def _cached(finished: list[Request], before: Mapping[str, float], after: Mapping[str, float]) -> int | Unknown:
    """Per request where the server tells it, else from its counter over the whole point."""
    told = _sum(finished, "cached_tokens")
    if known(told) or "cached_tokens_total" not in before or "cached_tokens_total" not in after:
        return told
    return round(after["cached_tokens_total"] - before["cached_tokens_total"])


def _server_tps(metrics: list[Mapping[str, float]], seconds: float, prefilled: int, tps: float) -> Number:
    """The server's own decoded tokens per second. Whether the prefill's token is among them differs by version and
    speculation (0.5.11: only without; 0.5.23 on a CPU: never): within one token a request it is the client's rate."""
    first, last = (page.get("decoded_total") for page in metrics)
    if first is None or last is None:
        return Unknown("the server has no metrics")
    if seconds < CROSS_CHECK_S:
        return Unknown("the window is too short to compare the rates")
    return min(max(tps, (last - first) / seconds), (last - first + prefilled) / seconds)
