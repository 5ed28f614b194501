"""The log: ring, follow, find, filter, copy."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.app import ComposeResult

from tests.support.frames import StyledApp, frame
from widgets.find_bar import FindBar
from widgets.log_lines import LogLine, LogRing, line_text, matcher
from widgets.log_view import LogView


def numbered(first: int, end: int) -> list[LogLine]:
    return [LogLine(f"line {number}") for number in range(first, end)]


class LogApp(StyledApp):
    def __init__(self, capacity: int = 5_000) -> None:
        super().__init__()
        self.log_view = LogView(capacity=capacity)
        self.heard: list[object] = []

    def compose(self) -> ComposeResult:
        yield self.log_view
        yield FindBar()

    def on_log_view_follow_changed(self, message: LogView.FollowChanged) -> None:
        self.heard.append(message.follow)

    def on_log_view_older_wanted(self) -> None:
        self.heard.append("older")

    def on_find_bar_changed(self, message: FindBar.Changed) -> None:
        self.heard.append((message.mode, message.text))
        self.log_view.find(message.text)

    def on_find_bar_closed(self, message: FindBar.Closed) -> None:
        self.heard.append((message.mode, message.text, "closed"))


@given(st.lists(st.integers(0, 30), max_size=12), st.integers(1, 40), st.sampled_from(["", "1", "7"]))
def test_the_ring_holds_the_newest_and_numbers_never_change(batches: list[int], capacity: int, wanted: str) -> None:
    ring = LogRing(capacity)
    ring.filter(wanted)
    total = 0
    shown_before, shown_dropped = 0, 0
    for size in batches:
        came, left = ring.extend(numbered(total, total + size))
        total += size
        shown_before += came
        shown_dropped += left
        kept = range(max(0, total - capacity), total)
        assert [ring[number].text for number in range(ring.first, ring.end)] == [f"line {number}" for number in kept]
        assert list(ring.shown) == [number for number in kept if wanted in f"line {number}"]
        assert len(ring.shown) == shown_before - shown_dropped


def test_progress_lines_collapse_while_they_are_near() -> None:
    ring = LogRing()
    ring.extend([LogLine("1 %", progress="load"), LogLine("other"), LogLine("50 %", progress="load")])
    assert [ring[number].text for number in ring.shown] == ["50 %", "other"]
    ring.extend(numbered(0, 100))
    ring.extend([LogLine("99 %", progress="load")])
    assert ring[ring.end - 1].text == "99 %"
    assert ring[0].text == "50 %"


def test_a_search_minds_the_case_only_when_it_has_an_upper_case_letter() -> None:
    assert matcher("oom")("OOM oom") == [(0, 3), (4, 7)]
    assert matcher("OOM")("OOM oom") == [(0, 3)]
    assert matcher("x")("") == []


def test_a_line_shows_time_rank_and_level() -> None:
    assert line_text(LogLine("out of memory", "error", "TP3", "12:41:05")) == "12:41:05 TP3 E out of memory"
    assert line_text(LogLine("plain")) == "plain"


async def test_it_follows_until_the_user_scrolls_up_and_again_from_the_end() -> None:
    app = LogApp()
    async with app.run_test(size=(60, 10)) as pilot:
        view = app.log_view
        view.focus()
        view.extend(numbered(0, 50))
        await pilot.pause()
        assert frame(app).splitlines()[9] == "line 49"
        await pilot.press("up")
        assert not view.follow
        top = frame(app).splitlines()[0]
        view.extend(numbered(50, 57))
        await pilot.pause()
        assert frame(app).splitlines()[0] == top
        assert "+7 new" in frame(app).splitlines()[9]
        await pilot.press("G")
        await pilot.pause()
        assert view.follow
        assert frame(app).splitlines()[9] == "line 56"
        assert app.heard == [False, True]


async def test_the_text_stays_in_place_while_old_lines_leave_the_ring() -> None:
    app = LogApp(capacity=100)
    async with app.run_test(size=(60, 10)) as pilot:
        view = app.log_view
        view.focus()
        view.extend(numbered(0, 100))
        await pilot.pause()
        await pilot.press("pageup", "pageup")
        shown = [line[:20].rstrip() for line in frame(app).splitlines()[:9]]
        view.extend(numbered(100, 130))
        await pilot.pause()
        assert [line[:20].rstrip() for line in frame(app).splitlines()[:9]] == shown
        view.extend(numbered(130, 400))
        await pilot.pause()
        assert frame(app).splitlines()[0] == "line 300"


async def test_the_pill_can_be_clicked() -> None:
    app = LogApp()
    async with app.run_test(size=(60, 10)) as pilot:
        view = app.log_view
        view.extend(numbered(0, 50))
        await pilot.pause()
        view.focus()
        await pilot.press("up")
        view.extend(numbered(50, 60))
        await pilot.pause()
        await pilot.click(LogView, offset=(57, 9))
        await pilot.pause()
        assert view.follow
        assert frame(app).splitlines()[9] == "line 59"


async def test_find_marks_and_steps_filter_hides_and_both_are_apart() -> None:
    app = LogApp()
    async with app.run_test(size=(60, 10)) as pilot:
        view = app.log_view
        view.focus()
        view.extend(numbered(0, 200))
        await pilot.pause()
        assert view.find("line 7") == 11
        await pilot.press("p")
        await pilot.pause()
        assert "line 78" in frame(app)
        assert view.set_filter("9") == 38
        await pilot.pause()
        assert frame(app).splitlines()[9] == "line 199"
        assert "line 198" in frame(app)
        view.extend(numbered(200, 210))
        await pilot.pause()
        assert frame(app).splitlines()[9] == "line 209"
        assert view.set_filter("") == 210


async def test_a_long_line_is_cut_visibly_and_can_be_shifted() -> None:
    app = LogApp()
    async with app.run_test(size=(30, 4)) as pilot:
        view = app.log_view
        view.focus()
        view.extend([LogLine("0123456789" * 5)])
        await pilot.pause()
        assert frame(app).splitlines()[0].endswith("…")
        await pilot.press("right")
        await pilot.pause()
        assert frame(app).splitlines()[0].startswith("…9012")
        await pilot.press("left")
        await pilot.pause()
        assert frame(app).splitlines()[0].startswith("0123")


async def test_a_mouse_selection_copies_the_text_also_after_the_ring_moved_on() -> None:
    app = LogApp(capacity=60)
    async with app.run_test(size=(60, 10)) as pilot:
        view = app.log_view
        view.extend(numbered(0, 50))
        await pilot.pause()
        await pilot.mouse_down(LogView, offset=(5, 2))
        await pilot.hover(LogView, offset=(3, 4))
        await pilot.mouse_up(LogView, offset=(3, 4))
        await pilot.pause()
        wanted = app.screen.get_selected_text()
        assert wanted == "42\nline 43\nline"
        view.extend(numbered(50, 70))
        await pilot.pause()
        assert app.screen.get_selected_text() == wanted


@pytest.mark.parametrize(("keys", "heard"), [("escape", ("find", "", "closed")), ("enter", ("find", "ab", "closed"))])
async def test_the_find_bar_reports_each_key_and_how_it_closed(keys: str, heard: object) -> None:
    app = LogApp()
    async with app.run_test(size=(60, 10)) as pilot:
        app.query_one(FindBar).open("find")
        await pilot.press("a", "b")
        await pilot.pause()
        assert frame(app).splitlines()[9].startswith(" find")
        await pilot.press(keys)
        await pilot.pause()
        assert app.heard[-1] == heard
        assert ("find", "ab") in app.heard
        assert not app.query_one(FindBar).display


async def test_older_lines_come_in_above_and_leave_when_following_again() -> None:
    app = LogApp(capacity=50)
    async with app.run_test(size=(60, 10)) as pilot:
        view = app.log_view
        view.focus()
        view.extend(numbered(100, 150))
        await pilot.pause()
        await pilot.press("home")
        await pilot.pause()
        assert app.heard == [False, "older"]
        view.extend_back(numbered(60, 100))
        await pilot.pause()
        assert frame(app).splitlines()[0].startswith("line 100")
        view.extend(numbered(150, 160))
        await pilot.press("up")
        await pilot.pause()
        assert frame(app).splitlines()[0].startswith("line 99")
        await pilot.press("end")
        view.extend(numbered(160, 161))
        await pilot.pause()
        assert view.text().splitlines()[0] == "line 111"
