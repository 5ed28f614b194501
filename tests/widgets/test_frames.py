"""Whole frames of all widgets together, in the sizes they are designed for."""

from pathlib import Path

import pytest

from tests.support.frames import check_frame, frame
from tests.support.gallery import Gallery
from widgets.log_view import LogView
from widgets.pane import Pane

FRAMES = Path(__file__).parent / "frames"


@pytest.mark.parametrize("size", [(80, 48), (120, 40), (200, 60)])
async def test_the_gallery(size: tuple[int, int]) -> None:
    app = Gallery()
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        check_frame(FRAMES / f"gallery-{size[0]}x{size[1]}.txt", frame(app))


async def test_the_gallery_in_ascii_is_ascii() -> None:
    app = Gallery(ascii=True)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        shown = frame(app)
        assert shown.isascii()
        check_frame(FRAMES / "gallery-ascii.txt", shown)


async def test_a_stale_pane_says_so_dims_and_keeps_its_values() -> None:
    app = Gallery()
    async with app.run_test(size=(120, 40)) as pilot:
        pane = app.query_one("#gpus", Pane)
        await pilot.pause()
        fresh = frame(app).splitlines()
        pane.set_stale("stale 14 s")
        await pilot.pause()
        shown = frame(app).splitlines()
        assert "◌ stale 14 s" in shown[2]
        assert pane.has_class("-stale")
        assert app.query_one("#gpu-table").styles.text_opacity < 1
        assert shown[3:12] == fresh[3:12]
        pane.set_stale("")
        await pilot.pause()
        assert frame(app).splitlines() == fresh


async def test_a_small_terminal_breaks_nothing() -> None:
    app = Gallery()
    async with app.run_test(size=(120, 40)) as pilot:
        for size in ((20, 5), (1, 1), (60, 18), (120, 40)):
            await pilot.resize_terminal(*size)
            await pilot.pause()
        check_frame(FRAMES / "gallery-120x40.txt", frame(app))


async def test_zoom_takes_the_frame_along_and_fills_the_screen() -> None:
    app = Gallery()
    async with app.run_test(size=(80, 20)) as pilot:
        log = app.query_one(LogView)
        height = log.size.height
        app.screen.maximize(log)
        await pilot.pause()
        shown = frame(app).splitlines()
        assert shown[0].startswith("╭─ Log ")
        assert shown[-1].endswith("/ find  & filter ─╯")
        assert log.size.height == 18
        app.screen.minimize()
        await pilot.pause()
        assert app.screen.maximized is None
        assert log.size.height == height < 18
