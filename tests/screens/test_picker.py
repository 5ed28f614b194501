"""The host picker on screen: rows that grow, a name that is found, a box that is opened."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from pathlib import Path

from console.app import ConsoleApp
from console.session.picker import Choice
from tests.support.frames import check_frame, frame
from tests.support.played import Controls, PlayedSession

FRAMES = Path(__file__).parent / "frames"
CHOICES = [
    Choice("ct200", "recent"),
    *(Choice(f"box{number}", "SSH config") for number in range(12)),
    Choice("local", "this machine", "no SSH"),
    Choice("demo", "loopback", "no GPU, no SSH needed"),
]
KNOWN = [CHOICES[0]._replace(way="alice@bastion.example → root@10.1.2.200"), *CHOICES[1:]]


class Growing(Controls):
    """The way to the first box is known a moment later."""

    async def choices(self) -> AsyncIterator[Sequence[Choice]]:
        yield CHOICES
        yield KNOWN


def picker() -> ConsoleApp:
    session = PlayedSession()
    session.controls = Growing(session)
    return ConsoleApp(session)


async def test_rows_with_their_chains_and_a_find_bar() -> None:
    for size in ((80, 24), (120, 40)):
        app = picker()
        async with app.run_test(size=size) as pilot:
            await pilot.pause()
            await pilot.press("slash", *"box7")
            await pilot.pause()
            app.tick()
            await pilot.pause()
            check_frame(FRAMES / f"picker-find-{size[0]}x{size[1]}.txt", frame(app))
            await pilot.press("enter", "enter")
            await pilot.pause()
        assert ("open", "box7") in app.session.controls.asked  # type: ignore[union-attr]


async def test_a_filter_leaves_what_fits_and_escape_takes_it_back() -> None:
    app = picker()
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        await pilot.press("ampersand", *"recent")
        await pilot.pause()
        assert "box1" not in frame(app)
        assert "ct200" in frame(app)
        await pilot.press("escape")
        await pilot.pause()
        assert "box1" in frame(app)
