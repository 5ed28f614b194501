"""What cannot be taken is said in one sentence, what was typed stays, and nothing is done to something else."""

from __future__ import annotations

import pytest
from textual.command import CommandPalette
from textual.widgets import Input

from console.app import ConsoleApp
from console.bench.presets import Preset
from console.events import Event
from console.events.jobs import JobsSampled
from console.events.link import LinkChanged, NoteWritten, RecorderFailed
from console.events.plan import PlanChecked, PlanStarted
from console.events.serve import DeployStepped
from console.screens.bench_keys import wished
from console.screens.commands import refused_words
from console.screens.deploy import DeployScreen
from console.screens.frame import frame_of
from console.values import CleanText
from tests.screens.test_working import ALL, HOST, rest, session, type_into_palette
from tests.support.job_facts import job
from tests.support.played import PlayedSession, link_up
from tests.views.test_next import runs, server
from widgets.dialog import ConfirmDialog

SIZE = (100, 30)
NAME = CleanText("k26-tp8")


def words(shown: str) -> str:
    return " ".join(shown.replace("│", " ").split())


def toasts(app: ConsoleApp) -> list[str]:
    return [toast.message for toast in app._notifications]


def jobs(**fields: object) -> Event:
    return JobsSampled(host=HOST, now_s=2000.0, older=0, jobs=(job("job-1", **fields),))


REFUSED = {
    "serve start zzz": 'There is no recipe "zzz" (there are: k26-tp8, k26-ep4)',
    "bench sweeep": "There is no preset sweeep",
    "bench -c 1,x": "-c takes numbers from 1 to 4096",
    "jobs stop job-2": 'There is no running job "job-2" (nearest: "job-1")',
    "box zzz": 'There is no open box "zzz"',
    "go to noon": "Only a replay can be played.",
    "xyzzy [b]x": "No action is called so",
    "deploy k26-tp9": 'There is no recipe "k26-tp9" (nearest: "k26-tp8")',
}


async def test_what_the_palette_cannot_take_is_said_and_comes_back() -> None:
    app = ConsoleApp(session(jobs()))
    async with app.run_test(size=SIZE) as pilot:
        for typed, said in REFUSED.items():
            assert said in refused_words(app, frame_of(app), typed)
        assert said in words(await type_into_palette(app, pilot, typed))
        await pilot.press("enter", "enter")
        await pilot.pause()
        assert isinstance(app.screen, CommandPalette)
        assert app.screen.query_one(Input).value == typed


@pytest.mark.parametrize(
    "text", ["sweep -c 1 8", "sweep 1,8", "sweep -x", "sweep -c", "sweep -c 0", "sweep -c 1,,8", "-c ²", "-c 999999999"]
)
def test_nothing_of_a_wish_is_passed_over(text: str) -> None:
    with pytest.raises(ValueError, match=r"-c takes numbers|is not understood"):
        wished(text)


@pytest.mark.parametrize("text", ["sweep -c 8, 1,8", "--concurrency=1,8 --preset=sweep", "-c 1,8 sweep"])
def test_a_wish_is_read_as_the_command_line_reads_it(text: str) -> None:
    preset: Preset = wished(text)
    assert (preset.name, preset.concurrency) == ("sweep", (1, 8))


async def test_a_filter_that_leaves_nothing_says_so_and_is_corrected_or_taken_away() -> None:
    app = ConsoleApp(session())
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("0", "ampersand", *"zq", "enter")
        shown = await rest(app, pilot)
        assert 'nothing holds "zq"' in shown
        assert 'esc takes away  filter "zq": nothing left' in shown
        await pilot.press("ampersand")
        assert app.screen.query_one(Input).value == "zq"
        await pilot.press("c", "enter", "slash", *"w1", "enter")
        shown = await rest(app, pilot)
        assert 'filter "c": 1 left  find "w1": held by nothing' in shown
        await pilot.press("escape")
        shown = await rest(app, pilot)
        assert HOST in shown
        assert "esc takes away" not in shown
        assert app.current_mode == "hosts"


