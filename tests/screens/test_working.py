"""The keyboard beside the screens: palette with arguments, letters to jump to, alerts, what is told, silent keys."""

from __future__ import annotations

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from console.app import ConsoleApp
from console.events import Event
from console.events.alerts import TellAsked
from console.events.host import DisksSampled
from console.events.link import IntentIssued, NoteWritten
from console.events.serve import ServerProved
from console.intents import INTENTS
from console.screens.overview import OverviewScreen
from console.screens.telling import notification
from console.session.player import Player
from console.session.replay import Replay
from console.values import CleanText
from tests.screens.test_first_screens import RECORDING
from tests.structure.test_docs import wrong
from tests.support.frames import frame
from tests.support.played import PlayedSession, disk, disks, gpus, link_up

HOST = "ct200"
ALL = [*link_up(), *gpus(), *disks()]


def session(*events: Event) -> PlayedSession:
    return PlayedSession(*ALL, *events, hosts=[HOST])


async def rest(app: ConsoleApp, pilot: Pilot[None]) -> str:
    await pilot.pause()
    app.tick()
    await pilot.pause()
    return frame(app)


async def type_into_palette(app: ConsoleApp, pilot: Pilot[None], text: str) -> str:
    await pilot.press("colon")
    await pilot.pause()
    app.screen.query_one(Input).value = text
    await app.workers.wait_for_complete([one for one in app.workers if one.node is app.screen])
    await pilot.pause(0.2)
    return frame(app)


async def test_the_palette_takes_arguments_suggests_them_and_shows_the_command_line() -> None:
    played = session()
    app = ConsoleApp(played)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        shown = await type_into_palette(app, pilot, "serve start")
        for recipe in ("k26-tp8", "k26-ep4"):
            assert f"serve start {recipe}" in shown
            assert f"same as: gpudeck serve {HOST} start {recipe}" in shown
        await pilot.press("enter", "enter")
        await pilot.pause()
        assert ("check", "k26-tp8") in played.controls.asked
        assert "esc leaves, nothing is changed" in await rest(app, pilot)
    issued = [event for event in played.events if isinstance(event, IntentIssued)]
    assert issued[-1].command == f"gpudeck serve {HOST} start k26-tp8"


@pytest.mark.parametrize(
    ("typed", "same"),
    [
        ("bench sweep -c 1,8", "--preset sweep --concurrency 1,8"),
        ("bench -c 4", "--preset smoke --concurrency 4"),
        ("bench --preset accept --concurrency 2", "--preset accept --concurrency 2"),
    ],
)
async def test_a_measurement_is_typed_in_short_and_its_command_line_is_one(typed: str, same: str) -> None:
    app = ConsoleApp(session())
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        assert f"same as: gpudeck bench {HOST} {same}" in await type_into_palette(app, pilot, typed)
    assert wrong(["bench", HOST, *same.split()]) == ""


async def test_a_note_is_typed_in_the_palette() -> None:
    played = session()
    app = ConsoleApp(played)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        await type_into_palette(app, pilot, "note night begins")
        await pilot.press("enter", "enter")
        await pilot.pause()
    assert [event.text for event in played.events if isinstance(event, NoteWritten)] == ["night begins"]


async def test_no_action_is_listed_twice_and_read_only_takes_changes_away() -> None:
    titles = [intent.title for intent in INTENTS]
    assert len(titles) == len(set(titles))
    played = session()
    played.read_only = True
    app = ConsoleApp(played)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        shown = await type_into_palette(app, pilot, "deploy")
    assert "deploy k26" not in shown
    assert "preflight" not in shown or "gpudeck deploy" not in shown


async def test_letters_lead_to_panes_and_rows() -> None:
    app = ConsoleApp(session())
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        await pilot.press("ctrl+o")
        await pilot.pause()
        labels = [str(label.render()) for label in app.screen.query(".jump-label")]
        assert labels[:3] == ["a", "s", "d"]
        assert len(labels) == len(set(labels)) >= 7
        await pilot.press("s")
        await pilot.pause()
        assert isinstance(app.screen, OverviewScreen)
        assert app.focused is not None
        assert app.focused.id == "disks"
        await pilot.press("ctrl+o", "escape")
        await pilot.pause()
        assert app.focused.id == "disks"


async def test_alerts_are_seen_one_by_one_or_all() -> None:
    app = ConsoleApp(session(DisksSampled(host=HOST, disks=(disk("/", 5, state="full"), disk("/x", 5, state="full")))))
    async with app.run_test(size=(120, 40)) as pilot:
        assert "✗ 2 alerts" in (await rest(app, pilot)).splitlines()[0]
        await pilot.press("a")
        await pilot.pause()
        await pilot.press("enter")
        assert "✗ 1 alert " in (await rest(app, pilot)).splitlines()[0]
        await pilot.press("a")
        shown = await rest(app, pilot)
        assert "alert" not in shown.splitlines()[0]
        assert shown.count("· seen") == 2
        await pilot.press("escape")
        assert "nothing blocks" in await rest(app, pilot)


