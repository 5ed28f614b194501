"""The load worker as it runs on a box, against a SGLang with programmable timing and faults."""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path
from typing import Any

import msgspec
import pytest

from console.bench.measure import measure, read_requests
from console.bench.points import Context, Point
from console.payloads.load.main import STOPPED
from console.values import Unknown, known
from tests.support import load_job
from tests.support.fakes import Fleet, uuid
from tests.support.mock_sglang import Behaviour, MockSGLang


async def run_point(tmp_path: Path, behaviour: Behaviour, **changes: Any) -> tuple[Point, MockSGLang]:
    async with MockSGLang(behaviour) as server:
        settings = load_job.config(server.port, **changes)
        assert await load_job.run(tmp_path, settings) == (0, "")
    return point_of(tmp_path, settings["points"][0]["name"], ignore_eos=settings["ignore_eos"]), server


def point_of(tmp_path: Path, name: str, ignore_eos: bool = True, **context: Any) -> Point:
    result, rows = load_job.result(tmp_path, name)
    requests = read_requests([msgspec.json.encode(row) for row in rows], ignore_eos)
    return measure(result, requests, Context(ignore_eos=ignore_eos, **context))


@pytest.mark.parametrize(
    ("window_s", "tolerance"), [(1.0, 0.1), pytest.param(5.0, 0.01, marks=pytest.mark.slow)], ids=["coarse", "fine"]
)
async def test_known_timing_comes_out(tmp_path: Path, window_s: float, tolerance: float) -> None:
    """C = 4, 0.2 s to the first token, then one verify step every 20 ms: 3, 1, 5 and 2 tokens in turn."""
    behaviour = Behaviour(first_s=0.2, gap_s=0.02, accepted=[2, 0, 4, 1])
    point, server = await run_point(
        tmp_path, behaviour, osl=34, warmup_max_s=0.8, bin_s=0.4, window_s=window_s, window_max_s=window_s
    )
    per_answer = 0.2 + 12 * 0.02
    assert point.ttft_ms.p50 == pytest.approx(200, rel=tolerance)
    assert point.tpot_ms.p50 == pytest.approx(12 * 20 / 33, rel=tolerance)
    assert point.icl_ms.p50 == pytest.approx(20, rel=2 * tolerance)
    assert point.e2e_ms.p50 == pytest.approx(per_answer * 1000, rel=tolerance)
    result, _ = load_job.result(tmp_path)
    a, b = (result["epoch_m"] + edge / 1e6 for edge in result["window"])
    truth = sum(tokens for t, tokens in server.sent if a <= t < b) / (b - a)
    assert point.output_tok_s == pytest.approx(truth, rel=max(tolerance, 0.02))
    assert point.accept_length == pytest.approx(1 + 7 / 4, rel=1e-9)
    assert point.concurrency_peak == 4
    assert server.peak == 4
    assert "failures" not in point.flags


async def test_energy_of_a_window_that_ends_between_two_samples(tmp_path: Path) -> None:
    """76.5 W all the time; on real GPUs the worker once told its result before the sample behind the window."""
    fleet = Fleet(tmp_path, 1)
    async with MockSGLang(Behaviour(first_s=0.02, gap_s=0.01)) as server:
        settings = load_job.config(server.port, gpus=[uuid(0)], warmup_max_s=1.2, window_s=1.3, window_max_s=1.3)
        assert await load_job.run(tmp_path, settings, **fleet.env()) == (0, "")
    point = point_of(tmp_path, "c0004-r0", gpus=1)
    assert point.energy_j_tok == pytest.approx(76.5 * point.window_s / point.tokens, rel=0.01)


async def test_chat_tells_reasoning_from_answer(tmp_path: Path) -> None:
    texts = {"kind": "texts", "items": [{"text": "Say it.", "category": "chat"}]}
    point, server = await run_point(
        tmp_path, Behaviour(first_s=0.03, gap_s=0.01, reasoning=5), backend="chat", dataset=texts
    )
    assert known(point.ttft_ms.p50)
    assert known(point.ttfo_ms.p50)
    assert point.ttfo_ms.p50 - point.ttft_ms.p50 == pytest.approx(50, rel=0.2)
    assert set(point.categories) == {"chat"}
    sent = server.requests[0]
    assert sent["stream_options"] == {"include_usage": True, "continuous_usage_stats": True}
    heads = [request["messages"][0]["content"][:18] for request in server.requests]
    assert len(set(heads)) == len(heads)


