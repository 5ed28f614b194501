"""Every screen through every size, down to a strip and up again: nothing breaks, nothing is lost."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.pilot import Pilot

from console.app import ConsoleApp
from console.screens.frame import Frame
from console.screens.replay_bar import replay_line
from console.session.player import Player
from console.session.replay import Replay, play
from console.values import CleanText
from console.views.notable import notable
from tests.screens.test_host_screens import played
from tests.support.frames import frame
from widgets.cells import Cell
from widgets.glyphs import UNICODE

DEPLOY = Path(__file__).parents[1] / "recordings" / "demo_deploy.jsonl.gz"
SIZES = [(200, 60), (60, 15), (120, 40), (40, 8), (99, 19)]
KEYS = "012345678"


async def rest(app: ConsoleApp, pilot: Pilot[None]) -> str:
    await pilot.pause()
    app.tick()
    await pilot.pause()
    return frame(app)


@pytest.fixture(scope="module")
def deployed() -> Replay:
    """The demo deploy in the midst of its benchmark: every screen has something to show."""
    replay = Replay(DEPLOY)
    play(replay, None, 120.0)
    return replay


@pytest.mark.slow
@pytest.mark.parametrize("key", KEYS)
async def test_every_screen_goes_through_every_size(key: str, deployed: Replay) -> None:
    app = ConsoleApp(deployed)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press(key)
        first = await rest(app, pilot)
        for width, height in SIZES:
            await pilot.resize_terminal(width, height)
            lines = (await rest(app, pilot)).splitlines()
            assert len(lines) <= height
            assert max(map(len, lines)) <= width
            assert "NEXT" in lines[1]
        await pilot.resize_terminal(80, 24)
        assert await rest(app, pilot) == first


async def test_the_strip_keeps_gpus_server_and_log() -> None:
    app = ConsoleApp(played("sick"))
    async with app.run_test(size=(80, 19)) as pilot:
        text = await rest(app, pilot)
    titles = [title for title in ("GPUs", "Server", "Log", "Hugging Face", "Disks", "Bench") if f"─ {title} " in text]
    assert titles == ["GPUs", "Server", "Log"]
    for index in range(8):
        assert f" {index} " in text


async def test_state_of_a_screen_survives_switching() -> None:
    app = ConsoleApp(played("sick"))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("2", "tab", "tab")
        await rest(app, pilot)
        focused, scrolled = app.focused, app.screen.query_one("#host-body").scroll_offset
        await pilot.press("1", "3", "2")
        await rest(app, pilot)
        assert app.focused is focused
        assert app.screen.query_one("#host-body").scroll_offset == scrolled


def wide(player: Player, width: int) -> str:
    line = replay_line(player, Frame(player.replay, None, player.replay.now()), width, UNICODE)
    return "".join(piece.text for piece in (*line.left, *line.right) if isinstance(piece, Cell))


@pytest.mark.parametrize("width", [60, 80, 120, 200])
def test_the_bar_of_a_replay_fits_and_marks_what_was_notable(width: int) -> None:
    player = Player(Replay(DEPLOY))
    player.find_marks(notable)
    player.go_to(60.0)
    text = wide(player, width)
    assert len(text) in (width, width - 1)
    assert "00:01:00" in text
    assert UNICODE.tick in text


def test_the_note_that_was_written_last_stands_in_the_bar_for_a_while() -> None:
    player = Player(Replay(DEPLOY))
    player.go_to(10.0)
    player.replay.state.session.notes.append((8.0, CleanText("night begins")))
    assert "note: night begins" in wide(player, 80)
    long = "the fan of box two was loud again, and the second server took twice as long as the first"
    player.replay.state.session.notes.append((9.0, CleanText(long)))
    assert long in wide(player, 200)
    assert "note: the fan" in wide(player, 120)
    assert wide(player, 120).endswith("… ")
    assert len(wide(player, 120)) in (119, 120)
    player.go_to(100.0)
    player.replay.state.session.notes.append((8.0, CleanText("night begins")))
    assert "night begins" not in wide(player, 80)
