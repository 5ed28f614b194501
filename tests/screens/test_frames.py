"""Every screen, and every moment of a night, as text at the three sizes they are designed for."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from textual.pilot import Pilot

from console.app import SCREENS, ConsoleApp
from console.events import Event
from console.session.player import Player
from console.session.replay import Replay, play
from console.views.notable import notable
from tests.screens.test_first_screens import CHOICES, SCENES
from tests.screens.test_first_screens import lost as link_lost
from tests.support.frames import check_frame, frame
from tests.support.played import PlayedSession, disks, gpus, link_up
from tests.views.test_next import crashed, downloading, gated, plan, runs, server

pytestmark = pytest.mark.slow

FRAMES = Path(__file__).parent / "frames" / "night"
DEPLOY = Path(__file__).parents[1] / "recordings" / "demo_deploy.jsonl.gz"
SIZES = [(80, 24), (120, 40), (200, 60)]
HEALTHY = [*link_up(), *gpus(), *disks()]
Made = Callable[[], ConsoleApp]


def live(*events: Event, later: float = 0.0) -> Made:
    def make() -> ConsoleApp:
        session = PlayedSession(*events, hosts=["ct200"])
        session.t = later
        return ConsoleApp(session)

    return make


def recorded(t: float, *, bar: bool = False) -> Made:
    def make() -> ConsoleApp:
        replay = Replay(DEPLOY)
        play(replay, None, t)
        if not bar:
            return ConsoleApp(replay)
        player = Player(replay)
        player.paused = True
        player.find_marks(notable)
        return ConsoleApp(replay, player=player)

    return make


MOMENTS: dict[str, Made] = {
    "nothing-connected": lambda: ConsoleApp(PlayedSession(choices=CHOICES)),
    "connecting": live(*SCENES["connecting"]),
    "refused": live(*SCENES["refused"]),
    "gated": live(*HEALTHY, *plan(), gated()),
    "downloading": recorded(13.9),
    "loading": recorded(18.5),
    "ready": recorded(24.5),
    "crashed": live(*HEALTHY, runs(server()), crashed(), runs()),
    "benchmarking": recorded(60.0),
    "stalled": live(*HEALTHY, downloading(381 * 10**9), later=90.0),
    "stale": live(*HEALTHY, runs(server()), downloading(5), later=14.0),
    "disconnected": live(*HEALTHY, link_lost("lost", "the connection was closed by the box."), later=30.0),
    "gpu-lost": live(*SCENES["gpu-lost"]),
    "replay": recorded(60.0, bar=True),
}


async def frames(app: ConsoleApp, pilot: Pilot[None], name: str) -> None:
    """The screen at each size."""
    for width, height in SIZES:
        await pilot.resize_terminal(width, height)
        await pilot.pause()
        app.tick()
        await pilot.pause()
        check_frame(FRAMES / f"{name}-{width}x{height}.txt", frame(app))


@pytest.mark.parametrize("moment", MOMENTS)
async def test_every_moment_of_a_night(moment: str) -> None:
    app = MOMENTS[moment]()
    async with app.run_test(size=SIZES[0]) as pilot:
        await pilot.pause()
        await frames(app, pilot, moment)


@pytest.mark.parametrize("name", SCREENS)
async def test_every_screen(name: str) -> None:
    app = recorded(120.0)()
    async with app.run_test(size=SIZES[0]) as pilot:
        await app.switch_mode(name)
        await frames(app, pilot, f"screen-{name}")
