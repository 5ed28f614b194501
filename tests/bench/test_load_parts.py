"""Parts of the load worker that need no server: schedule, saturation, cores, gauges, secrets."""

from __future__ import annotations

import math
import random

from hypothesis import given
from hypothesis import strategies as st

from console.events.host import GpuPair, GpuTopologySampled
from console.payloads.load import cpus, gpus, server, steady
from console.payloads.load.loads import poisson
from console.state.host import Hardware
from console.values import clean
from console.workers.bench import links


@given(st.floats(0.1, 500), st.integers(1, 300), st.text(max_size=5))
def test_arrivals_end_exactly_on_time(rate: float, count: int, seed: str) -> None:
    times = poisson(rate, count, seed)
    assert times == sorted(times)
    assert math.isclose(times[-1], count / rate, rel_tol=1e-9)
    assert times == poisson(rate, count, seed)


def test_a_server_that_falls_behind_is_seen_and_a_noisy_one_is_not() -> None:
    noise = random.Random(1)
    rising = [10 + 2 * i + noise.random() for i in range(30)]
    slow = [0.5 + 0.1 * i + 0.05 * noise.random() for i in range(30)]
    flat = [10 + noise.random() for _ in range(30)]
    assert steady.saturated(rising, slow)
    assert not steady.saturated(flat, slow)
    assert not steady.saturated(rising, [0.3 + 0.01 * i for i in range(30)])
    assert not steady.saturated(rising, [])


def test_the_worker_keeps_away_from_schedulers() -> None:
    nodes = [set(range(8)), set(range(8, 16))]
    assert cpus.choose(set(range(16)), {0, 1, 2, 3}, nodes) == {14, 15}
    assert cpus.choose(set(range(16)), {12, 13, 14, 15}, nodes) == {6, 7}
    assert cpus.choose(set(range(4)), set(), nodes) == set()
    assert cpus.choose(set(range(16)), set(range(15)), nodes) == set()
    assert cpus.parse_list("0-2,8\n") == {0, 1, 2, 8}


def test_gauges_of_all_ranks_and_none_for_what_is_missing() -> None:
    page = (
        "# HELP sglang:num_running_reqs x\n"
        'sglang:num_running_reqs{dp_rank="0"} 3.0\nsglang:num_running_reqs{dp_rank="1"} 4.0\n'
        'sglang:realtime_tokens_total{mode="decode"} 100.0\nsglang:realtime_tokens_total{mode="prefill_compute"} 9.0\n'
        'sglang:token_usage{dp_rank="0"} 0.2\nsglang:token_usage{dp_rank="1"} 0.7\n'
        "sglang:gen_throughput{} broken\nother:num_running_reqs 9\n"
    )
    assert server.gauges(page) == {"num_running_reqs": 7.0, "decoded_total": 100.0, "token_usage": 0.7}


def test_the_cap_is_per_replica_and_the_hash_ignores_what_moves() -> None:
    info = {"dp_size": 2, "tp_size": 8, "internal_states": [{"effective_max_running_requests_per_dp": 48}]}
    assert server.max_running(info) == 96
    assert server.max_running({"max_running_requests": 64}) == 64
    assert server.max_running({}) is None
    moved = {**info, "internal_states": [{"last_gen_throughput": 9}], "status": "ready"}
    assert server.args_hash(info) == server.args_hash(moved)
    assert server.args_hash(info) != server.args_hash({**info, "tp_size": 4})


def test_secrets_are_stripped_and_token_counts_are_not() -> None:
    told = {"api_key": "sk-1", "hf_token": "hf_x", "max_total_num_tokens": 9, "deep": [{"admin_api_key": "sk-2"}]}
    assert server.stripped(told) == {
        "api_key": "***",
        "hf_token": "***",
        "max_total_num_tokens": 9,
        "deep": [{"admin_api_key": "***"}],
    }
    command = "m --api-key plain --admin-api-key=x --max-total-tokens 9 --tokenizer-path p"
    masked = "m --api-key *** --admin-api-key=*** --max-total-tokens 9 --tokenizer-path p"
    assert server.stripped({"launch_command": command}) == {"launch_command": masked}


def test_throttle_reasons_have_the_names_of_the_contracts() -> None:
    assert gpus.reasons(0x1) == ["idle"]
    assert gpus.reasons(0x4 | 0x20 | 0x40) == ["power_cap", "thermal"]
    assert gpus.reasons(0x80) == ["hw_slowdown"]
    assert gpus.reasons(0x2 | 0x100) == []
    assert gpus.reasons(0x400) == ["other"]


def test_without_gpus_nothing_is_sampled() -> None:
    sampler = gpus.Sampler([])
    sampler.start()
    assert sampler.error == "the GPUs of the server are not known"
    assert sampler.between(0, 1) == []


def test_links_of_the_servers_gpus_are_told_once() -> None:
    def pair(a: str, b: str, nvlink: bool) -> GpuPair:
        return GpuPair(a=clean(a), b=clean(b), path=clean("PHB"), nvlink=nvlink, p2p=clean("ok"))

    pairs = (pair("A", "B", True), pair("A", "C", True), pair("B", "C", False))
    hardware = Hardware(topology=GpuTopologySampled(host="box", pairs=pairs, nvlinks={}, iommu=clean("off")))
    assert links(hardware, ("A", "B")) == "NV"
    assert links(hardware, ("A", "B", "C")) == "NV, PHB"
    assert links(hardware, ("A",)) is None
    assert links(Hardware(), ("A", "B")) is None