async def test_what_was_asked_for_is_told_by_bell_notification_and_toast(monkeypatch: pytest.MonkeyPatch) -> None:
    played = session()
    app = ConsoleApp(played)
    written: list[str] = []
    monkeypatch.setattr(app, "bell", lambda: written.append("bell"))
    monkeypatch.setattr(app, "tell_terminal", written.append)
    async with app.run_test(size=(120, 40), notifications=True) as pilot:
        await pilot.pause()
        await pilot.press("w", "enter", "escape")
        assert [event.moment for event in played.events if isinstance(event, TellAsked)] == ["ready"]
        played.tell(ServerProved(host=HOST, server=CleanText("s1"), by="token"))
        shown = await rest(app, pilot)
        await rest(app, pilot)
    assert "READY: s1 answers" in shown
    assert written == ["bell", notification(f"{HOST}: READY: s1 answers")]


def test_a_notification_cannot_be_widened_by_its_text() -> None:
    evil = "x\x1b]52;c;ZXZpbA==\x07y;z\x9c\x07\n"
    plain = notification(evil, {})
    assert plain.count("\x1b]") == plain.count("\x1b\\") == 2
    assert "\x07" not in plain
    assert "52;c" not in plain
    wrapped = notification("done", {"TMUX": "/tmp/x"})
    assert wrapped.startswith("\x1bPtmux;\x1b\x1b]9;gpudeck: done\x1b\x1b\\\x1b\\")


async def test_ctrl_c_names_the_keys_that_quit_and_both_do() -> None:
    app = ConsoleApp(session())
    async with app.run_test(size=(80, 24), notifications=True) as pilot:
        await pilot.pause()
        await pilot.press("ctrl+c")
        await pilot.pause()
        assert "q quits, ctrl+q too" in frame(app)
        await pilot.press("ctrl+q")
        await pilot.pause()
    assert not app.is_running


async def test_unknown_keys_do_nothing_and_say_nothing() -> None:
    bound = {key for intent in INTENTS if intent.where != "replay" for key in intent.keys}
    others = [chr(code) for code in range(33, 127) if chr(code).isalnum() and chr(code) not in bound]
    app = ConsoleApp(session())
    async with app.run_test(size=(120, 40), notifications=True) as pilot:
        before = await rest(app, pilot)
        await pilot.press(*others, "left_curly_bracket", "full_stop", "plus", "f12", "ctrl+e")
        assert await rest(app, pilot) == before


async def test_help_begins_with_examples_and_with_what_the_focus_is_for() -> None:
    app = ConsoleApp(session())
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("5")
        await pilot.pause()
        app.screen.query_one("#server-log").focus()
        await pilot.press("question_mark")
        shown = await rest(app, pilot)
        heads = [word for word in ("Examples", "In this pane", "On this screen", "Everywhere") if word in shown]
        assert heads == ["Examples", "In this pane", "On this screen", "Everywhere"]
        assert "n next match" in shown
        assert shown.index("Tunnel") < shown.index("Everywhere")


async def test_a_replay_goes_to_a_moment_from_the_palette() -> None:
    player = Player(Replay(RECORDING))
    player.paused = True
    app = ConsoleApp(player.replay, player=player)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        await type_into_palette(app, pilot, "go to 5")
        await pilot.press("enter", "enter")
        await pilot.pause()
    assert player.replay.now() == 5.0


async def test_a_click_on_a_key_is_the_key() -> None:
    app = ConsoleApp(session())
    async with app.run_test(size=(120, 40)) as pilot:
        await rest(app, pilot)
        await pilot.click("#footer", offset=(2, 0))
        await pilot.pause()
        assert "Examples" in frame(app)
        await pilot.press("escape")
        lines = (await rest(app, pilot)).splitlines()
        await pilot.click("#next", offset=(lines[1].index("[2]") + 1, 0))
        await pilot.pause()
        assert app.current_mode == "host"
        before = await rest(app, pilot)
        await pilot.click("#footer", offset=(118, 0))
        assert await rest(app, pilot) == before


async def test_y_copies_the_row_under_the_cursor_else_the_status(monkeypatch: pytest.MonkeyPatch) -> None:
    copied: list[str] = []
    app = ConsoleApp(session())
    monkeypatch.setattr(app, "copy_to_clipboard", copied.append)
    async with app.run_test(size=(120, 40)) as pilot:
        await rest(app, pilot)
        await pilot.press("2", "y")
        await pilot.press("0", "y")
        await pilot.pause()
    assert HOST in copied[0]
    assert "GPU" in copied[0]
    assert copied[1].split()[:1] == [HOST]
    assert len(copied[1].splitlines()) == 1
