"""What holds for every timeline: the invariants beside the vectors."""

from __future__ import annotations

import itertools
import json
import math
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from console.bench import acceptance, stats, throughput, timeline
from console.payloads.load import steady
from console.payloads.load.backends import ChatReader, NativeReader
from console.payloads.load.http import Response
from console.payloads.load.sse import Splitter
from console.values import Unknown, known

GAPS = st.lists(st.tuples(st.integers(0, 400_000), st.integers(1, 9)), min_size=1, max_size=30)
VECTORS = Path(__file__).parent.parent / "vectors" / "metrics.json"


def a_timeline(gaps: list[tuple[int, int]], t0: float = 0.0) -> timeline.Request:
    times = [t0 + us * 1e-6 for us in itertools.accumulate(us + 1 for us, _ in gaps)]
    events = [(t, n, "content") for t, (_, n) in zip(times, gaps, strict=True)]
    return timeline.Request.from_events(t0, events, sum(n for _, n in gaps), finish="length")


@given(GAPS)
def test_token_gaps_average_to_the_decode_time_per_token(gaps: list[tuple[int, int]]) -> None:
    request = a_timeline(gaps)
    seen, itl, icl = timeline.latencies(request), timeline.token_gaps(request), timeline.chunk_gaps(request)
    assert len(itl) == seen.output_tokens - request.tokens[0]
    assert math.isclose(math.fsum(icl), request.times[-1] - request.times[0], abs_tol=1e-9)
    if len(gaps) > 1:
        assert known(seen.tpot_decode)
        assert math.isclose(math.fsum(itl) / len(itl), seen.tpot_decode, rel_tol=1e-6, abs_tol=1e-12)
    assert known(seen.e2e)
    assert known(seen.ttft)
    assert known(seen.ttfo)
    assert seen.e2e >= seen.ttft
    assert seen.ttfo >= seen.ttft


@given(GAPS, st.integers(0, 5_000_000), st.integers(1, 9_000_000), st.integers(0, 9_000_000))
def test_windows_add_up_and_the_peak_is_never_below_the_mean(
    gaps: list[tuple[int, int]], start: int, first: int, second: int
) -> None:
    requests = [a_timeline(gaps), a_timeline(gaps[::-1], 0.01)]
    a, b, c = start * 1e-6, (start + first) * 1e-6, (start + first + second + 1) * 1e-6
    left, right, both = (throughput.window(requests, *edges) for edges in ((a, b), (b, c), (a, c)))
    assert left.tokens + right.tokens == both.tokens
    assert sum(both.bins) == both.tokens
    assert both.peak_tps >= both.tps


@given(GAPS, st.integers(0, 8))
def test_merging_events_of_one_time_changes_no_sum(gaps: list[tuple[int, int]], extra: int) -> None:
    whole = a_timeline(gaps)
    split = timeline.Request(
        whole.t0,
        (*whole.times, *([whole.times[-1]] * extra)),
        (*whole.tokens[:-1], whole.tokens[-1], *([1] * extra)),
        0,
        usage=sum(whole.tokens) + extra,
    )
    merged = timeline.Request(
        whole.t0,
        whole.times,
        (*whole.tokens[:-1], whole.tokens[-1] + extra),
        0,
        usage=sum(whole.tokens) + extra,
    )
    assert timeline.latencies(split).output_tokens == timeline.latencies(merged).output_tokens
    end = whole.times[-1] + 1
    assert throughput.window([split], 0, end).bins == throughput.window([merged], 0, end).bins


@given(GAPS, st.integers(-1_000_000, 1_000_000))
def test_shifting_the_clock_changes_nothing(gaps: list[tuple[int, int]], shift: int) -> None:
    here, there = timeline.latencies(a_timeline(gaps)), timeline.latencies(a_timeline(gaps, shift * 1e-3))
    for name in ("ttft", "e2e", "tpot", "queue"):
        x, y = getattr(here, name), getattr(there, name)
        assert known(x) == known(y)
        assert not known(x) or math.isclose(x, y, abs_tol=1e-6)


@given(st.lists(st.tuples(st.floats(0, 10), st.floats(0.01, 5)), min_size=1, max_size=40))
def test_concurrency_is_bounded_and_its_mean_is_the_integral(spans: list[tuple[float, float]]) -> None:
    intervals = [(start, start + length) for start, length in spans]
    seen = throughput.concurrency(intervals, 0, 15)
    assert seen.mean <= seen.peak <= len(spans)
    assert math.isclose(seen.mean * 15, sum(length for _, length in spans), rel_tol=1e-9)


@given(st.integers(1, 8), st.integers(5, 40), st.floats(0.1, 2.0))
def test_littles_law_in_a_closed_loop(users: int, rounds: int, service: float) -> None:
    """C users without pauses: C = request rate × E2E over any whole number of rounds."""
    intervals = [(i * service, (i + 1) * service) for _ in range(users) for i in range(rounds)]
    length = rounds * service
    seen = throughput.concurrency(intervals, 0, length)
    assert math.isclose(seen.mean, len(intervals) / length * service, rel_tol=1e-6)
    assert seen.peak == users


@given(st.lists(st.lists(st.integers(0, 30), min_size=4, max_size=4).filter(any), min_size=1, max_size=6))
def test_acceptance_identities(histograms: list[list[int]]) -> None:
    k = 3
    counters = [
        timeline.Speculation(sum(h), sum(i * n for i, n in enumerate(h)), sum(h) * k, tuple(h)) for h in histograms
    ]
    pooled = acceptance.pool(counters)
    singles = [acceptance.pool([counter]).accept_length for counter in counters]
    assert known(pooled.accept_length)
    assert 1 <= pooled.accept_length <= k + 1
    assert min(singles) - 1e-9 <= pooled.accept_length <= max(singles) + 1e-9
    assert math.isclose(pooled.accept_length, 1 + math.fsum(pooled.marginal), rel_tol=1e-9)
    assert list(pooled.marginal) == sorted(pooled.marginal, reverse=True)


