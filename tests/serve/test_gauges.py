"""Gauges from each source, frozen ones marked; command lines compared; the smoke test judged."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest

from console.events.serve import ServerGauged, ServerUnproved
from console.serve import smoke
from console.serve.argv import differences, read_flags
from console.serve.gauges import Gauges, read_get_load, read_loads, read_log, read_metrics
from console.serve.live import live
from console.values import CleanText, Unknown, known
from console.workers.server_gauging import Gauging
from tests.support.sglang import CAPTURES, CPU, H200, capture_json, log_bytes, metric_rows, story_of


def test_loads() -> None:
    found = read_loads(capture_json(f"{CPU}/http/v1_loads.txt"))
    assert found is not None
    assert (found.running, found.queued, found.kv_total_tokens, found.max_running) == (0, 0, 8192, 2048)
    assert found.kv_ratio == 0.0
    assert not known(found.accept_length)


def test_loads_add_up_ranks() -> None:
    rank = {"num_running_reqs": 3, "num_waiting_reqs": 1, "num_used_tokens": 50, "max_total_num_tokens": 100,
            "gen_throughput": 10.0, "speculative": {"accept_length": 2.0, "accept_rate": 0.1}}  # fmt: skip
    found = read_loads({"loads": [rank, {**rank, "num_used_tokens": 0, "speculative": {"accept_length": 4.0}}]})
    assert found is not None
    assert (found.running, found.queued, found.gen_tok_s, found.kv_ratio) == (6, 2, 20.0, 0.25)
    assert found.accept_length == 3.0
    found = read_loads({"loads": [{**rank, "speculative": {"accept_length": 0.0}}]})
    assert found is not None
    assert found.accept_length == Unknown("nothing was drafted yet")
    assert not known(found.max_running)


@pytest.mark.parametrize("body", [None, {}, [], {"loads": []}, {"loads": "x"}, {"detail": "Not Found"}, [1], "x"])
def test_another_body_is_not_a_load(body: Any) -> None:
    assert read_loads(body) is None
    assert read_get_load(body) is None


def test_get_load() -> None:
    answer = capture_json(f"{H200}/dflash_tp1/endpoints.json")["/get_load"]
    found = read_get_load(json.loads(answer["body"]))
    assert found is not None
    assert (found.running, found.queued) == (0, 0)
    assert not known(found.gen_tok_s)
    busy = read_get_load([{"num_reqs": 5, "num_waiting_reqs": 2, "num_tokens": 9}])
    assert busy is not None
    assert (busy.running, busy.queued) == (3, 2)


def test_metrics_of_both_versions() -> None:
    new = read_metrics((CAPTURES / CPU / "http" / "metrics.txt").read_text("utf-8"))
    old = read_metrics("\n".join(metric_rows(f"{H200}/dflash_tp1/metrics.jsonl.gz")[29]["lines"]))
    assert new is not None
    assert old is not None
    assert (old.running, old.queued, old.accept_length, old.tokens_decoded) == (1, 0, 1.0, 900)
    assert old.gen_tok_s == pytest.approx(121.2, abs=0.1)
    assert known(new.running)
    assert read_metrics("# nothing of SGLang's\nup 1\n") is None


def test_frozen_gauges_are_stale() -> None:
    """tp2 ends with 64 running and 21,000 tok/s for seconds after the last request."""
    rows = metric_rows(f"{H200}/tp2/metrics.jsonl.gz")
    readings = [(row["t"], read_metrics("\n".join(row["lines"]))) for row in rows]
    judged = [live(before, now, t - before_t) for (before_t, before), (t, now) in pairwise(readings) if now is not None]
    last = judged[-1]
    assert known(last.gauges.running)
    assert last.gauges.running > 0
    assert last.idle is True
    assert {"running", "gen_tok_s"} <= set(last.stale)
    working = [one for one in judged if one.idle is False]
    assert working
    assert all(not one.stale for one in working)
    assert max(one.gauges.gen_tok_s for one in working if known(one.gauges.gen_tok_s)) > 1000


def test_restart_and_first_reading_judge_nothing() -> None:
    reading = Gauges(source="metrics", running=1, tokens_decoded=10)
    assert not known(live(None, reading, 1.0).idle)
    assert not known(live(Gauges(source="metrics", tokens_decoded=99), reading, 1.0).idle)


def test_idle_loads_show_no_throughput() -> None:
    reading = Gauges(source="loads", running=0, queued=0, gen_tok_s=523.0)
    judged = live(None, reading, 1.0)
    assert (judged.idle, judged.gauges.gen_tok_s, judged.stale) == (True, 0.0, ())


def test_log_gauges() -> None:
    story = story_of(log_bytes(f"{H200}/dflash_tp1/server.log"))
    found = read_log(story.decode)
    assert found is not None
    assert (found.running, found.accept_length) == (48, 1.0)
    gap = read_log(story.decode, averaged_over_gap=True)
    assert gap is not None
    assert not known(gap.gen_tok_s)
    assert read_log(None) is None


def test_argv_in_every_spelling() -> None:
    flags = read_flags(
        [
            "python",
            "-m",
            "sglang.launch_server",
            "--tp=8",
            "--trust_remote_code",
            "--lora-paths",
            "a",
            "b",
            "--port",
            "1",
        ],
        {"tp": "tp-size"},
    )
    assert flags == {"tp-size": ("8",), "trust-remote-code": (), "lora-paths": ("a", "b"), "port": ("1",)}


def test_argv_differences() -> None:
    recipe = ["--tp", "8", "--mem-fraction-static", "0.90", "--api-key", "***", "--trust-remote-code"]
    running = ["--tp-size", "4", "--mem-fraction-static", "0.9", "--api-key", "***", "--disable-radix-cache"]
    found = differences(recipe, running, {"tp": "tp-size"})
    assert [one.sentence for one in found] == [
        "--disable-radix-cache: recipe absent, running set",
        "--tp-size: recipe 8, running 4",
        "--trust-remote-code: recipe set, running absent",
    ]


def _answer(text: str, reason: str | None = "stop", tokens: int | None = 20) -> bytes:
    choice = {"message": {"role": "assistant", "content": text}, "finish_reason": reason}
    return json.dumps({"choices": [choice], "usage": {"completion_tokens": tokens}}).encode()


def test_smoke_passes() -> None:
    found = smoke.judge(200, _answer("The capital of France is Paris."))
    assert (found.ok, found.problems, found.finish_reason, found.tokens) == (True, (), "stop", 20)
    assert found.answer == "The capital of France is Paris."


@pytest.mark.parametrize(
    ("status", "body", "problem"),
    [
        (401, b'{"error":"Unauthorized"}', "API key"),
        (200, b"<html>", "form"),
        (200, b"[]", "form"),
        (200, _answer("x", None), "finish_reason"),
        (200, _answer("", "stop", 0), "not one token"),
        (200, _answer("!" * 32, "length", 32), "16 times"),
        (200, _answer(" the" * 16, "length", 32), "16 times"),
        (200, _answer("caf\ufffd", "length", 2), "U+FFFD"),
    ],
)
def test_smoke_fails(status: int, body: bytes, problem: str) -> None:
    found = smoke.judge(status, body)
    assert not found.ok
    assert problem in found.problems[0]


def test_dummy_weights_may_say_anything() -> None:
    assert smoke.judge(200, _answer("\ufffd" * 32, "length", 32), dummy=True).ok
    assert not smoke.judge(200, _answer("", "stop", 0), dummy=True).ok


def test_short_answer_may_repeat_a_letter() -> None:
    assert smoke.judge(200, _answer("-" * 40, "stop", 3)).ok


def test_request_is_one_chat_at_temperature_zero() -> None:
    body = json.loads(smoke.request_body("m"))
    assert (body["temperature"], body["max_tokens"], body["model"]) == (0, 32, "m")
    assert "Authorization: Bearer YOUR-KEY" in smoke.curl("http://127.0.0.1:30000", "m", keyed=True)
    assert smoke.curl("http://127.0.0.1:30000", "m")[2] == "http://127.0.0.1:30000/v1/chat/completions"


def test_unknown_is_not_zero() -> None:
    assert Gauges(source="log").running == Unknown("this source does not have it")


def test_a_server_is_unproved_by_three_silences_in_a_row_and_told_once() -> None:
    gauging, loads = Gauging("box", CleanText("s1")), read_loads(capture_json(f"{CPU}/http/v1_loads.txt"))
    answers = [None, None, loads, None, None, loads, None, None, None, None]
    told = [[type(fact) for fact in gauging.take(answer, float(at))] for at, answer in enumerate(answers)]
    heard: list[type] = [ServerGauged]
    assert told == [[], [], heard, [], [], heard, [], [], [ServerUnproved], []]
