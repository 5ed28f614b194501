"""SGLang's log through the parser: single lines, whole captures, any chunking."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from console.serve.parse import LogParser
from console.serve.record import Record
from tests.support.sglang import H200, READINGS, log_bytes, parse, story_of

VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "sglang_log.json").read_text("utf-8"))


def _data(record: Record) -> dict[str, Any]:
    stamped = {} if record.stamp is None else {"ts": record.stamp, "ranks": record.ranks}
    return {**stamped, "kind": record.kind, **record.fields}


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["id"])
def test_line_vector(vector: dict[str, Any]) -> None:
    found = [_data(record) for record in parse(vector["input"].encode())]
    tolerance = vector.get("tolerance", {})
    assert len(found) == len(vector["expected"])
    for got, wanted in zip(found, vector["expected"], strict=True):
        for name, slack in tolerance.items():
            if wanted.get(name) is not None:
                assert got[name] == pytest.approx(wanted.pop(name), abs=slack)
                del got[name]
        assert got == wanted


@pytest.mark.parametrize("name", READINGS)
def test_reading_of_a_capture(name: str) -> None:
    reading, story = READINGS[name], story_of(log_bytes(name))
    spans = [
        {
            "phase": span.step,
            "rank": span.rank or None,
            "begin": span.begin,
            "end": span.end,
            "seconds": span.elapsed_s,
            **({} if span.used_gb is None else {"used_gb": span.used_gb}),
            **({} if span.arch is None else {"arch": span.arch}),
        }
        for span in story.spans
    ]
    assert spans == reading["phases"]
    unfinished = [(span.step, span.rank or None, span.begin) for span in story.open_spans.values()]
    assert unfinished == [(p["phase"], p["rank"], p["begin"]) for p in reading.get("unfinished_phases", [])]
    pools = [
        {"rank": pool.rank or None, "tokens": pool.tokens, "k_gb": pool.k_gb, "v_gb": pool.v_gb} for pool in story.pools
    ]
    assert pools == reading.get("kv_cache", [])
    limits = reading.get("limits", {})
    assert {key: story.limits.get(key) for key in limits} == limits
    assert story.listening_stamp == reading["listening_at"]
    assert story.ready_stamp == reading["ready_at"]
    assert story.args_stamp == reading.get("args_ts")


@pytest.mark.parametrize("name", READINGS)
def test_errors_and_ends_of_a_capture(name: str) -> None:
    reading, story = READINGS[name], story_of(log_bytes(name))
    errors = [{**({"type": e.type} if e.type else {}), "message": e.message} for e in story.errors]
    wanted = [{key: error[key] for key in ("type", "message") if key in error} for error in reading.get("errors", [])]
    assert errors == wanted
    ends = [{"ts": record.stamp, "kind": record.kind, **record.fields} for record in story.ends]
    assert ends == reading["end_events"]


@pytest.mark.parametrize("name", [name for name, reading in READINGS.items() if "decode" in reading])
def test_decode_lines_of_a_capture(name: str) -> None:
    reading = READINGS[name]
    decodes = [record.fields for record in parse(log_bytes(name)) if record.kind == "decode"]
    assert len(decodes) == reading["decode"]["lines"]
    assert max(line["tok_s"] for line in decodes) == reading["decode"]["max_tok_s"]
    assert max(line["running"] for line in decodes) == reading["decode"]["max_running"]
    assert max(line["queue"] for line in decodes) == reading["decode"]["max_queue"]
    accepted = [line["accept_len"] for line in decodes if "accept_len" in line]
    wanted = reading["accept_len"]
    assert (bool(accepted), wanted is not None) in ((True, True), (False, False))
    if wanted:
        assert (len(accepted), accepted[0], min(accepted), max(accepted)) == tuple(
            wanted[key] for key in ("lines", "first", "min", "max")
        )


def test_frames_never_swallow_a_line() -> None:
    """Every stamp that stands in the bytes is the stamp of one record."""
    for name in READINGS:
        data = log_bytes(name)
        records = [record for record in parse(data) if record.stamp]
        assert len(records) == data.count(b"[2026-")


def test_benchmark_bar() -> None:
    bars = [record for record in parse(log_bytes(f"{H200}/ar_tp1/bench_c8.log")) if record.kind == "progress"]
    assert (bars[-1].fields["done"], bars[-1].fields["total"]) == (24, 24)


def test_growing_end_shows_the_frame() -> None:
    parser = LogParser()
    assert (
        parser.feed(
            "\rCapturing batches (bs=4 avail_mem=1.5 GB):  50%|█████     | 1/2 [00:01<00:01,  1.0it/s]".encode()
        )
        == []
    )
    assert parser.frame is not None
    assert parser.frame.fields["done"] == 1
    assert [record.kind for record in parser.close()] == ["progress"]
    assert parser.frame is None


_PIECES = st.sampled_from(
    [
        b"\r  0%|          | 0/36 [00:00<?, ?it/s]",
        "\rCapturing batches (bs=96 avail_mem=12.65 GB):  56%|█████▌    | 20/36 [00:16<00:01,  8.71it/s] ".encode(),
        b"[2026-11-30 00:41:11 TP0] Compiling a graph for dynamic shape takes 1.05 s",
        b"[2026-11-30 00:41:11] The server is fired up and ready to roll!",
        b"\x1b[1;33mwarned\x1b[0m",
        b"Traceback (most recent call last):\n  File\nAssertionError\n",
        b"\n",
        b"\r\n",
        b"\xff\xfe",
        "▎é".encode(),
    ]
)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.one_of(_PIECES, st.binary(max_size=12)), max_size=14), st.data())
def test_any_chunking_gives_the_same_records(pieces: list[bytes], data: st.DataObject) -> None:
    log = b"".join(pieces)
    whole = [_data(record) for record in parse(log)]
    cuts = sorted(data.draw(st.lists(st.integers(0, len(log)), max_size=8)))
    parser, chunked = LogParser(), []
    for start, end in zip([0, *cuts], [*cuts, len(log)], strict=True):
        chunked += parser.feed(log[start:end])
    assert [_data(record) for record in chunked + parser.close()] == whole


def test_capture_byte_by_byte() -> None:
    data = log_bytes(f"{H200}/tiny_kv_stopped/server.log")
    assert [_data(record) for record in parse(data, 1)] == [_data(record) for record in parse(data)]


def test_endless_line_is_bounded() -> None:
    parser = LogParser()
    for _ in range(40):
        assert parser.feed(b"x" * 65536) == []
    (record,) = parser.feed(b"\n")
    assert len(record.text) <= 256 * 1024


@settings(max_examples=100, deadline=None)
@given(st.one_of(st.text(max_size=80), st.from_regex(r"([#a-z]{1,6}(: |=)[-.0-9a-z]{0,6}(, |\. )){1,4}")))
def test_no_text_breaks_a_stamped_line(text: str) -> None:
    for start in (
        "Decode batch, ",
        "KV Cache is allocated. ",
        "Load weight end. ",
        "Capture ",
        "max_total_num_tokens=",
        "",
    ):
        story_of(f"[2026-11-30 00:00:00 TP0] {start}#tokens: {text}\n[2026-11-30 00:00:00] {start}{text}".encode())
