"""Charts: exact frames, gaps, markers, legends, the same as SVG."""

from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.app import App, ComposeResult

from widgets.axes import scale_for, tick_text, ticks
from widgets.cells import spans_width
from widgets.chart import ChartView
from widgets.chart_model import Axis, Chart, Level, Series
from widgets.chart_svg import to_svg
from widgets.chart_table import table_rows
from widgets.chart_text import chart_rows
from widgets.glyphs import ASCII, UNICODE

SWEEP = Chart(
    Axis("concurrency", log=True),
    Axis("tok/s", zero=True),
    (
        Series("TP8", [1, 4, 16, 64], [100, 400, 1200, 3900], [90, 380, 1100, 3500], [110, 420, 1300, 4300]),
        Series("EP8", [1, 4, 16, 64], [80, None, 1000, 3000], flagged=frozenset({3}), value="3 000 ± 40"),
        Series("last week", [1, 64], [90, 3500], ghost=True),
    ),
    (Level(2000, "goal"),),
)


def lines(chart: Chart, width: int, height: int, ascii: bool = False) -> list[str]:
    return [
        "".join(span.text for span in row).rstrip()
        for row in chart_rows(chart, width, height, ASCII if ascii else UNICODE)
    ]


def test_a_sweep_exactly() -> None:
    assert lines(SWEEP, 60, 14) == [
        "tok/s vs concurrency  ● TP8 3900  ▲ EP8 3 000 ± 40",
        "·· last week 3500",
        "    │",
        "    │                                                      ⢰",
        "4000┤                                                    ⢀⠤●",
        "    │                                                ⡀⣠⠔⠎⠑ ⠉",
        "    │ goal                                  ⡀⢀ ⠄⠐ ⢂⡨⠒⠉ ⢀⡠⠔⠒△",
        "2000┤⡀⢀ ⡀⢀ ⡀⢀ ⡀⢀ ⡀⢀ ⡀⢀ ⡀⢀ ⡀⢀ ⡀⢀ ⡀⢀ ⡀⢀ ⡄⢠ ⡂⢈ ⡀⢀ ⣀⢤⠊⣁⣠⠤⡒⢉⠁⡀⢀ ⡀",
        "    │                      ⢀ ⡀⠠ ⠂⠈ ⠁       ⢀⡠⢔⣉⠤⠒⠊⠁",
        "    │               ⡀⠠ ⠂⠐ ⠁          ⣀⣀⣀⠤▲⠶⠕⠊⠁",
        "    │      ⡀⠠ ⠄⠐ ⠁⠈     ⢀⣀⣀⡠⠤⠤⠔⠒⠒⠒⠉⠉⠉",
        "   0┤▲⠴⠤⠦⠜⠒⠒⠒⠒⠒⠒⠒⠒⠊⠉⠉⠉⠉●⠁",
        "    └┬─────────────────┬─────────────────┬─────────────────┬",
        "     1                 4                16                64",
    ]


def test_flagged_points_are_hollow_and_gaps_stay_gaps() -> None:
    series = (Series("a", [0, 1, 2], [1, 5, 9], flagged=frozenset({1})), Series("b", [0, 1, 2], [3, None, 6]))
    shown = "\n".join(lines(Chart(series=series), 60, 20)[1:])
    assert [shown.count(shape) for shape in "●○▲△"] == [2, 1, 2, 0]
    gap = Chart(y=Axis(zero=True), series=(Series("a", range(100), [1.0] * 40 + [None] * 20 + [1.0] * 40, value="v"),))
    top = lines(gap, 60, 10)[1]
    assert "    " in top.split("┤", 1)[1].strip()


def test_ascii_charts_are_ascii_and_readable_without_colour() -> None:
    shown = lines(SWEEP, 60, 14, ascii=True)
    assert "".join(shown).isascii()
    assert "A TP8" in shown[0]
    assert sum(line.count("b") for line in shown[2:]) == 1


def test_the_peak_of_a_long_history_is_never_lost() -> None:
    ys: list[float | None] = [1.0] * 50_000
    ys[31_234] = 9.0
    chart = Chart(y=Axis("y", low=0, high=10), series=(Series("a", range(50_000), ys),))
    row = lines(chart, 100, 24)[3]
    assert any(0x2800 < ord(char) < 0x2900 for char in row)


def test_a_window_shows_only_itself() -> None:
    whole = Series("a", range(1_000), [float(at) for at in range(1_000)], flagged=frozenset({5, 995}))
    window = Chart(Axis(low=990, high=999), series=(whole,)).windowed().series[0]
    assert list(window.xs) == list(range(989, 1_000))
    assert window.flagged == {6}


@given(
    st.lists(st.one_of(st.none(), st.floats(allow_nan=True, allow_infinity=True, width=32)), max_size=40),
    st.integers(1, 70), st.integers(1, 20), st.booleans(), st.booleans(),
)  # fmt: skip
def test_any_values_paint_inside_the_frame(
    ys: list[float | None], width: int, height: int, log: bool, ascii: bool
) -> None:
    series = Series("x" * 20, range(len(ys)), ys, lows=ys, highs=ys, flagged=frozenset({0, 99}))
    chart = Chart(Axis(log=log), Axis(log=log), (series, series), (Level(3, "level"),))
    rows = chart_rows(chart, width, height, ASCII if ascii else UNICODE)
    assert len(rows) <= height
    assert all(spans_width(row) <= width for row in rows)
    ElementTree.fromstring(to_svg(chart))


