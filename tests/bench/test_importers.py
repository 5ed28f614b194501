"""Real result files of four tools: what they say under our names, nothing that they do not say."""

from __future__ import annotations

import contextlib
import functools
import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from console.bench.import_values import ImportedRun, ImportFormatError
from console.bench.importers import import_file
from console.values import Unknown, known

FOLDER = Path(__file__).parent.parent / "captures" / "bench-tools"
VLLM = {
    "date": "20261130-001500", "backend": "openai-chat", "model_id": "moonshotai/Kimi-K2.6", "max_concurrency": 64,
    "request_rate": "inf", "duration": 60.2, "completed": 256, "failed": 0, "total_output_tokens": 65536,
    "output_throughput": 1088.6, "total_token_throughput": 5443.2, "spec_decode_acceptance_rate": 29.30,
    "spec_decode_acceptance_length": 2.465, "spec_decode_per_position_acceptance_rates": [0.744, 0.419],
    "median_ttft_ms": 390.0, "p99_ttft_ms": 911.0, "median_tpot_ms": 55.0, "median_itl_ms": 131.0,
    "request_goodput": None,
}  # fmt: skip


@functools.cache
def whole(name: str) -> bytes:
    data = (FOLDER / name).read_bytes()
    return gzip.decompress(data) if name.endswith(".gz") else data


def imported(name: str) -> ImportedRun:
    return import_file(whole(name), name)


def test_sglang_python_over_chat() -> None:
    run = imported("sglang_0.5.23_python.jsonl.gz")
    (point,) = run.points
    assert (run.source, run.setup["load_mode"], run.setup["output_spec"]) == ("sglang", "closed", "fixed:200")
    assert (point.concurrency, point.requests) == (64, 128)
    assert point.output_tok_s == pytest.approx(3093.5, abs=0.1)
    assert point.tpot_ms.p50 == pytest.approx(20.043, abs=0.001)
    assert point.icl_ms.p99 == pytest.approx(54.04, abs=0.01)
    assert not known(point.itl_ms.p50)
    assert not known(point.failed)


def test_the_summary_alone_gives_the_same_numbers() -> None:
    assert imported("sglang_0.5.23_python_summary.jsonl").points == imported("sglang_0.5.23_python.jsonl.gz").points


def test_a_client_that_clumps_is_flagged() -> None:
    (point,) = imported("sglang_0.5.23_rust.jsonl").points
    assert point.concurrency == 256
    assert "client_bound" in point.flags
    assert not point.counts


def test_a_peak_that_counts_events_and_a_lifetime_accept_length_are_left_out() -> None:
    run = imported("sglang_0.5.23_python_oai_chat_spec.jsonl")
    (point,) = run.points
    assert point.peak_tok_s == Unknown("the tool's peak counts events")
    assert not known(point.accept_length)
    assert any("since its start" in remark for remark in run.remarks)
    assert (run.treatment["speculative"], run.treatment["tp"]) == ("DFLASH", 1)
    assert "random_with_drafter" in point.flags


def test_the_native_backends_gaps_are_per_token() -> None:
    for name in ("sglang_0.5.23_python_native_spec.jsonl", "sglang_0.5.23_rust_native_spec.jsonl"):
        (point,) = imported(name).points
        assert point.tpot_ms.p50 == pytest.approx(5.55, rel=0.02)
        assert known(point.itl_ms.p50)
        assert not known(point.icl_ms.p50)


def test_guidellm_calls_tpot_inter_token_latency() -> None:
    (point,) = imported("guidellm_0.8.1.json.gz").points
    assert (point.concurrency, point.requests, point.failed) == (64, 128, 0)
    assert point.tpot_ms.p50 == pytest.approx(19.96, abs=0.01)
    assert point.output_tok_s == pytest.approx(2882.56, abs=0.01)
    assert point.e2e_ms.p50 == pytest.approx(4057.9, abs=0.1)
    assert point.concurrency_mean == pytest.approx(58.56, abs=0.01)
    assert "client_bound" in point.flags
    assert any("mean generation delay" in cause for cause in point.causes)


def test_aiperf() -> None:
    (point,) = imported("aiperf_0.13.0_profile_export_aiperf.json").points
    assert (point.concurrency, point.requests) == (64, 128)
    assert point.tpot_ms.p50 == pytest.approx(21.718, abs=0.001)
    assert point.ttft_ms.p50 == pytest.approx(121.29, abs=0.01)
    assert point.output_tok_s == pytest.approx(2553.0, abs=0.1)
    assert point.window_s == pytest.approx(128 / 12.765, rel=1e-4)


