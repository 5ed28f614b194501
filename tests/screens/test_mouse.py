"""Whatever has a key can be clicked: screens, keys at the edges, boxes, alerts, titles, rows, the bar of a replay."""

from __future__ import annotations

from pathlib import Path

from textual.pilot import Pilot

from console.app import SCREENS, ConsoleApp
from console.intents import key_of
from console.session.player import Player
from console.session.replay import Replay
from tests.screens.test_first_screens import HEALTHY
from tests.support.frames import frame
from tests.support.played import PlayedSession, link_up
from widgets.log_lines import LogLine
from widgets.log_view import LogView

RECORDING = Path(__file__).parents[1] / "recordings" / "first_light.jsonl"


async def click(app: ConsoleApp, pilot: Pilot[None], text: str, *, last: bool = False, times: int = 1) -> None:
    """Click on the first place of the screen that shows this text, or the last."""
    lines = frame(app).splitlines()
    found = [(line.index(text), y) for y, line in enumerate(lines) if text in line]
    await pilot.click(offset=found[-1 if last else 0], times=times)
    await pilot.pause()
    app.tick()
    await pilot.pause()


async def test_every_screen_has_a_name_or_a_key_in_the_last_line() -> None:
    app = ConsoleApp(PlayedSession(*HEALTHY, hosts=["ct200"]))
    async with app.run_test(size=(200, 40)) as pilot:
        await pilot.pause()
        for name in SCREENS:
            await app.switch_mode("overview")  # other screens need the room for keys of their own
            app.tick()
            await pilot.pause()
            await click(app, pilot, f"{key_of(f'screen_{name}', ())} {name}", last=True)
            assert app.current_mode == name
        await pilot.resize_terminal(80, 24)
        await pilot.pause()
        app.tick()
        await pilot.pause()
        assert "0 1 2 3 4 5 6 7" in frame(app).splitlines()[-1]
        await click(app, pilot, "3 4", last=True)
        assert app.current_mode == "hub"


async def test_boxes_and_alerts_in_the_header() -> None:
    app = ConsoleApp(PlayedSession(*HEALTHY, *link_up("b2"), hosts=["ct200", "b2"]))
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        app.tick()
        await pilot.pause()
        await click(app, pilot, "1 alert")
        assert "Alerts" in frame(app)
        await click(app, pilot, "esc close")
        assert not app.screen.is_modal
        await click(app, pilot, "b2")
        assert app.host_name == "b2"


async def test_a_title_zooms_its_pane_and_back_and_an_edge_has_keys() -> None:
    app = ConsoleApp(PlayedSession(*HEALTHY, hosts=["ct200"]))
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        for title in ("Disks", "Log"):
            await click(app, pilot, title)
            assert app.screen.maximized
            assert "GPUs" not in frame(app)
            await click(app, pilot, title)
            assert not app.screen.maximized
        await click(app, pilot, "& filter")
        assert "filter" in frame(app).splitlines()[-3]


async def test_the_wheel_leaves_the_end_of_a_log_and_a_click_on_the_pill_comes_back() -> None:
    app = ConsoleApp(PlayedSession(*HEALTHY, hosts=["ct200"]))
    async with app.run_test(size=(120, 40)) as pilot:
        await app.switch_mode("server")
        await pilot.pause()
        log = app.screen.query_one(LogView)
        log.extend([LogLine(f"line {number}") for number in range(100)])
        await pilot.pause()
        log.scroll_up(animate=False)
        await pilot.pause()
        assert not log.follow
        log.extend([LogLine("news")])
        await pilot.pause()
        await click(app, pilot, "+1 new")
        assert log.follow


async def test_the_bar_of_a_replay_goes_to_its_moments() -> None:
    replay = Replay(RECORDING)
    player = Player(replay)
    player.paused = True
    app = ConsoleApp(replay, player=player)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        bar = frame(app).splitlines()[-2]
        start, end = bar.index("paused") + 8, bar.rindex(" 00:")
        await pilot.click(offset=((start + end) // 2, 38))
        assert 0.4 * player.duration_s < replay.now() < 0.6 * player.duration_s
        await click(app, pilot, "play", last=True)
        assert not player.paused
