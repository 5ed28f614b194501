"""`sglang.bench_serving` / `sglang.benchmark.serving` (Python and Rust) and `vllm bench serve`."""

from __future__ import annotations

from typing import Any

import msgspec

from console.bench import serverinfo
from console.bench.flags import PointFacts
from console.bench.import_values import ImportedRun, count, flagged, flat, inverse, number, numbered, ratio, scaled
from console.bench.points import NOT_TOLD, Percentiles, Point
from console.bench.stats import NO_SAMPLES, Number
from console.values import Unknown, known


def read_sglang(rows: list[dict[str, Any]]) -> ImportedRun:
    """One row a point."""
    remarks = ["a failed request shows only as a missing one", "throughput includes ramp-up and drain"]
    if any(row.get("accept_length") is not None for row in rows):
        remarks.append("the accept length is the server's since its start, not this run's: left out")
    info = rows[-1].get("server_info") or {}
    treatment = serverinfo.treatment(info)
    return ImportedRun(
        "sglang", numbered([_sglang_point(row) for row in rows]), _setup(rows), treatment, tuple(remarks)
    )


def _setup(rows: list[dict[str, Any]]) -> dict[str, Any]:
    row = rows[-1]
    info = row.get("server_info") or {}
    lengths = {(r.get("random_input_len"), r.get("random_output_len")) for r in rows}
    fixed = _dataset(row).startswith("random") and len(lengths) == 1
    return {
        "model": info.get("model_path"),
        "input_spec": f"{row['dataset_name']}:{row['random_input_len']}" if fixed else row.get("dataset_name"),
        "output_spec": f"fixed:{row['random_output_len']}" if fixed else None,
        "load_mode": _load_mode(rows),
        "prompt_format": row.get("backend"),
        "weights_kind": "dummy" if info.get("load_format") == "dummy" else None,
    }


def _load_mode(rows: list[dict[str, Any]]) -> str:
    return "closed" if all(row.get("request_rate") == "inf" for row in rows) else "poisson"


def _dataset(row: dict[str, Any]) -> str:
    return str(row.get("dataset_name") or "")


def _users(row: dict[str, Any]) -> int:
    """The cap that was asked for; where there was none, the mean number of requests in flight."""
    asked, mean = row.get("max_concurrency"), _in_flight(row)
    if isinstance(asked, int):
        return asked
    if not known(mean):
        raise KeyError("max_concurrency")
    return max(1, round(mean))


def _in_flight(row: dict[str, Any]) -> Number:
    """What the tool says, or Little's law: the requests' seconds in one second."""
    if row.get("concurrency") is not None:
        return number(row["concurrency"])
    spent = row.get("latencies")
    return ratio(float(sum(spent)), number(row["duration"])) if spent else NOT_TOLD


def _sglang_point(row: dict[str, Any]) -> Point:
    """The native backend spreads a gap over its tokens (our ITL); the others give one sample a chunk (our ICL)."""
    native = row["backend"] == "sglang"
    gaps = flat(row, "itl")
    point = _point(row, "e2e_latency", "total_throughput")
    point = _replace(point, itl_ms=gaps) if native else _replace(point, icl_ms=gaps)
    held = serverinfo.gpus(row.get("server_info") or {})
    point = _replace(point, tok_s_gpu=ratio(point.output_tok_s, float(held) if known(held) else held))
    return flagged(point, _facts(row, point, gaps, number(row.get("mean_itl_ms"))))


def _facts(row: dict[str, Any], point: Point, gaps: Percentiles, mean_gap: Number) -> PointFacts:
    info = row.get("server_info") or {}
    cap = (info.get("internal_states") or [{}])[0].get("effective_max_running_requests_per_dp")
    drafter = serverinfo.has_drafter(info)
    return PointFacts(
        concurrency=point.concurrency,
        sent=point.requests,
        failed=0,
        finished=point.requests,
        icl_s=(gaps.p50, mean_gap, gaps.p99) if not drafter else (NO_SAMPLES, NO_SAMPLES, NO_SAMPLES),
        max_running_requests=count(cap),
        drafter=drafter,
        dataset_class="random" if _dataset(row).startswith("random") else "real",
        dummy_weights=info.get("load_format") == "dummy",
    )


def _point(row: dict[str, Any], e2e: str, total: str) -> Point:
    tpot = flat(row, "tpot")
    seconds = number(row["duration"])
    mean, peak = number(row["output_throughput"]), number(row.get("max_output_tokens_per_s"))
    honest = known(peak) and known(mean) and peak >= mean
    return Point(
        concurrency=_users(row),
        repeat=0,
        window_s=seconds,
        requests=row["completed"],
        failed=count(row.get("failed")),
        tokens=count(row.get("total_output_tokens")),
        output_tok_s=mean,
        total_tok_s=number(row.get(total)),
        peak_tok_s=peak if honest else Unknown("the tool's peak counts events"),
        user_tok_s=inverse(tpot.p50),
        ttft_ms=flat(row, "ttft"),
        tpot_ms=tpot,
        e2e_ms=flat(row, e2e),
        concurrency_mean=_in_flight(row),
        request_s=ratio(number(row["completed"]), seconds),
        goodput_req_s=number(row.get("request_goodput")),
        attainment_ratio=number(row.get("slo_attainment")),
    )


def _replace(point: Point, **changes: Any) -> Point:
    return msgspec.structs.replace(point, **changes)


def read_vllm(rows: list[dict[str, Any]]) -> ImportedRun:
    """One file a point; several may be joined to a JSON list."""
    points = []
    for row in rows:
        point = _point(row, "e2el", "total_token_throughput")
        rates = row.get("spec_decode_per_position_acceptance_rates")
        point = _replace(
            point,
            icl_ms=flat(row, "itl"),
            accept_length=number(row.get("spec_decode_acceptance_length")),
            accept_ratio=scaled(number(row.get("spec_decode_acceptance_rate")), 0.01),
            accepted_per_position=tuple(rates) if rates else NOT_TOLD,
        )
        failed = row.get("failed") or 0
        facts = PointFacts(
            concurrency=point.concurrency,
            sent=point.requests + failed,
            failed=failed,
            finished=point.requests,
            icl_s=(NO_SAMPLES, NO_SAMPLES, NO_SAMPLES),
        )
        points.append(flagged(point, facts))
    last = rows[-1]
    setup = {
        "model": last.get("model_id"),
        "load_mode": _load_mode(rows),
        "prompt_format": last.get("backend"),
    }
    remarks = ("throughput includes ramp-up and drain", "the tool's ITL is one sample a chunk: read as ICL")
    return ImportedRun("vllm", numbered(points), setup, {}, remarks)
