"""With every action on another key, no screen, dialog or sentence names a key that does nothing any more."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from textual.pilot import Pilot

from console.app import SCREENS, ConsoleApp
from console.events import Event
from console.intents import INTENTS, key_name, spoken
from console.keymap import key_id, keyed, problem
from console.session.player import Player
from console.session.replay import Replay, play
from console.views.plan import LEGEND
from tests.screens.test_first_screens import CHOICES, HEALTHY
from tests.support.frames import frame
from tests.support.played import PlayedSession
from tests.views.test_next import crashed, gated, plan, runs, server

DEPLOY = Path(__file__).parents[1] / "recordings" / "demo_deploy.jsonl.gz"
KEYS = [*(f"f{n}" for n in range(2, 13)), *(f"alt+{c}" for c in "abcdefghijklmnopqrstuvwxyz"), *"àáâãäåæçèéêëìíîï"]
CHANGES = {intent.id: key for intent, key in zip((one for one in INTENTS if one.id != "back"), KEYS, strict=False)}
TABLE = keyed(CHANGES)
# What a list, a chart or a dialog binds itself is no action and keeps its key.
OWN = re.compile(r"\bt table\b|\bc next\b|\ba all seen\b|\bn  p\b|A letter on|" + re.escape(LEGEND))
SIZE = (120, 40)


def named(text: str) -> Iterator[str]:
    """Places of a text that name a key as the table comes: `[r]`, `(r)`, `screen 5`, `r check`."""
    text = OWN.sub("", text)
    for intent in INTENTS:
        for key in (key_name(key) for key in intent.keys if intent.id != "back"):
            sign = re.escape(key)
            forms = [rf"\[{sign}\]", rf"(?<=\s)\({sign}\)", rf"\bscreen {sign}\b"]
            if not key.isdecimal() and key not in "a!?/+-":  # a word, glyphs of states, a mount, sums
                forms.append(rf"(?<=[\s│(]){sign} (?=[a-z]{{3}})")
            forms += [r"/ find"] * (key == "/")
            yield from (found[0] for form in forms for found in re.finditer(form, text))


def blocked() -> list[Event]:
    return [*HEALTHY, *plan(), gated(), runs(server()), crashed()]


async def walked(app: ConsoleApp, pilot: Pilot[None]) -> Iterator[str]:
    shown = []
    for name in SCREENS:
        await app.switch_mode(name)
        await pilot.pause()
        app.tick()
        await pilot.pause()
        shown.append(frame(app))
    return iter(shown)


def test_every_action_can_have_another_key() -> None:
    assert problem(CHANGES) is None
    assert len({key_id(key) for key in CHANGES.values()}) == len(CHANGES) == len(INTENTS) - 1


def test_the_test_sees_keys() -> None:
    assert list(named(" : palette   [5] │ (r) on screen 3, r check again")) == [
        ": ", "screen 3", "[5]", "(r)", "r ",
    ]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("replayed", [False, True], ids=["live", "replay"])
async def test_no_screen_names_a_key_that_is_another_one_now(replayed: bool) -> None:
    if replayed:
        replay = Replay(DEPLOY)
        play(replay, None, 60.0)
        player = Player(replay)
        player.paused = True
        app = ConsoleApp(replay, player=player, table=TABLE)
    else:
        app = ConsoleApp(PlayedSession(*blocked(), hosts=["ct200"], choices=CHOICES), table=TABLE)
    async with app.run_test(size=SIZE) as pilot:
        for text in await walked(app, pilot):
            assert list(named(text)) == [], text
        for key in ("help", "palette", "alerts"):
            await app.switch_mode("hub")
            await pilot.press(CHANGES[key])
            await pilot.pause()
            assert list(named(frame(app))) == [], frame(app)
            await pilot.press("escape")


async def test_dialogs_and_toasts_name_the_keys_in_force() -> None:
    app = ConsoleApp(PlayedSession(*blocked(), hosts=["ct200"]), table=TABLE)
    async with app.run_test(size=SIZE, notifications=True) as pilot:
        for action in ("token", "note", "deploy", "stop", "tell", "verify", "remove", "pause_job", "export", "bench"):
            await pilot.press(CHANGES[action])
            await pilot.pause()
            app.tick()
            await pilot.pause()
            assert list(named(frame(app))) == [], frame(app)
            await pilot.press("escape")
            app.clear_notifications()


async def test_the_key_that_opened_help_closes_it() -> None:
    app = ConsoleApp(PlayedSession(*HEALTHY, hosts=["ct200"]), table=TABLE)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press(CHANGES["help"])
        assert app.screen.is_modal
        await pilot.press(CHANGES["help"])
        assert not app.screen.is_modal


async def test_what_a_box_says_is_no_markup_in_a_toast() -> None:
    app = ConsoleApp(PlayedSession(*HEALTHY, hosts=["ct200"]))
    async with app.run_test(size=SIZE, notifications=True) as pilot:
        app.notify("[/bold] of [b]box[/b]")
        await pilot.pause()
        assert "[/bold] of [b]box[/b]" in frame(app)


def test_spoken_changes_keys_alone() -> None:
    token, hub = CHANGES["token"], CHANGES["screen_hub"]
    assert (
        spoken("Set a token (T), on screen 3, then (x).", TABLE) == f"Set a token ({token}), on screen {hub}, then (x)."
    )
    assert spoken("Set it: T on screen, or FAST on screen.", TABLE) == f"Set it: {token} on screen, or FAST on screen."
