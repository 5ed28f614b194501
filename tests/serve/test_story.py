"""Phases, remaining time and remarks from whole logs."""

from __future__ import annotations

import pytest

from console.serve.eta import phase_seconds, remaining_s
from console.serve.remarks import actuals, remarks
from console.values import Unknown
from tests.support.sglang import H200, log_bytes, parse, story_of

DFLASH = f"{H200}/dflash_tp1/server.log"


def test_draft_block_follows_the_targets() -> None:
    story = story_of(log_bytes(DFLASH))
    assert [(one.phase, one.draft) for one in story.phases] == [
        ("imports", False), ("distributed", False), ("weights", False), ("kv", False), ("graphs", False),
        ("draft_weights", True), ("kv", True), ("graphs", True), ("warmup", True),
    ]  # fmt: skip


def test_log_alone_is_never_ready() -> None:
    story = story_of(log_bytes(f"{H200}/ar_tp1/server.log"))
    assert story.ready_stamp == "2026-11-30 00:32:20"
    assert story.phase == "warmup"


def test_two_ranks_never_go_back() -> None:
    """TP1 is ahead in the file at times; the server's phase only advances."""
    story = story_of(log_bytes(f"{H200}/tp2/server.log"))
    assert [one.phase for one in story.phases] == ["imports", "distributed", "weights", "kv", "graphs", "warmup"]


def test_progress_belongs_to_its_phase() -> None:
    from console.serve.story import Story

    story, seen = Story(), set()
    for record in parse(log_bytes(DFLASH)):
        story.add(record)
        if story.progress is not None:
            seen.add(story.phase)
    assert seen == {"graphs"}
    assert story.progress is None


def test_remaining_time_from_an_earlier_start() -> None:
    first = phase_seconds(story_of(log_bytes(f"{H200}/ar_tp1/server.log")), launched="2026-11-30 00:30:00")
    assert first == {"imports": 41, "distributed": 2, "weights": 0, "kv": 0, "graphs": 79, "warmup": 18}
    assert remaining_s("imports", 0, [first]) == 140
    assert remaining_s("graphs", 60, [first]) == 79 - 60 + 18
    assert remaining_s("graphs", 500, [first]) == 18  # late: what is ahead still counts
    assert remaining_s("graphs", 0, []) == Unknown("first start of this recipe here")
    assert remaining_s("ready", 0, [first]) == Unknown("not starting: ready")


def test_one_slow_start_moves_the_remaining_time_of_no_phase() -> None:
    earlier = [
        {"weights": 10.0, "kv": 2.0, "graphs": 20.0},
        {"weights": 12.0, "kv": 3.0},
        {"weights": 900.0, "kv": 99.0},
    ]
    assert remaining_s("weights", 5.0, earlier) == (12.0 - 5.0) + 3.0  # medians; graphs were captured in one of three


def test_draft_seconds_are_their_own() -> None:
    seconds = phase_seconds(story_of(log_bytes(DFLASH)))
    assert (seconds["graphs"], seconds["draft_weights"], seconds["warmup"]) == (27, 3, 4)


def test_remarks() -> None:
    capped = remarks(story_of(log_bytes(DFLASH)))
    assert len(capped) == 1
    assert "capped the running requests at 48" in capped[0]
    assert remarks(story_of(log_bytes(f"{H200}/tp2/server.log"))) == ()
    small = story_of(
        b"[2026-11-30 00:00:00] max_total_num_tokens=97, max_running_requests=4, context_len=4096, "
        b"available_gpu_mem=1.0 GB\n[2026-11-30 00:00:01] KV cache pool is full. Retract requests. #retracted_reqs: 1\n"
    )
    assert "97 tokens" in remarks(small)[0]
    assert "full 1 times" in remarks(small)[1]


def test_deviation_from_the_plan_is_flagged() -> None:
    story = story_of(log_bytes(DFLASH))
    measured = actuals(story)
    assert measured == pytest.approx(
        {"weights_gb": 2.7, "draft_gb": 0.41, "tokens": 975020, "kv_gb": 104.14, "draft_kv_gb": 14.88}
    )
    said = remarks(story, {"tokens": 1_150_797, "weights_gb": 2.6, "kv_gb": 104.0})
    assert [line for line in said if "planned" in line] == ["tokens: 975,020 measured, 1,150,797 planned (-15%)"]
    (kv,) = (line for line in remarks(story, {"kv_gb": 80.0}) if "planned" in line)
    assert kv == "kv: 104.14 GiB measured, 80.00 GiB planned (+30%)"


def test_what_two_digits_of_a_log_cannot_tell_is_no_deviation() -> None:
    story = story_of(log_bytes(DFLASH))
    assert actuals(story)["draft_gb"] == 0.41
    assert not [line for line in remarks(story, {"draft_gb": 0.37}) if "planned" in line]
    assert [line for line in remarks(story, {"draft_gb": 0.35}) if "planned" in line]