def test_half_a_histogram_is_no_histogram() -> None:
    with_hist, without = timeline.Speculation(2, 2, 6, (1, 0, 1)), timeline.Speculation(5, 5, 15)
    assert acceptance.pool([with_hist, without]).marginal == ()
    assert acceptance.pool([with_hist, without]).accept_length == 2.0


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=50), st.floats(0, 100), st.floats(0, 100))
def test_percentiles_are_monotone_and_inside(values: list[float], p: float, q: float) -> None:
    low, high = stats.percentiles(values, sorted((p, q)))
    assert min(values) <= low <= high <= max(values)


@given(st.floats(1, 200), st.floats(0.5001, 0.9999))
def test_students_t_is_symmetric_and_beyond_the_normal(df: float, p: float) -> None:
    t = stats.student_t_quantile(p, df)
    assert math.isclose(t, -stats.student_t_quantile(1 - p, df), rel_tol=1e-6, abs_tol=1e-9)
    assert t >= stats.student_t_quantile(p, df * 2) - 1e-9


def test_undefined_stays_undefined() -> None:
    assert stats.percentile([], 99) == Unknown("no samples")
    assert throughput.goodput([], {"ttft": 1.0}, 10).attainment == Unknown("nothing was sent")
    assert stats.welch([1.0], [2.0]).verdict == "no difference shown"
    assert stats.repeats([5.0]).ci == Unknown("fewer than two repeats")
    assert acceptance.speedup([]).speedup == Unknown("a speed is missing")
    assert throughput.headline(10, 2, 0).tps_per_gpu == Unknown("the GPUs of the server are not known")


def test_knee_needs_a_bend() -> None:
    bending = [(1, 100), (2, 200), (4, 400), (8, 780), (16, 800), (32, 810)]
    assert throughput.knee(bending) == 8
    assert throughput.knee(bending[:4]) == Unknown("fewer than five points")
    assert throughput.knee([(c, 50.0 * c) for c in (1, 2, 4, 8, 16)]) == Unknown("the curve still rises")


@given(st.lists(st.floats(1, 1e4), min_size=10, max_size=10))
def test_worker_and_laptop_agree_on_convergence(rates: list[float]) -> None:
    seen = stats.batch_means(rates)
    assert known(seen.relative_half_width)
    assert known(seen.lag1)
    if abs(seen.relative_half_width - steady.WIDTH) > 1e-6 and abs(seen.lag1 - steady.LAG1) > 1e-9:
        narrow = seen.relative_half_width <= steady.WIDTH and seen.lag1 < steady.LAG1
        assert steady.converged(rates) == narrow
    assert steady.stationary(rates) == stats.stationary(rates)


STREAM = next(v["input"]["hex"] for v in json.loads(VECTORS.read_text())["vectors"] if v["id"] == "V21")


@settings(max_examples=60)
@given(st.lists(st.integers(0, 400), max_size=12), st.lists(st.integers(1, 60), min_size=1, max_size=20))
def test_any_cut_of_the_bytes_gives_the_same_events(cuts: list[int], sizes: list[int]) -> None:
    """Chunked HTTP around SSE, the chunks and the reads cut anywhere."""
    body, head = bytes.fromhex(STREAM), b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    chunks, place = [], 0
    for size in itertools.cycle(sizes):
        if place >= len(body):
            break
        piece = body[place : place + size]
        chunks.append(b"%x;ext=1\r\n%s\r\n" % (len(piece), piece))
        place += size
    wire = head + b"".join(chunks) + b"0\r\n\r\n"
    edges = [0, *sorted(min(cut, len(wire)) for cut in cuts), len(wire)]
    response, splitter, seen = Response(), Splitter(), []
    for a, b in itertools.pairwise(edges):
        for piece in response.feed(wire[a:b]):
            seen += splitter.feed(piece)
    assert response.complete
    assert response.status == 200
    assert seen == Splitter().feed(body)


@given(st.text(max_size=60), st.integers(1, 5000), st.integers(0, 9))
def test_the_native_shortcut_reads_what_a_parser_reads(text: str, count: int, step: int) -> None:
    """The text may hold the searched keys: quotes inside a JSON string are escaped."""
    tricky = text + '"completion_tokens":7,"finish_reason":null'
    reader = NativeReader()
    for total in (count, count + step):
        meta = {"finish_reason": None, "completion_tokens": total, "prompt_tokens": 3}
        payload = json.dumps({"text": tricky, "meta_info": meta}, separators=(",", ":")).encode()
        new = reader.read(payload)
    assert reader.count == count + step
    assert new == step
    assert reader.prompt_tokens == 3


def test_an_error_event_fails_the_request() -> None:
    for reader in (NativeReader(), ChatReader()):
        assert reader.read(b'{"error":{"message":"boom","code":500}}') == 0
        assert reader.error == "server_error: boom"


@pytest.mark.parametrize(
    "bad", [b"SSH-2.0-x\r\n\r\n", b"x" * 70000, b"HTTP/1.1 200\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"]
)
def test_what_is_no_http_is_refused(bad: bytes) -> None:
    from console.payloads.load.http import BadResponse

    with pytest.raises(BadResponse):
        Response().feed(bad)
