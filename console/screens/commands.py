"""The palette: every action by its name, and with its argument, beside the command line that does the same."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import NamedTuple, cast

from textual.command import CommandPalette, DiscoveryHit, Hit, Hits, Provider
from textual.markup import escape
from textual.widgets import Input

from console.bench.presets import PRESETS
from console.config.errors import nearest
from console.intents import BY_ID, available, key_name, key_of, refusal, spoken, twin
from console.screens.bench_keys import flags_of, wished
from console.screens.deck import Deck
from console.screens.frame import Frame, frame_of
from console.screens.looking import notebook
from console.session.moments import parse_moment
from console.state import HostState
from console.values import clean, known
from console.views.jobs import find_job

Run = Callable[[], object]
MOST_NAMES = 6
# What takes an argument, as it is typed, and its action.
OF_RECIPES = {"preflight": "screen_plan", "serve start": "start", "deploy": "deploy"}
VERBS = {**OF_RECIPES, "bench": "bench", "jobs stop": "stop", "box": "screen_hosts", "note": "note", "go": "go_to"}


class Command(NamedTuple):
    """`text` is what is typed, `help` stands below it: as they are, a box's names among them; `run` does it."""

    text: str
    help: str
    run: Run


class Palette(Provider):
    """Suggestions while one types; an argument may be typed to its end."""

    async def discover(self) -> Hits:
        """Before anything is typed: every action of this session."""
        for command in _actions(self._deck, self._frame):
            yield DiscoveryHit(escape(command.text), command.run, help=escape(command.help))

    async def search(self, query: str) -> Hits:
        """What is like the text, actions with an argument first when one is typed."""
        deck, frame, matcher, found = self._deck, self._frame, self.matcher(query), False
        for command in _free(deck, frame, query.strip()):
            found = True
            yield Hit(1.5, escape(command.text), command.run, help=escape(command.help))
        for command in [*_suggested(deck, frame), *_actions(deck, frame)]:
            if (score := matcher.match(command.text)) > 0:
                found = True
                shown = matcher.highlight(escape(command.text))
                yield Hit(score, shown, command.run, help=escape(command.help))
        if not found:
            yield Hit(1.0, escape(query), partial(_again, deck, query), help=escape(refused_words(deck, frame, query)))

    @property
    def _deck(self) -> Deck:
        return cast(Deck, self.app)

    @property
    def _frame(self) -> Frame:
        return frame_of(self._deck)


async def _noted(deck: Deck, text: str) -> None:
    if deck.session.controls and (refused := deck.session.controls.note(clean(text), deck.host_name)):
        deck.notify(refused, severity="warning")
        await _again(deck, f"note {text}")


async def _again(deck: Deck, text: str) -> None:
    """What could not be taken is there to be corrected."""
    palette: CommandPalette = CommandPalette()
    await deck.push_screen(palette)
    field = palette.query_one(Input)
    field.value = text
    field.action_end()


def _actions(deck: Deck, frame: Frame) -> Iterator[Command]:
    host = frame.host.name if frame.host else "HOST"
    for intent in available(frame.situation):
        if intent.id != "palette":
            same = f"   same as: {twin(intent, host)}" if intent.command else ""
            text = f"{key_name(intent.keys[0])}   {spoken(intent.help, frame.table)}{same}"
            yield Command(intent.title, text, partial(deck.wish, intent.id))


def _suggested(deck: Deck, frame: Frame) -> Iterator[Command]:
    """Actions with each argument that there is."""
    host, controls = frame.host, deck.session.controls
    for name in deck.session.state.hosts:
        yield Command(f"box {name}", f"show this box   same as: gpudeck {name}", partial(deck.show_host, name))
    if host is None or controls is None:
        return
    for recipe in controls.recipe_names():
        for verb, intent_id in OF_RECIPES.items():
            yield from _with(deck, frame, intent_id, f"{verb} {recipe}", recipe)
    for preset in PRESETS:
        yield from _with(deck, frame, "bench", f"bench --preset {preset}", f"--preset {preset}")
    for job in _running(host):
        yield from _with(deck, frame, "stop", f"jobs stop {job}", job)


def _running(host: HostState) -> list[str]:
    return [job.id for job in host.jobs.jobs if job.state == "running"] if known(host.jobs.jobs) else []


def refused_words(deck: Deck, frame: Frame, query: str) -> str:
    """Why what was typed is no action that can be done now."""
    text = " ".join(query.split())
    verb = next((one for one in VERBS if f"{text} ".startswith(f"{one} ")), "")
    if not verb:
        return f"No action is called so; {key_of('help', frame.table)} lists all. enter: back to what was typed"
    rest = text.removeprefix(verb).strip()
    why = refusal(BY_ID[VERBS[verb]], frame.situation) or _refused_argument(deck, frame, verb, rest)
    return f"{why} enter: back to what was typed"


def _refused_argument(deck: Deck, frame: Frame, verb: str, rest: str) -> str:
    """What is wrong with what stands behind an action."""
    try:
        if verb == "bench":
            wished(rest)
        elif verb == "go":
            parse_moment(rest.removeprefix("to "), deck.session.header)
    except ValueError as error:
        return str(error)
    if verb in OF_RECIPES and deck.session.controls:
        return deck.session.controls.recipe_problem() or _no_such("recipe", rest, deck.session.controls.recipe_names())
    if verb == "jobs stop" and frame.host:
        if find_job(frame.host, rest):
            return f"{rest} has ended."
        return _no_such("running job", rest, _running(frame.host))
    return _no_such("open box", rest, list(deck.session.state.hosts)) if verb == "box" else "It needs a text."


def _no_such(what: str, name: str, names: Sequence[str]) -> str:
    if not names:
        return f"There is no {what}."
    near = nearest(name, names)
    some = ", ".join(names[:MOST_NAMES]) + " …" * (len(names) > MOST_NAMES)
    hint = f'nearest: "{near}"' if near else f"there are: {some}"
    return f'There is no {what} "{name}" ({hint}).' if name else f"Which {what}? There are: {some}."


def _with(deck: Deck, frame: Frame, intent_id: str, text: str, argument: str) -> Iterator[Command]:
    """The action with its argument, when it is granted now."""
    intent = BY_ID[intent_id]
    if (
        frame.host
        and intent_id in {one.id for one in available(frame.situation)}
        and not refusal(intent, frame.situation)
    ):
        same = f"same as: {twin(intent, frame.host.name, argument)}"
        yield Command(text, same, partial(deck.wish, intent_id, argument))


def _free(deck: Deck, frame: Frame, query: str) -> Iterator[Command]:
    """Actions whose argument is the user's own text: a note, a moment of a replay, concurrencies."""
    verb, _, rest = query.partition(" ")
    text, controls = rest.strip(), deck.session.controls
    if verb == "note" and text and controls:
        yield Command(query, f"goes into {notebook(frame)}", partial(_noted, deck, text))
    if verb == "go" and text and deck.player:
        player = deck.player
        try:
            moment = parse_moment(text.removeprefix("to "), deck.session.header)
        except ValueError:
            return
        yield Command(query, "to this moment of the recording", lambda: player.go_to(moment))
    if verb == "bench" and text and controls:
        with contextlib.suppress(ValueError):
            yield from _with(deck, frame, "bench", query, flags_of(wished(text)))
