"""From a worker's timelines to a point: the client's rate beside the server's own counter."""

from __future__ import annotations

from typing import Any

import pytest

from console.bench.measure import measure, read_requests
from console.bench.points import Context, Point

OSL, REQUESTS, WINDOW_S = 16, 100, 10


def a_request(number: int) -> bytes:
    """One after the other, 100 ms each: a token every 6 ms."""
    import msgspec

    t0 = number * 100_000
    times = [t0 + 6_000 * (i + 1) for i in range(OSL)]
    return bytes(
        msgspec.json.encode(
            {
                "t0": t0, "times": times, "tokens": [1] * OSL, "answer": 0, "sched": None, "ended": times[-1],
                "usage": OSL, "requested": OSL, "finish": "length", "http": 200, "error": "", "cut": False,
                "prompt": 16, "cached": 0, "spec": None, "category": "",
            }
        )
    )  # fmt: skip


def measured(counted: float) -> Point:
    """A window of 100 answers in which the server's counter grew by `counted`."""
    server = {"metrics": {}, "max_running_requests": 64, "simulate_acc_len": "", "process": "1:1", "args_hash": "a"}
    result: dict[str, Any] = {
        "name": "c0001-r0", "variant": "", "concurrency": 1, "repeat": 0, "rate": None, "power": [], "gpus": [],
        "gpus_reason": "none", "window": [0, WINDOW_S * 1_000_000], "client": {}, "server_before": server,
        "server_after": server, "stationary": True, "aborted": False, "gone": "",
        "window_metrics": [{"decoded_total": 0.0}, {"decoded_total": counted}],
    }  # fmt: skip
    return measure(result, read_requests([a_request(n) for n in range(REQUESTS)], True), Context())


@pytest.mark.parametrize(
    ("per_answer", "bound"),
    [(OSL, False), (OSL - 1, False), (OSL - 0.5, False), (0.9 * (OSL - 1), True), (1.04 * OSL, True)],
    ids=["prefill counted", "prefill not counted", "some of each", "the server saw less", "the server saw more"],
)
def test_one_token_a_request_is_no_difference(per_answer: float, bound: bool) -> None:
    """SGLang 0.5.23 on a CPU leaves the prefill's token out: with 16 tokens an answer that is 6.7 %."""
    point = measured(per_answer * REQUESTS)
    assert point.output_tok_s == REQUESTS * OSL / WINDOW_S
    assert ("client_bound" in point.flags) is bound
