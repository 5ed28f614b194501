"""Screens that were not shown yet are made ready beside the one that is shown."""

from __future__ import annotations

from console.app import SCREENS, ConsoleApp
from tests.screens.test_first_screens import HEALTHY
from tests.support.frames import frame
from tests.support.played import PlayedSession


async def test_every_screen_is_ready_before_its_key_and_nothing_of_it_is_seen() -> None:
    session = PlayedSession(*HEALTHY, hosts=["ct200"])
    app = ConsoleApp(session)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        app.tick()
        await pilot.pause()
        shown, focused = frame(app), app.focused
        for _ in SCREENS:
            app.warm()
            await pilot.pause()
        assert set(app._screen_stacks) >= set(SCREENS)
        assert frame(app) == shown
        assert app.focused is focused
        assert ("watch", "runs") not in session.controls.asked
        ready = {name: app._screen_stacks[name][0] for name in SCREENS}
        for name in SCREENS:
            await app.switch_mode(name)
            await pilot.pause()
            assert app.screen is ready[name]
        assert ("watch", "runs") in session.controls.asked
