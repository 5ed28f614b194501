"""The braille canvas against exact frames."""

from hypothesis import given
from hypothesis import strategies as st

from widgets.braille import Canvas


def text(canvas: Canvas, ascii: bool = False) -> list[str]:
    return ["".join(span.text for span in row) for row in canvas.rows(ascii)]


def test_each_dot_is_its_bit() -> None:
    for x in range(2):
        for y in range(4):
            canvas = Canvas(1, 1)
            canvas.run(x, y, y, "")
            bit = ((0x01, 0x02, 0x04, 0x40), (0x08, 0x10, 0x20, 0x80))[x][y]
            assert text(canvas) == [chr(0x2800 + bit)]


def test_a_diagonal_and_a_vertical() -> None:
    canvas = Canvas(4, 2)
    canvas.line(0, 7, 7, 0, "")
    assert text(canvas) == ["  ⡠⠊", "⡠⠊  "]
    tall = Canvas(1, 2)
    tall.line(0, 0, 0, 7, "")
    assert text(tall) == ["⡇", "⡇"]
    assert text(tall, ascii=True) == [":", ":"]


@given(st.integers(-5, 25), st.integers(-5, 25), st.integers(-5, 25), st.integers(-5, 25))
def test_a_line_touches_its_ends_and_has_no_holes(x0: int, y0: int, x1: int, y1: int) -> None:
    canvas = Canvas(10, 5)
    canvas.line(x0, y0, x1, y1, "a")
    dots = lit(canvas)
    for x, y in ((x0, y0), (x1, y1)):
        if 0 <= x < 20 and 0 <= y < 20:
            assert (x, y) in dots
    low, high = sorted((x0, x1))
    inside = min(y0, y1) >= 0 and max(y0, y1) < 20
    if inside:
        assert {x for x, _ in dots} == set(range(max(0, low), min(19, high) + 1))
        for x in range(max(0, low), min(19, high)):
            mine, next_ = {y for at, y in dots if at == x}, {y for at, y in dots if at == x + 1}
            assert any(abs(a - b) <= 1 for a in mine for b in next_)


def lit(canvas: Canvas) -> set[tuple[int, int]]:
    """The dots that are set, read back from the glyphs."""
    dots: set[tuple[int, int]] = set()
    for row, line in enumerate(text(canvas)):
        for column, char in enumerate(line):
            bits = ord(char) - 0x2800 if char != " " else 0
            for side, column_bits in enumerate(((0x01, 0x02, 0x04, 0x40), (0x08, 0x10, 0x20, 0x80))):
                dots |= {(2 * column + side, 4 * row + y) for y, bit in enumerate(column_bits) if bits & bit}
    return dots


def test_crossing_curves_share_a_cell_and_the_later_has_the_ink() -> None:
    canvas = Canvas(2, 1)
    canvas.run(0, 0, 0, "first")
    canvas.run(0, 3, 3, "second")
    canvas.run(3, 1, 1, "first")
    (row,) = canvas.rows()
    assert [(span.text, span.ink) for span in row] == [("⡁", "second"), ("⠐", "first")]


def test_marks_stand_over_dots_and_nothing_leaves_the_canvas() -> None:
    canvas = Canvas(3, 1)
    canvas.level(2, "level")
    canvas.mark(2, 2, "●", "a")
    canvas.mark(99, 0, "x", "a")
    canvas.run(99, 0, 3, "a")
    canvas.run(0, -9, -1, "a")
    assert text(canvas) == ["⠄● "]