@given(st.floats(-1e9, 1e9), st.floats(-1e9, 1e9), st.integers(2, 9))
def test_linear_scales_hold_the_values_and_ticks_lie_inside(a: float, b: float, count: int) -> None:
    scale = scale_for([a, b])
    slack = (abs(a) + abs(b)) * 1e-8
    assert scale.low <= min(a, b) + slack
    assert scale.high >= max(a, b) - slack
    places = [scale.place(value) or 0.0 for value in ticks(scale, count)]
    assert places == sorted(places)
    assert all(-1e-6 <= place <= 1 + 1e-6 for place in places)


def test_log_ticks_are_the_data_when_they_are_few() -> None:
    scale = scale_for([1, 8, 64, 256], log=True)
    assert ticks(scale, 8, [1, 8, 64, 256]) == [1, 8, 64, 256]
    assert ticks(scale_for([1, 100_000], log=True), 6) == [1, 10, 100, 1_000, 10_000, 100_000]
    assert scale.place(0) is None
    assert scale.place(256) == 1.0


@pytest.mark.parametrize(
    ("value", "text"), [(0, "0"), (64, "64"), (0.25, "0.25"), (6000, "6000"), (15_000, "15k"), (2.5e6, "2.5M")]
)
def test_tick_texts(value: float, text: str) -> None:
    assert tick_text(value) == text


def test_more_curves_than_the_legend_holds_are_counted() -> None:
    chart = Chart(series=tuple(Series(f"a long name {at}", [0, 1], [at, at]) for at in range(8)))
    assert lines(chart, 40, 12)[2].endswith("more")


def test_the_svg_is_self_contained_and_takes_no_markup_from_names() -> None:
    hostile = Series('</text><script>alert(1)</script>\x1b]52;c;x\x07"', [1, 2], [1, 2])
    svg = to_svg(Chart(title="a & b <c>", series=(hostile,)))
    root = ElementTree.fromstring(svg)
    assert not list(root.iter("{http://www.w3.org/2000/svg}script"))
    assert "\x1b" not in svg
    assert "http" not in svg.replace("http://www.w3.org/2000/svg", "")
    assert "url(" not in svg


def test_the_svg_shows_what_the_screen_shows() -> None:
    svg = to_svg(SWEEP)
    assert svg.count('class="mark hollow"') == 1
    assert svg.count('class="bar"') == 4
    assert svg.count('class="level"') == 1
    for text in ("TP8", "3 000 ± 40", "goal", "concurrency"):
        assert text in svg


def test_the_same_chart_as_numbers() -> None:
    rows = ["".join(span.text for span in row).rstrip() for row in table_rows(SWEEP, 60, 14, UNICODE)]
    assert rows == [
        "tok/s vs concurrency",
        "concurrency   TP8    EP8  last week",
        "          1   100     80         90",
        "          4   400      –",
        "         16  1200   1000",
        "         64  3900  3000○       3500",
    ]
    newest = table_rows(Chart(series=(Series("a", range(900), [1.0] * 900),)), 30, 6, ASCII)
    assert [row[0].text.strip() for row in newest] == ["", "x", "896", "897", "898", "899"]
    assert all(span.text.isascii() for row in newest for span in row)


def test_a_guide_is_a_line_without_markers_and_value() -> None:
    guide = Chart(series=(Series("points", [1, 2], [1, 2], line=False), Series("SLO", [1, 1], [0, 2], guide=True)))
    shown = lines(guide, 50, 10)
    assert shown[0].split() == ["●", "points", "2", "··", "SLO"]
    assert "▲" not in "".join(shown)
    assert to_svg(guide).count('class="line"') == 2  # in the plot and in the legend


def test_points_carry_their_labels_and_the_right_edge_keeps_them() -> None:
    points = Series("ep4", (1, 2, 4), (8, 6, 2), line=False, labels=("C=256", "C=64", "C=1"))
    shown = "\n".join(lines(Chart(Axis("tok/s/user"), Axis("tok/s/GPU", zero=True), (points,)), 60, 14))
    assert "●C=256" in shown
    assert "●C=64" in shown
    assert "C=1●" in shown
    picture = to_svg(Chart(series=(points,)))
    assert [label in picture for label in points.labels] == [True] * 3
    assert 'text-anchor="end">C=1<' in picture


async def test_a_chart_below_its_least_size_is_a_table_until_t_is_pressed() -> None:
    class Shown(App[None]):
        def compose(self) -> ComposeResult:
            yield ChartView()

    app = Shown()
    async with app.run_test(size=(39, 12)) as pilot:
        view = app.query_one(ChartView)
        view.set_chart(Chart(Axis("concurrency"), series=(Series("ep4", (1, 64), (98, 1530)),)))
        await pilot.pause()
        assert "└" not in text_of(view)
        assert "64" in text_of(view)
        view.toggle_table()
        assert "└" in text_of(view)
        view.toggle_table()
        await pilot.resize_terminal(40, 10)
        assert "└" in text_of(view)


def text_of(view: ChartView) -> str:
    return "\n".join(view.render_line(y).text for y in range(view.size.height))


@pytest.mark.parametrize(
    ("low", "high", "values"), [(10, 30, [10, 15, 20, 25, 30]), (100, 300, [100, 150, 200, 250, 300])]
)
def test_a_short_logarithmic_axis_has_round_ticks(low: float, high: float, values: list[float]) -> None:
    assert ticks(scale_for((low, high), log=True), 5) == values
