"""Bars and sparklines, exactly."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from widgets.cells import Bar, Spark
from widgets.gauges import bar_spans, spark_spans
from widgets.glyphs import ASCII, UNICODE, Glyphs


def bar(ratio: float | None, width: int = 8, tick: float | None = None, glyphs: Glyphs = UNICODE) -> str:
    return "".join(span.text for span in bar_spans(Bar(ratio, tick=tick), width, glyphs))


@pytest.mark.parametrize(
    ("ratio", "text"),
    [
        (0.0, "········"), (1.0, "████████"), (0.5, "████····"), (0.51, "████▏···"), (0.001, "▏·······"),
        (0.999, "███████▉"), (None, "╌╌╌╌╌╌╌╌"), (-1.0, "········"), (7.0, "████████"),
    ],
)  # fmt: skip
def test_bars_in_eighths(ratio: float | None, text: str) -> None:
    assert bar(ratio) == text


def test_bars_in_ascii() -> None:
    assert [bar(ratio, glyphs=ASCII) for ratio in (0.0, 0.5, 0.999, 1.0, None)] == [
        "........", "####....", "#######.", "########", "--------",
    ]  # fmt: skip


def test_the_tick_stands_at_the_plan_and_has_its_own_ink() -> None:
    assert bar(0.5, tick=0.75) == "████··┊·"
    assert bar(0.9, tick=0.25) == "██┊████▎"
    assert [span.ink for span in bar_spans(Bar(0.5, tick=1.0), 4, UNICODE)] == ["bar", "track", "tick"]


@given(st.floats(0, 1), st.integers(1, 40), st.one_of(st.none(), st.floats(0, 1)), st.sampled_from([UNICODE, ASCII]))
def test_bars_have_their_width_and_never_round_to_empty_or_full(
    ratio: float, width: int, tick: float | None, glyphs: Glyphs
) -> None:
    text = bar(ratio, width, tick, glyphs)
    assert len(text) == width
    if tick is None:
        assert (text == glyphs.track * width) == (ratio == 0 or (glyphs.ascii and width == 1 and ratio < 1))
        assert (text == glyphs.full * width) == (ratio == 1)


def test_sparklines_leave_gaps_blank_and_keep_the_newest() -> None:
    spans = spark_spans(Spark((9.0, 0.0, 5.0, None, 10.0), high=10.0), 4, UNICODE)
    assert [span.text for span in spans] == ["▁▅ █"]
    assert spark_spans(Spark((1.0,)), 3, UNICODE)[0].text == "  █"
    assert spark_spans(Spark(()), 3, UNICODE)[0].text == "   "