def test_vllm_gives_its_rate_in_percent() -> None:
    run = import_file(json.dumps(VLLM).encode(), "v.json")
    (point,) = run.points
    assert run.source == "vllm"
    assert point.accept_ratio == pytest.approx(0.293)
    assert point.accept_length == 2.465
    assert point.accepted_per_position == (0.744, 0.419)
    assert point.total_tok_s == 5443.2
    assert point.icl_ms.p50 == 131.0


def test_vllm_runs_appended_to_one_file() -> None:
    """The last has no cap: its concurrency is the mean of the requests in flight, and it keeps nothing closed."""
    run = imported("vllm_from_documentation.jsonl")
    points = [(point.concurrency, point.repeat, point.failed) for point in run.points]
    assert points == [(8, 0, 0), (8, 1, 2), (7, 0, 0)]
    assert run.setup["load_mode"] == "poisson"
    capped, _, open_loop = run.points
    assert capped.accept_length == pytest.approx(3.018, abs=0.001)
    assert capped.accepted_per_position == (0.81, 0.58, 0.39, 0.24)
    assert open_loop.concurrency_mean == pytest.approx(6.95, abs=0.01)
    assert open_loop.goodput_req_s == 4.75
    assert not known(capped.ttft_ms.p95)


def test_a_concurrency_that_nothing_tells_is_not_one() -> None:
    data = json.dumps({**VLLM, "max_concurrency": None}).encode()
    with pytest.raises(ImportFormatError, match="max_concurrency is missing"):
        import_file(data, "v.json")


def test_repeats_of_one_concurrency_count_up() -> None:
    row = (FOLDER / "sglang_0.5.23_python_summary.jsonl").read_text().strip()
    run = import_file(f"{row}\n{row}\n".encode(), "two.jsonl")
    assert [(point.concurrency, point.repeat) for point in run.points] == [(64, 0), (64, 1)]


@pytest.mark.parametrize("data", [b"", b"\xff\xfe", b"{}", b"[1]", b"{\n", b'{"metadata": {}}'])
def test_what_is_no_result_is_refused(data: bytes) -> None:
    with pytest.raises(ImportFormatError):
        import_file(data, "x.json")


# The shortest files that still name their tool: what is missing is unknown, nothing breaks.
SHORT = (
    {
        "metadata": {"version": 2, "guidellm_version": "0.8.1"},
        "benchmarks": [{"duration": 60.0, "metrics": {"output_tokens_per_second": {"successful": {"mean": 1530.2}},
        "request_concurrency": {"total": {"mean": 255.1}},
        "inter_token_latency_ms": {"successful": {"median": 160.2}}}}],
    },
    {"aiperf_version": "0.13.0", "output_token_throughput": {"avg": 1530.2}, "inter_token_latency": {"p50": 160.2}},
    {**VLLM, "output_throughput": 1530.2, "median_tpot_ms": 160.2},
)  # fmt: skip


@pytest.mark.parametrize("document", SHORT)
def test_a_short_file_gives_what_it_holds(document: dict[str, Any]) -> None:
    (point,) = import_file(json.dumps(document).encode(), "x.json").points
    assert point.output_tok_s == 1530.2
    assert point.tpot_ms.p50 == 160.2
    assert not known(point.e2e_ms.p99)


JUNK = st.sampled_from([None, True, -1, 1e308, "x", [], {}, [[]], {"a": {}}])


@given(data=st.data(), name=st.sampled_from(sorted(path.name for path in FOLDER.iterdir())))
@settings(max_examples=60, deadline=None)
def test_any_damage_is_a_run_or_a_refusal(data: st.DataObject, name: str) -> None:
    """One field anywhere is missing or something else: an error of the file, never of the program."""
    document = json.loads(whole(name).decode().splitlines()[0]) if "jsonl" in name else json.loads(whole(name))
    spot = document
    while True:
        key = data.draw(st.sampled_from(sorted(spot) if isinstance(spot, dict) else range(len(spot))))
        if not isinstance(spot[key], dict | list) or not spot[key] or data.draw(st.booleans()):
            break
        spot = spot[key]
    if data.draw(st.booleans()):
        spot[key] = data.draw(JUNK)
    else:
        del spot[key]
    with contextlib.suppress(ImportFormatError):
        assert import_file(json.dumps(document).encode(), name).source


def test_every_number_is_finite() -> None:
    from console.bench.points import point_json

    for path in sorted(FOLDER.iterdir()):
        for point in imported(path.name).points:
            json.dumps(point_json(point), allow_nan=False)
