"""Keys that come in one burst: each reaches what the ones before it opened, and none is lost or taken twice."""

from __future__ import annotations

import asyncio
from typing import cast

import pytest
from textual.app import ComposeResult
from textual.binding import Binding
from textual.command import DiscoveryHit, Hit, Hits, Provider
from textual.events import Event, Key, Paste
from textual.widgets import Input

from tests.support.frames import StyledApp, until_shown
from widgets.dialog import AskDialog
from widgets.key_turns import KeyTurns

SLOW_S = 0.05


class SlowDialog(AskDialog[str]):
    """Takes its time to open, and between `enter` and its end."""

    async def on_mount(self) -> None:
        await asyncio.sleep(SLOW_S)

    async def on_input_submitted(self) -> None:
        await asyncio.sleep(SLOW_S)


class SlowSearch(Provider):
    """Finds what was asked for a while later; until then the palette shows the hits of before."""

    async def discover(self) -> Hits:
        yield DiscoveryHit("wrong", lambda: cast(Notes, self.app).told("wrong"))

    async def search(self, query: str) -> Hits:
        await asyncio.sleep(SLOW_S)
        yield Hit(1.0, query, lambda: cast(Notes, self.app).told(query))


class Notes(StyledApp):
    """`n` asks for a note, `s` does so slowly, `ctrl+r` removes the field that has the focus."""

    COMMANDS = frozenset({SlowSearch})
    BINDINGS = (
        ("n", "ask", "Note"), ("s", "ask_slowly", "Slowly"), Binding("ctrl+r", "remove", "Remove", priority=True),
    )  # fmt: skip

    def __init__(self) -> None:
        super().__init__()
        self.heard: list[str] = []
        self._typed = KeyTurns(self, super().on_event)

    def compose(self) -> ComposeResult:
        if self.with_field:
            yield Input()

    with_field = False

    async def on_event(self, event: Event) -> None:
        if isinstance(event, Key | Paste) and not event.is_forwarded:
            await self._typed.take(event)
        else:
            await super().on_event(event)

    def action_ask(self) -> None:
        self.push_screen(AskDialog("Note", [("goes into", "the record")], str), self.told)

    async def action_ask_slowly(self) -> None:
        await asyncio.sleep(SLOW_S)
        self.push_screen(SlowDialog("Note", [], str), self.told)

    async def action_remove(self) -> None:
        await self.query_one(Input).remove()

    def told(self, text: str | None) -> None:
        self.heard.append(text or "")
        if self.heard[-1] == "end":
            self.notify("all of it")


def burst(app: Notes, *typed: str | Paste) -> None:
    """As the driver sends what one read of the terminal gave."""
    for one in typed:
        app.post_message(Key(one, one if len(one) == 1 else None) if isinstance(one, str) else one)


END = ("n", *"end", "enter")


@pytest.mark.parametrize(
    ("typed", "heard"),
    [
        ((*"nhello", "enter"), ["hello"]),
        ((*"nno", "enter", *"nn", "enter"), ["no", "n"]),
        ((*"nhi", "escape", *"nd", "enter"), ["", "d"]),
        (("n", Paste("a b"), "c", "enter"), ["a bc"]),
        ((*"xyz", *"nq", "enter"), ["q"]),
        (("ctrl+p", *"xy", "enter"), ["xy"]),
        ((*"ss", "enter", *"snn", "enter"), ["s", "nn"]),
    ],
)
async def test_each_key_reaches_what_the_ones_before_opened(typed: tuple[str | Paste, ...], heard: list[str]) -> None:
    app = Notes()
    async with app.run_test(size=(80, 20), notifications=True) as pilot:
        burst(app, *typed, *END)
        await until_shown(app, pilot, "all of it")
    assert app.heard == [*heard, "end"]


async def test_a_field_that_a_key_removes_holds_no_other_key_up() -> None:
    app = Notes()
    app.with_field = True
    async with app.run_test(size=(80, 20), notifications=True) as pilot:
        app.query_one(Input).focus()
        await pilot.pause()
        burst(app, "ctrl+r", *END)
        await until_shown(app, pilot, "all of it")
    assert app.heard == ["end"]


async def test_what_never_comes_to_rest_holds_keys_for_a_moment_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("widgets.key_turns.MOST_S", 0.05)
    app = Notes()
    async with app.run_test(size=(80, 20), notifications=True) as pilot:
        ahead = True

        async def restless() -> None:
            await asyncio.sleep(0)
            if ahead:
                app.screen.call_later(restless)

        for _ in range(3):  # so that one always waits
            app.screen.call_later(restless)
        burst(app, "x", *END)
        await until_shown(app, pilot, "all of it")
        ahead = False
    assert app.heard == ["end"]