@pytest.mark.parametrize(
    ("key", "meanwhile", "said"),
    [
        ("X", jobs(state="exited"), "job-1 has ended meanwhile. Nothing was stopped."),
        ("space", jobs(paused=True), "job-1 is paused already. Nothing was paused."),
        ("X", LinkChanged(host=HOST, state="lost"), "The link is lost. Nothing was stopped."),
    ],
)
async def test_a_job_that_is_over_before_the_yes_is_left_alone(key: str, meanwhile: Event, said: str) -> None:
    played = session(jobs())
    app = ConsoleApp(played)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("8")
        await rest(app, pilot)
        await pilot.press(key)
        assert isinstance(app.screen, ConfirmDialog)
        played.tell(meanwhile)
        if isinstance(meanwhile, LinkChanged):
            played.controls.refusing = "The link is lost."
        await pilot.press("right", "enter")
        assert toasts(app) == [said]
    lost = isinstance(meanwhile, LinkChanged)  # then it is the session that refuses
    assert [ask for ask in played.controls.asked if ask[1] == "job-1"] == [("stop", "job-1")] * lost


@pytest.mark.parametrize(
    ("meanwhile", "said"),
    [(runs(), "s1 runs no longer."), (runs(server(pid=6000)), "s1 is another process by now, pid 6000.")],
)
async def test_another_server_is_not_stopped_in_place_of_the_one_that_was_shown(meanwhile: Event, said: str) -> None:
    played = session(runs(server()))
    app = ConsoleApp(played)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("5", "X")
        assert isinstance(app.screen, ConfirmDialog)
        played.tell(meanwhile)
        await pilot.press("right", "enter")  # the played session has no way to stop one
        assert toasts(app) == [f"{said} Nothing was stopped."]


async def test_the_deploy_screen_says_why_no_answer_comes_and_asks_again() -> None:
    played = PlayedSession(*ALL, *link_up("b2"), hosts=[HOST, "b2"])
    app = ConsoleApp(played)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("D", *"k26-tp8", "enter")
        assert isinstance(app.screen, DeployScreen)
        assert "asking every gate" in await rest(app, pilot)
        failed = DeployStepped(host=HOST, recipe=NAME, step="preflight", state="failed", sentence=CleanText("It hung."))
        played.tell(failed)
        assert "the gates could not be asked: It hung. r asks every gate." in await rest(app, pilot)
        await pilot.press("r")
        assert "asking every gate" in await rest(app, pilot)
        assert played.controls.asked[-2:] == [("check", "k26-tp8")] * 2
        played.tell(LinkChanged(host=HOST, state="lost"))
        assert f"the link to {HOST} is lost." in await rest(app, pilot)
        played.tell(LinkChanged(host=HOST, state="up"))
        played.tell(PlanStarted(host=HOST, recipe=NAME, model=NAME))
        played.tell(PlanChecked(host="b2", recipe=NAME, verdict="pass", exit_code=0))
        await pilot.press("right_square_bracket")  # the other box's answers are not this one's
        assert "asking every gate" in await rest(app, pilot)
        played.tell(PlanChecked(host=HOST, recipe=NAME, verdict="block", exit_code=4))
        assert "blocked, see the ways out; E edits its flags, r asks again." in await rest(app, pilot)
        await pilot.press("r")
        assert "asking every gate" in await rest(app, pilot), "what was said before is no answer to this"


async def test_a_note_that_is_kept_nowhere_stays() -> None:
    played = session(RecorderFailed(path=CleanText("/r"), reason=CleanText("No space left on device")))
    app = ConsoleApp(played)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("N")
        await pilot.pause()
        rows = app.screen.query_one("#dialog-lines").render_lines(app.screen.region)
        assert "recording stopped, No space left on device" in words(" ".join(strip.text for strip in rows))
        played.controls.refusing = "Nothing is recorded."
        await pilot.press(*"night", "enter")
        assert "Nothing is recorded." in await rest(app, pilot)
        assert app.screen.query_one(Input).value == "night"
        played.controls.refusing = ""
        await pilot.press("enter")
    assert [event.text for event in played.events if isinstance(event, NoteWritten)] == ["night"]


async def test_so_does_one_of_the_palette() -> None:
    played = session()
    played.controls.refusing = "Nothing is recorded."
    app = ConsoleApp(played)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press(":", *"note night", "down", "enter")
        await rest(app, pilot)
        assert app.screen.query_one(Input).value == "note night"
