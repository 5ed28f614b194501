"""Text in cells: cutting, fitting, wrapping, columns."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from widgets.cells import (
    Bar,
    Cell,
    Line,
    Row,
    Span,
    Spark,
    State,
    cut,
    cut_middle,
    cut_spans,
    fit,
    printable,
    spans_width,
    width_of,
)
from widgets.glyphs import ASCII, UNICODE
from widgets.layout import Column, Placed, line_spans, place_columns, row_spans, wrap_line

TEXTS = st.text(st.sampled_from("ab 模型é́🙂[]/\\ｆ-…°"), max_size=40)
WIDTHS = st.integers(0, 60)
GLYPHS = st.sampled_from([UNICODE, ASCII])


@given(TEXTS, WIDTHS)
def test_a_cut_text_fits_and_shows_that_it_was_cut(text: str, width: int) -> None:
    short = cut(text, width)
    assert cell_len(short) <= width
    if width:
        assert short == text if cell_len(text) <= width else short.endswith("…")


@given(TEXTS, WIDTHS, st.sampled_from(["left", "right", "center"]))
def test_a_fitted_text_has_exactly_the_width(text: str, width: int, align: str) -> None:
    assert cell_len(fit(text, width, align)) == width  # type: ignore[arg-type]


@given(st.lists(TEXTS, max_size=6), WIDTHS)
def test_cut_spans_fit_and_lose_nothing_silently(texts: list[str], width: int) -> None:
    spans = [Span(text) for text in texts]
    short = cut_spans(spans, width)
    assert spans_width(short) <= width
    whole, shown = "".join(texts), "".join(span.text for span in short)
    assert shown == whole or shown.endswith("…") or width == 0


@given(st.text(max_size=60))
def test_nothing_unprintable_passes(text: str) -> None:
    assert printable(text).isprintable()
    assert len(printable(text)) == len(text)


@given(st.text(max_size=60))
def test_the_ascii_set_makes_pure_ascii_of_the_same_width(text: str) -> None:
    plain = ASCII.text(text)
    assert plain.isascii()
    if len(text) == 1:
        assert width_of(plain) == width_of(printable(text))


COLUMNS = st.lists(
    st.builds(Column, st.just("t"), st.integers(1, 12), st.integers(0, 3), st.just("left"), st.integers(0, 3)),
    min_size=1,
    max_size=8,
)


@given(COLUMNS, st.integers(1, 100))
def test_columns_fit_keep_their_order_and_drop_by_priority(columns: list[Column], width: int) -> None:
    placed = place_columns(columns, width)
    assert sum(column.width for column in placed) + len(placed) - 1 <= width
    shown = [column.at for column in placed]
    assert shown == sorted(shown)
    dropped = [columns[at].priority for at in range(len(columns)) if at not in shown and columns[at].priority]
    kept = [columns[at].priority for at in shown]
    assert not dropped or min(dropped) >= max(kept)


def test_what_is_left_over_is_shared_by_flex() -> None:
    columns = [Column("a", 2), Column("b", 4, flex=1), Column("c", 4, flex=3)]
    assert [column.width for column in place_columns(columns, 32)] == [2, 9, 19]


@given(
    st.lists(st.one_of(st.builds(Cell, TEXTS), st.builds(Bar, st.floats(0, 1))), max_size=5),
    COLUMNS,
    st.integers(1, 80),
    GLYPHS,
)
def test_a_row_is_as_wide_as_its_columns(cells: list[Cell], columns: list[Column], width: int, glyphs: object) -> None:
    placed = place_columns(columns, width)
    spans = row_spans(cells, columns, placed, glyphs)  # type: ignore[arg-type]
    assert spans_width(spans) == sum(column.width for column in placed) + len(placed) - 1


@given(TEXTS, TEXTS, WIDTHS)
def test_a_line_has_exactly_the_width(left: str, right: str, width: int) -> None:
    spans = line_spans(Line((Cell(left),), (Cell(right),)), width, UNICODE)
    assert spans_width(spans) <= width
    assert spans_width(spans) == width or not width or "…" in "".join(span.text for span in spans)


def test_the_right_part_stays_when_the_left_is_cut() -> None:
    spans = line_spans(Line((Cell("a long sentence of many words"),), (Cell("[r] again"),)), 24, UNICODE)
    assert "".join(span.text for span in spans) == "a long sentenc… [r] again"[:24] or spans_width(spans) == 24
    assert spans[-1].text == "[r] again"


@given(st.lists(st.text("abc模", min_size=1, max_size=50), max_size=12), st.integers(14, 40))
def test_wrapping_keeps_every_word_and_fits(words: list[str], width: int) -> None:
    line = Line((State("ok", "x"), Cell(" "), Cell(" ".join(words))), indent=2)
    lines = wrap_line(line, width, UNICODE)
    texts = ["".join(cell.text for cell in part.left if isinstance(cell, Cell)) for part in lines]
    if len(lines) > 1:
        assert "".join(texts).replace(" ", "") == "✓x" + "".join(words)
        assert all(cell_len(text) <= width for text in texts)
        assert all(text.startswith("  ") for text in texts[1:])


@given(TEXTS, st.integers(0, 40))
def test_a_cut_in_the_middle_fits_and_shows_both_ends(text: str, width: int) -> None:
    shown = cut_middle(text, width)
    assert width_of(shown) <= width
    assert shown == text or "…" in shown or not width
    if "…" in shown and width >= 7:
        assert shown[0] == text[0]


def test_names_that_begin_alike_do_not_look_alike() -> None:
    column = Column("repository", 14, middle=True)
    names = ["moonshotai/Kimi-K2.6", "moonshotai/Kimi-K2.6-DFlash"]
    shown = ["".join(s.text for s in row_spans([Cell(n)], [column], [Placed(0, 14)], UNICODE)) for n in names]
    assert shown == ["moonsh…mi-K2.6", "moonsh…-DFlash"]


def wrapped(width: int, *pieces: Cell | Bar, indent: int = 0) -> list[str]:
    lines = wrap_line(Line(pieces, indent=indent), width, UNICODE)
    return ["".join(cell.text for cell in line.left if isinstance(cell, Cell)) for line in lines]


def test_a_line_breaks_between_its_items_and_not_inside_one() -> None:
    gauges = (Cell("0"), Cell(" running", "label"), Cell("  KV 0 %"), Cell(" "), Bar(0.0, width=10))
    pieces = (*gauges, Cell("  cache hits 0 %"), Cell("  accept length 2.91"), Cell("  of at most 256"))
    for width in range(20, 80):
        lines = wrapped(width, *pieces)
        for item in ("0 running", "KV 0 % ··········", "cache hits 0 %", "accept length 2.91", "of at most 256"):
            assert any(item in line for line in lines)


def test_a_number_stays_with_its_unit_and_a_word_of_two_inks_is_one_word() -> None:
    assert wrapped(20, Cell("the drafter needs 12.5 GB more on this disk")) == [
        "the drafter needs", "12.5 GB more on this", "disk",
    ]  # fmt: skip
    assert wrapped(20, Cell("press the small key "), Cell("[", "dim"), Cell("esc", "key"), Cell("]", "dim")) == [
        "press the small key", "[esc]",
    ]  # fmt: skip


def test_pieces_are_records_that_compare() -> None:
    row = Row((Cell("a"), Spark((1.0, None)), Bar(None), State("warn", "hot")), key="k")
    assert row == Row((Cell("a"), Spark((1.0, None)), Bar(None), State("warn", "hot")), key="k")


@pytest.mark.parametrize(("kind", "text"), [("ok", "✓ up"), ("fail", "✗ up"), ("warn", "! up"), ("unknown", "? up")])
def test_a_state_is_glyph_and_word(kind: str, text: str) -> None:
    spans = line_spans(Line((State(kind, "up"),)), 4, UNICODE)  # type: ignore[arg-type]
    assert [span.text for span in spans] == [text]
    assert spans[0].ink == kind
