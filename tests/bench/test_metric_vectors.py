"""Every vector of `metrics.json` through the public functions."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from console.bench import acceptance, comparable, stats, throughput, timeline
from console.bench.flags import ClientHealth, PointFacts, flags
from console.payloads.load import backends, sse
from console.values import Unknown, known

VECTORS = json.loads((Path(__file__).parent.parent / "vectors" / "metrics.json").read_text())["vectors"]
FLAG_NAMES = {
    "early_eos": "early_end",
    "n_too_small_for_p99": "few_samples",
    "random_dataset_with_drafter": "random_with_drafter",
    "gpu_throttled": "throttled",
    "config_changed_midway": "config_changed",
}


def or_unknown(value: Any) -> Any:
    return Unknown("null in the vector") if value is None else value


def a_request(data: dict[str, Any]) -> timeline.Request:
    rest = {key: data[key] for key in ("requested", "http", "ignore_eos") if key in data}
    return timeline.Request.from_events(
        data["t0"],
        [(t, n, kind) for t, n, kind in data["events"]],
        or_unknown(data.get("usage")),
        sched=or_unknown(data.get("sched")),
        finish=data.get("finish") or "",
        **rest,
    )


def run_request(data: dict[str, Any]) -> dict[str, Any]:
    request = a_request(data)
    result = {name: getattr(timeline.latencies(request), name) for name in timeline.Latencies.__struct_fields__}
    return {**result, "icl": timeline.chunk_gaps(request), "itl": timeline.token_gaps(request)}


def run_success(data: dict[str, Any]) -> dict[str, Any]:
    reason = timeline.failure(a_request(data))
    return {"ok": reason == "", "reason": reason}


def run_window(data: dict[str, Any]) -> dict[str, Any]:
    requests = [a_request(item) for item in data["requests"]]
    seen = throughput.window(requests, *data["window"])
    span = max(r.times[-1] for r in requests) - min(r.t0 for r in requests)
    return {**fields(seen), "naive_tps": sum(sum(r.tokens) for r in requests) / span}


def run_queue(data: dict[str, Any]) -> dict[str, Any]:
    """Open loop: the clock starts when a request should have started."""
    requests = [
        timeline.Request(t0=sent, times=(last,), tokens=(1,), first_answer=0, sched=sched)
        for sched, sent, last in data["requests"]
    ]
    each = [timeline.latencies(request) for request in requests]
    total = [seen.e2e_from_sched for seen in each]
    return {
        "service_mean": stats.mean([seen.e2e for seen in each]),
        "queue_mean": stats.mean([seen.queue for seen in each]),
        "e2e_from_sched_mean": stats.mean(total),
        "e2e_from_sched_p99": stats.percentile(total, 99),
    }


def run_goodput(data: dict[str, Any]) -> Any:
    judged = [throughput.Judged(**{k: or_unknown(v) for k, v in item.items()}) for item in data["requests"]]
    return throughput.goodput(judged, data["slo"], data["duration"])


def run_merge(data: dict[str, Any]) -> dict[str, Any]:
    pooled = [value for group in data["groups"] for value in group]
    each = [stats.percentile(group, data["p"]) for group in data["groups"]]
    return {"pooled": stats.percentile(pooled, data["p"]), "average_of_groups": stats.mean(each)}


def run_pooled(data: dict[str, Any]) -> dict[str, Any]:
    counters = [timeline.Speculation(**item) for item in data["requests"]]
    lengths = [acceptance.pool([counter]).accept_length for counter in counters]
    return {**fields(acceptance.pool(counters)), "mean_of_requests": stats.mean(lengths)}


def run_lifetime(data: dict[str, Any]) -> dict[str, Any]:
    before, run = timeline.Speculation(**data["before"]), timeline.Speculation(**data["run"])
    return {
        "lifetime": acceptance.pool([before, run]).accept_length,
        "run": acceptance.pool([run]).accept_length,
    }


def run_server_field(data: dict[str, Any]) -> dict[str, Any]:
    counter = timeline.Speculation(data["verify"], data["correct"])
    return {
        "server_field": acceptance.server_field(data["completion_tokens"], data["verify"]),
        "accept_length": acceptance.pool([counter]).accept_length,
    }


def run_comparable(data: dict[str, Any]) -> dict[str, Any]:
    reasons = comparable.refusals(data["a"], data["b"])
    same_hash = comparable.comparable_hash(data["a"]) == comparable.comparable_hash(data["b"])
    assert same_hash == (not reasons)
    return {"comparable": not reasons, "reasons": reasons}


def run_validity(data: dict[str, Any]) -> dict[str, Any]:
    data = dict(data)
    health = ClientHealth(data.pop("loop_lag_p99_s"), data.pop("client_cpu"), data.pop("coalesced"))
    data["simulate_acc_len"] = data["simulate_acc_len"] or ""
    data["throttle_reasons"] = tuple(data["throttle_reasons"])
    return {"flags": [flag.name for flag in flags(PointFacts(client=health, **data))]}


def run_energy(data: dict[str, Any]) -> dict[str, Any]:
    samples = [(t, watts) for t, watts in data["samples"]]
    result = throughput.energy(samples, *data["window"], data["output_tokens"], data["gpus"], data["max_gap"])
    valid = known(result.joules)
    return {**fields(result), "valid": valid, "reason": "" if valid else result.joules.reason}


def run_sse(data: dict[str, Any]) -> dict[str, Any]:
    raw = bytes.fromhex(data["hex"])
    answers = []
    for cut in range(len(raw) + 1):
        splitter = sse.Splitter()
        answers.append([*splitter.feed(raw[:cut]), *splitter.feed(raw[cut:])])
    assert all(answer == answers[0] for answer in answers)
    return {"events": [payload.decode() for payload in answers[0]]}


def run_usage(data: dict[str, Any]) -> dict[str, Any]:
    reader = backends.ChatReader()
    seen = [reader.read(payload.encode()) for payload in data["payloads"]]
    return {"tokens": list(seen[1:5])}


def fields(record: Any) -> dict[str, Any]:
    return {name: getattr(record, name) for name in record.__struct_fields__}


KINDS = {
    "request": run_request,
    "success": run_success,
    "window": run_window,
    "concurrency": lambda d: throughput.concurrency([tuple(i) for i in d["intervals"]], *d["window"]),
    "queue": run_queue,
    "goodput": run_goodput,
    "percentile": lambda d: {f"p{p}": stats.percentile(d["values"], p) for p in d["ps"]},
    "percentile_merge": run_merge,
    "repeats": lambda d: stats.repeats(d["values"]),
    "ab": lambda d: stats.welch(d["a"], d["b"]),
    "sample_size": lambda d: {"min_n": stats.smallest_n(d["p"], d["conf"])},
    "quantile_ranks": lambda d: {"ranks": stats.quantile_ranks(d["n"], d["p"], d["conf"])},
    "stationary": lambda d: {"stationary": stats.stationary(d["bins"])},
    "accept_hist": lambda d: acceptance.from_histogram(d["hist"], d["k"]),
    "accept_pooled": run_pooled,
    "accept_lifetime": run_lifetime,
    "accept_server_field": run_server_field,
    "speedup": lambda d: acceptance.speedup([acceptance.Timed(**p) for p in d["prompts"]]),
    "spec_model": lambda d: {"speedup": acceptance.modelled_speedup(d["accept_length"], d["c_draft"], d["c_verify"])},
    "crossover": lambda d: {"crossover": acceptance.crossover([tuple(p) for p in d["points"]])},
    "headline": lambda d: throughput.headline(d["tps"], d["concurrency"], d["gpus"]),
    "pareto": lambda d: {"frontier": throughput.pareto([tuple(p) for p in d["points"]])},
    "comparable": run_comparable,
    "validity": run_validity,
    "energy": run_energy,
    "sse": run_sse,
    "usage_deltas": run_usage,
}


def same(got: Any, expected: Any, tolerance: float) -> bool:
    if expected is None:
        return got is None or isinstance(got, Unknown)
    if isinstance(got, Unknown):
        return False
    if isinstance(expected, list):
        return len(got) == len(expected) and all(same(g, e, tolerance) for g, e in zip(got, expected, strict=True))
    if isinstance(expected, dict):
        return set(got) == set(expected) and all(same(got[k], expected[k], tolerance) for k in expected)
    if isinstance(expected, float):
        return math.isclose(got, expected, rel_tol=tolerance, abs_tol=tolerance)
    return bool(got == expected)


@pytest.mark.parametrize("vector", VECTORS, ids=[v["id"] for v in VECTORS])
def test_vector(vector: dict[str, Any]) -> None:
    result = KINDS[vector["kind"]](vector["input"])
    result = result if isinstance(result, dict) else fields(result)
    expected = vector["expected"]
    if vector["kind"] == "validity":
        expected = {"flags": [FLAG_NAMES.get(name, name) for name in expected["flags"]]}
    for key, value in expected.items():
        assert same(result[key], value, vector["tolerance"]), (key, result[key], value)


def test_all_vectors_are_covered() -> None:
    assert len(VECTORS) == 79
    assert {v["kind"] for v in VECTORS} == set(KINDS)
