"""GuideLLM and AIPerf."""

from __future__ import annotations

from typing import Any

from console.bench.flags import ClientHealth, PointFacts
from console.bench.import_values import ImportedRun, count, flagged, inverse, number, numbered, ratio
from console.bench.points import NOT_TOLD, Percentiles, Point
from console.bench.stats import Number
from console.values import known

CLOSED = ("concurrent", "synchronous")
CLIENT_WARNINGS = {"generation_delay_ttft", "root_late"}


def read_guidellm(rows: list[dict[str, Any]]) -> ImportedRun:
    """One benchmark of the document a point. Its requests may be cut; the aggregates are what counts."""
    document = rows[0]
    points = [_guidellm_point(benchmark) for benchmark in document["benchmarks"]]
    backend = ((document.get("config") or {}).get("spec") or {}).get("backend") or {}
    setup = {"model": backend.get("model"), "load_mode": "closed", "prompt_format": "chat"}
    if any(_strategy(one).get("type_", "concurrent") not in CLOSED for one in document["benchmarks"]):
        setup["load_mode"] = "poisson"
    version = document["metadata"]["guidellm_version"]
    remarks = (
        "its inter-token latency is read as TPOT; its TPOT includes the first token: left out",
        "throughput includes ramp-up and drain",
    )
    return ImportedRun("guidellm", numbered(points), setup, {"tool_version": version}, remarks)


def _strategy(benchmark: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = (benchmark.get("config") or {}).get("strategy") or {}
    return found


def _guidellm_point(benchmark: dict[str, Any]) -> Point:
    metrics, strategy = benchmark["metrics"], _strategy(benchmark)
    totals, tpot = metrics.get("request_totals") or {}, _of(metrics, "inter_token_latency_ms")
    users = strategy.get("streams") or strategy.get("max_concurrency")
    seconds, finished, failed = number(benchmark["duration"]), totals.get("successful", 0), totals.get("errored", 0)
    concurrency = metrics.get("request_concurrency") or {}
    active = (concurrency.get("successful") or concurrency.get("total") or {}).get("mean")
    point = Point(
        concurrency=users if isinstance(users, int) else max(1, round(active or 1)),
        repeat=0,
        window_s=seconds,
        requests=finished,
        failed=failed,
        tokens=count(round(_successful(metrics, "output_token_count").get("total_sum") or 0)),
        output_tok_s=number(_successful(metrics, "output_tokens_per_second").get("mean")),
        total_tok_s=number(_successful(metrics, "tokens_per_second").get("mean")),
        user_tok_s=inverse(tpot.p50),
        ttft_ms=_of(metrics, "time_to_first_token_ms"),
        ttfo_ms=_of(metrics, "time_to_first_output_token_ms"),
        tpot_ms=tpot,
        e2e_ms=_of(metrics, "request_latency", 1000),
        concurrency_mean=number(active),
        request_s=ratio(number(finished), seconds),
    )
    doubts = [w.get("message") or w["code"] for w in benchmark.get("warnings") or [] if w["code"] in CLIENT_WARNINGS]
    return _judge(point, finished, failed, ClientHealth(warning="; ".join(doubts)))


def _successful(metrics: dict[str, Any], name: str) -> dict[str, Any]:
    found: dict[str, Any] = (metrics.get(name) or {}).get("successful") or {}
    return found


def _of(metrics: dict[str, Any], name: str, factor: float = 1.0) -> Percentiles:
    told = _successful(metrics, name)
    levels = {"p50": told.get("median"), **(told.get("percentiles") or {})}
    values = [number(levels.get(key)) for key in ("p50", "p95", "p99")]
    return Percentiles(*[value * factor if known(value) else value for value in values])


def _judge(point: Point, finished: int, failed: int, health: ClientHealth) -> Point:
    return flagged(
        point,
        PointFacts(
            concurrency=point.concurrency, sent=finished + failed, failed=failed, finished=finished, client=health
        ),
    )


def read_aiperf(rows: list[dict[str, Any]]) -> ImportedRun:
    """`profile_export_aiperf.json`: one file a point. Its accept length is a gauge of the server: left out."""
    points = [_aiperf_point(row) for row in rows]
    setup = {"load_mode": "closed", "prompt_format": "chat"}
    remarks = ("throughput includes ramp-up and drain",)
    return ImportedRun("aiperf", numbered(points), setup, {"tool_version": rows[-1]["aiperf_version"]}, remarks)


def _aiperf_point(row: dict[str, Any]) -> Point:
    finished = round(_avg(row, "request_count", 0.0))
    failed = round(_avg(row, "error_request_count", 0.0))
    rate = _number(row, "request_throughput")
    tpot = _levels(row, "inter_token_latency")
    users = ((row.get("run_info") or {}).get("variation_values") or {}).get("loadgen.concurrency")
    highest = (row.get("effective_concurrency") or {}).get("max") or 1
    point = Point(
        concurrency=users if isinstance(users, int) else max(1, round(highest)),
        repeat=0,
        window_s=ratio(number(finished), rate),
        requests=finished,
        failed=failed,
        tokens=count((row.get("output_sequence_length") or {}).get("sum")),
        output_tok_s=_number(row, "output_token_throughput"),
        total_tok_s=_number(row, "total_token_throughput"),
        user_tok_s=inverse(tpot.p50),
        user_tok_s_p10=number((row.get("output_token_throughput_per_user") or {}).get("p10")),
        ttft_ms=_levels(row, "time_to_first_token"),
        ttfo_ms=_levels(row, "time_to_first_output_token"),
        tpot_ms=tpot,
        icl_ms=_levels(row, "inter_chunk_latency"),
        e2e_ms=_levels(row, "request_latency"),
        concurrency_mean=_number(row, "effective_concurrency"),
        request_s=rate,
        goodput_req_s=_number(row, "goodput"),
    )
    return _judge(point, finished, failed, ClientHealth())


def _number(row: dict[str, Any], name: str) -> Number:
    return number((row.get(name) or {}).get("avg"))


def _avg(row: dict[str, Any], name: str, default: float) -> float:
    value = _number(row, name)
    return value if known(value) else default


def _levels(row: dict[str, Any], name: str) -> Percentiles:
    levels = row.get(name)
    if not levels:
        return Percentiles(NOT_TOLD, NOT_TOLD, NOT_TOLD)
    return Percentiles(*[number(levels.get(key)) for key in ("p50", "p95", "p99")])
