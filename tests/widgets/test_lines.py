"""Free lines and what is built on them."""

from textual.app import ComposeResult

from tests.support.frames import StyledApp, frame
from widgets.cells import Cell, Line
from widgets.header_bar import HeaderBar, Part
from widgets.lines import Lines
from widgets.next_line import KeyHint, NextLine
from widgets.phase_bar import Phase, PhaseBar
from widgets.sparkline import Sparkline


class LinesApp(StyledApp):
    def compose(self) -> ComposeResult:
        yield HeaderBar()
        yield NextLine()
        yield PhaseBar()
        yield Sparkline("tok/s")
        yield Lines(wrap=True, id="free")


async def test_the_header_drops_by_priority_and_keeps_the_rest() -> None:
    app = LinesApp()
    async with app.run_test(size=(40, 12)) as pilot:
        bar = app.query_one(HeaderBar)
        bar.set_parts(
            [Part((Cell("ct200"),)), Part((Cell("via bastion"),), 2), Part((Cell("REC"),), 1)],
            [Part((Cell("12:41"),), 3)],
        )
        await pilot.pause()
        assert frame(app).splitlines()[0] == " ct200 │ via bastion │ REC        12:41"
        await pilot.resize_terminal(26, 12)
        await pilot.pause()
        assert frame(app).splitlines()[0] == " ct200 │ REC"
        await pilot.resize_terminal(9, 12)
        await pilot.pause()
        assert frame(app).splitlines()[0] == " ct200"


async def test_next_keeps_its_keys_when_the_sentence_is_long() -> None:
    app = LinesApp()
    async with app.run_test(size=(50, 12)) as pilot:
        app.query_one(NextLine).set_next(
            "fail", "the licence of the drafter is not accepted", [KeyHint("enter", "open")], "1/2"
        )
        await pilot.pause()
        assert frame(app).splitlines()[1] == " NEXT ✗ the licence of the dra… [enter] open  1/2"


async def test_a_phase_is_never_torn_apart() -> None:
    app = LinesApp()
    async with app.run_test(size=(30, 12)) as pilot:
        app.query_one(PhaseBar).set_phases(
            [Phase("ok", "spawn", "1 s"), Phase("busy", "weights", "12/64 · eta 40 s"), Phase("off", "kv")]
        )
        await pilot.pause()
        shown = frame(app).splitlines()
        assert shown[2:5] == ["✓ spawn 1 s", "▶ weights 12/64 · eta 40 s", "· kv"]


async def test_a_sparkline_takes_the_room_between_label_and_value() -> None:
    app = LinesApp()
    async with app.run_test(size=(30, 12)) as pilot:
        app.query_one(Sparkline).set_values([0.0, None, 10.0], "10 tok/s")
        await pilot.pause()
        assert frame(app).splitlines()[3] == "tok/s             ▁ █ 10 tok/s"


async def test_free_lines_wrap_grow_and_can_be_copied() -> None:
    app = LinesApp()
    async with app.run_test(size=(30, 12)) as pilot:
        lines = app.query_one("#free", Lines)
        lines.set_lines([Line((Cell("same as ", "dim"), Cell("gpudeck serve ct200 start k26-tp8")), indent=2)])
        await pilot.pause()
        assert lines.size.height == 2
        assert frame(app).splitlines()[4:6] == ["same as gpudeck serve ct200", "  start k26-tp8"]
        await pilot.mouse_down(lines, offset=(8, 0))
        await pilot.hover(lines, offset=(14, 1))
        await pilot.mouse_up(lines, offset=(14, 1))
        assert app.screen.get_selected_text() == "gpudeck serve ct200\n  start k26-tp8"


async def test_what_a_height_leaves_no_room_for_is_cut_with_the_ellipsis() -> None:
    app = LinesApp()
    async with app.run_test(size=(20, 12)) as pilot:
        lines = app.query_one("#free", Lines)
        lines.styles.max_height = 2
        lines.set_lines([Line((Cell("one two three four five six seven eight nine"),))])
        await pilot.pause()
        shown = [line.strip() for line in frame(app).splitlines() if "one" in line or "…" in line or "eight" in line]
        assert shown[0].startswith("one two")
        assert shown[1].endswith("…")
        assert "eight" not in "".join(shown)
