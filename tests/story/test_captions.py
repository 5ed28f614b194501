"""A caption is a note like any other: every screen shows it over its panes, for a while, and nothing moves."""

from __future__ import annotations

import re

import pytest

from console.app import ConsoleApp
from console.events.link import NoteWritten
from console.screens.note_strip import NOTE_S
from console.values import CleanText
from tests.support.frames import frame
from tests.support.played import PlayedSession, disks, gpus, link_up

BORDERS = re.compile("[─-╿]")
CAPTION = CleanText("5/15 disk-full: “595 GB, 593 G free: fits”, two rounded texts in two units; which is larger?")


@pytest.mark.parametrize(("size", "screens"), [((120, 40), "12345678"), ((80, 24), "1"), ((60, 16), "1")])
async def test_a_note_is_shown_in_full_and_goes(size: tuple[int, int], screens: str) -> None:
    session = PlayedSession(*link_up(), *gpus(), *disks(), hosts=("ct200",))
    app = ConsoleApp(session)
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        before = frame(app)
        session.tell(NoteWritten(text=CAPTION))
        for key in screens:
            await pilot.press(key)
            app.tick()
            await pilot.pause()
            words = " ".join(BORDERS.sub(" ", frame(app)).split())
            assert CAPTION in words, key
        await pilot.press("1")
        session.t = NOTE_S
        for fact in (*link_up(), *gpus(), *disks()):
            session.tell(fact)
        app.tick()
        await pilot.pause()
        assert frame(app).splitlines()[2:] == before.splitlines()[2:]