async def test_random_prompts_share_no_prefix_and_first_answers_have_random_lengths(tmp_path: Path) -> None:
    _, server = await run_point(tmp_path, Behaviour())
    heads = [tuple(request["input_ids"][:8]) for request in server.requests]
    assert len(set(heads)) == len(heads)
    assert all(len(request["input_ids"]) == 12 for request in server.requests)
    lengths = [request["sampling_params"]["max_new_tokens"] for request in server.requests]
    assert len(set(lengths[:4])) > 1
    assert set(lengths[4:]) == {16}


CHAT = {"backend": "chat", "dataset": {"kind": "texts", "items": [{"text": "Say it."}]}}
FAULTS: dict[str, tuple[Behaviour, dict[str, Any]]] = {
    "server_cap": (Behaviour(max_running=2), {}),
    "failures": (Behaviour(fail_every=5), {}),
    "cache_hit": (Behaviour(cached_share=0.5), {}),
    "early_end": (Behaviour(end_at=7), {}),
    "no_usage": (Behaviour(usage=False), CHAT),
    "token_mismatch": (Behaviour(lost_tokens=1), {**CHAT, "ignore_eos": False}),
    "config_changed": (Behaviour(new_args_after=1), {}),
}


async def test_each_fault_of_the_server_raises_its_flag_alone(tmp_path: Path) -> None:
    """All at once, each with a worker and a server of its own."""

    async def raised(flag: str) -> tuple[set[str], bool, int]:
        (tmp_path / flag).mkdir()
        behaviour, changes = FAULTS[flag]
        point, server = await run_point(tmp_path / flag, behaviour, **changes)
        timing = {"few_samples", "not_stationary", "client_bound"}
        return set(point.flags) - timing, point.counts, server.peak

    found = dict(zip(FAULTS, await asyncio.gather(*map(raised, FAULTS)), strict=True))
    assert {flag: names for flag, (names, _, _) in found.items()} == {flag: {flag} for flag in FAULTS}
    assert not any(counts for _, counts, _ in found.values())
    assert found["server_cap"][2] == 2


async def test_frozen_gauges_of_an_idle_server_do_not_matter(tmp_path: Path) -> None:
    point, _ = await run_point(tmp_path, Behaviour(frozen_gauges=True))
    assert point.output_tok_s == pytest.approx(4 * 16 / 0.095, rel=0.25)


async def test_a_busy_cache_is_waited_for(tmp_path: Path) -> None:
    point, server = await run_point(tmp_path, Behaviour(flush=[400, 200]))
    assert server.flushes == 2
    assert point.requests > 0


async def test_a_cache_that_stays_busy_is_no_measurement(tmp_path: Path) -> None:
    async with MockSGLang(Behaviour(flush=[400])) as server:
        rc, _ = await load_job.run(tmp_path, load_job.config(server.port, flush_s=0.5))
    assert rc == 1
    assert load_job.progress(tmp_path, "point")[0]["error"] == "the prefix cache could not be flushed: HTTP 400"
    assert server.requests == []


async def test_a_server_that_dies_ends_the_run_and_keeps_what_was_measured(tmp_path: Path) -> None:
    points = [{"name": f"c0004-r{i}", "concurrency": 4, "repeat": i} for i in range(2)]
    async with MockSGLang(Behaviour(die_after=40)) as server:
        rc, _ = await load_job.run(tmp_path, load_job.config(server.port, points=points, window_s=20, window_max_s=20))
    assert rc == 1
    point = point_of(tmp_path, "c0004-r0.aborted")
    assert point.aborted
    assert not point.counts
    assert point.requests > 0
    assert not (tmp_path / "points" / "c0004-r1.json").exists()


