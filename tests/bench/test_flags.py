"""Each flag by its own cause, with the limit itself still allowed."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from console.bench.flags import FLAGS, ClientHealth, PointFacts, blocking, flags

CLEAN = PointFacts(concurrency=64, sent=600, failed=0, finished=600, prompt_tokens=1000, cached_tokens=0)
CAUSES: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("no_usage", {"usage_missing": 1}, {"usage_missing": 0}),
    ("token_mismatch", {"token_mismatch": 1}, {"token_mismatch": 0}),
    ("failures", {"failed": 7}, {"failed": 6}),
    ("early_end", {"stopped_early": 1}, {"stopped_early": 1, "ignore_eos": False}),
    ("cache_hit", {"cached_tokens": 11}, {"cached_tokens": 10}),
    ("cache_hit", {"cached_tokens": 900}, {"cached_tokens": 900, "cache_preset": "warm"}),
    ("client_bound", {"client": ClientHealth(loop_lag_p99_s=0.006)}, {"client": ClientHealth(loop_lag_p99_s=0.005)}),
    ("client_bound", {"client": ClientHealth(cpu=0.61)}, {"client": ClientHealth(cpu=0.6)}),
    ("client_bound", {"client": ClientHealth(coalesced=0.06)}, {"client": ClientHealth(coalesced=0.05)}),
    (
        "client_bound",
        {"client": ClientHealth(dispatch_lag_p95_s=0.003), "ttft_p50_s": 0.2},
        {"client": ClientHealth(dispatch_lag_p95_s=0.002), "ttft_p50_s": 0.2},
    ),
    (
        "client_bound",
        {"client": ClientHealth(events_per_s=5100, calibrated_events_per_s=10000)},
        {"client": ClientHealth(events_per_s=5000, calibrated_events_per_s=10000)},
    ),
    ("client_bound", {"client_tps": 96.0, "server_tps": 100.0}, {"client_tps": 98.0, "server_tps": 100.0}),
    ("client_bound", {"icl_s": (0.00003, 0.01, 0.126)}, {"icl_s": (0.009, 0.01, 0.126)}),
    ("not_stationary", {"stationary": False}, {"stationary": True}),
    ("server_cap", {"max_running_requests": 48}, {"max_running_requests": 64}),
    ("few_samples", {"finished": 499}, {"finished": 500}),
    (
        "random_with_drafter",
        {"drafter": True, "dataset_class": "random"},
        {"drafter": True, "dataset_class": "synthetic"},
    ),
    ("simulated_acceptance", {"simulate_acc_len": "3"}, {"simulate_acc_len": ""}),
    ("throttled", {"throttle_reasons": ("idle", "thermal")}, {"throttle_reasons": ("idle", "power_cap")}),
    (
        "server_restarted",
        {"server_start_before": "9:1", "server_start_after": "9:2"},
        {"server_start_before": "9:1"},
    ),
    ("config_changed", {"args_hash_before": "x", "args_hash_after": "y"}, {"args_hash_after": "y"}),
    ("dummy_weights", {"dummy_weights": True}, {"dummy_weights": False}),
    ("inexact_verification", {"recurrent_tree": True}, {"recurrent_tree": False}),
]


@pytest.mark.parametrize(("name", "raising", "allowed"), CAUSES, ids=[f"{c[0]}-{i}" for i, c in enumerate(CAUSES)])
def test_a_flag_has_one_cause(name: str, raising: dict[str, Any], allowed: dict[str, Any]) -> None:
    (flag,) = flags(replace(CLEAN, **raising))
    assert flag.name == name
    assert flag.cause
    assert flags(replace(CLEAN, **allowed)) == []


def test_every_flag_is_tested_and_all_but_one_block() -> None:
    assert {name for name, _, _ in CAUSES} == set(FLAGS)
    assert blocking(FLAGS) == [name for name in FLAGS if name != "few_samples"]


def test_a_late_event_loop_is_told_in_milliseconds() -> None:
    (flag,) = flags(replace(CLEAN, client=ClientHealth(loop_lag_p99_s=0.0123)))
    assert flag.cause == "the event loop was 12.3 ms late (p99)"