async def test_only_one_worker_runs_and_a_signal_keeps_the_window(tmp_path: Path) -> None:
    async with MockSGLang() as server:
        settings = load_job.config(server.port, window_s=30, window_max_s=30)
        process = await load_job.start(tmp_path, settings)
        while not any(row["state"] == "window" for row in load_states(tmp_path)):  # noqa: ASYNC110
            await asyncio.sleep(0.05)
        rc, errors = await load_job.run(tmp_path, settings)
        assert (rc, errors) == (75, "gpudeck load: another load worker runs on this box\n")
        process.send_signal(signal.SIGTERM)
        await process.communicate()
    assert process.returncode == 130
    assert point_of(tmp_path, "c0004-r0.aborted").tokens != Unknown("not told by the tool")


def load_states(tmp_path: Path) -> list[dict[str, Any]]:
    path = tmp_path / "progress.ndjson"
    return load_job.progress(tmp_path, "state") if path.exists() else []


async def test_a_pause_holds_the_next_point_back(tmp_path: Path) -> None:
    (tmp_path / "pause").touch()
    async with MockSGLang() as server:
        settings = load_job.config(server.port)
        process = await load_job.start(tmp_path, settings)
        while not any(row["state"] == "paused" for row in load_states(tmp_path)):  # noqa: ASYNC110
            await asyncio.sleep(0.05)
        assert server.requests == []
        (tmp_path / "pause").unlink()
        await process.communicate()
    assert process.returncode == 0
    assert point_of(tmp_path, "c0004-r0").requests > 0


async def test_a_second_start_measures_only_what_is_missing(tmp_path: Path) -> None:
    points = [{"name": f"c0002-r{i}", "concurrency": 2, "repeat": i} for i in range(2)]
    async with MockSGLang() as server:
        await load_job.run(tmp_path, load_job.config(server.port, points=points[:1]))
        first = (tmp_path / "points" / "c0002-r0.json").read_bytes()
        await load_job.run(tmp_path, load_job.config(server.port, points=points))
    assert (tmp_path / "points" / "c0002-r0.json").read_bytes() == first
    assert (tmp_path / "points" / "c0002-r1.json").exists()


async def test_secrets_of_the_server_never_reach_a_file(tmp_path: Path) -> None:
    await run_point(tmp_path, Behaviour())
    for path in tmp_path.rglob("*"):
        if path.is_file() and path.suffix != ".gz":
            text = path.read_text()
            assert "sk-secret" not in text
            assert "sk-mine" not in text


async def test_arrivals_do_not_wait_and_the_clock_starts_at_the_schedule(tmp_path: Path) -> None:
    """40 requests/s of 95 ms against 2 slots (21/s): the service time is constant, the schedule's is not."""
    points = [{"name": "r40", "concurrency": 2, "repeat": 0, "rate": 40, "cap": 2}]
    point, _ = await run_point(
        tmp_path, Behaviour(), points=points, warmup_max_s=0.3, window_s=1.0, window_max_s=1.0, drain_s=0.2
    )
    assert known(point.e2e_ms.p50)
    assert known(point.queued_e2e_ms.p50)
    assert point.e2e_ms.p50 == pytest.approx(95, rel=0.15)
    assert point.queued_e2e_ms.p50 > 2 * point.e2e_ms.p50
    assert point.rate == 40


async def test_calibration_measures_this_client_against_the_built_in_mock(tmp_path: Path) -> None:
    async with MockSGLang() as server:
        await load_job.run(tmp_path, load_job.config(server.port, calibrate_s=0.6, offered_per_s=1000))
    calibration = load_job.progress(tmp_path, "calibration")[0]
    assert calibration["events_per_s"] == pytest.approx(1000, rel=0.15)
    result, _ = load_job.result(tmp_path)
    assert result["client"]["calibrated_events_per_s"] == calibration["events_per_s"]


async def test_the_worker_ends_by_itself_and_keeps_what_it_has(tmp_path: Path) -> None:
    """However long the window is: after `max_s` nobody has to come and stop it."""
    async with MockSGLang() as server:
        settings = load_job.config(server.port, max_s=1.5, window_s=30, window_max_s=30)
        rc, _ = await load_job.run(tmp_path, settings)
    assert rc == STOPPED
    assert point_of(tmp_path, "c0004-r0.aborted").aborted
