"""The palette: every action by its name, and with its argument, beside the command line that does the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple, cast

from textual.command import DiscoveryHit, Hit, Hits, Provider
from textual.markup import escape

from console.bench.presets import PRESETS, Preset
from console.events.link import NoteWritten
from console.intents import BY_ID, available, key_name, refusal, spoken, twin
from console.screens.bench_keys import flags_of, wished
from console.screens.deck import Deck
from console.screens.frame import Frame, frame_of
from console.session.moments import parse_moment
from console.values import clean, known

Run = Callable[[], object]


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
        deck, frame, matcher = self._deck, self._frame, self.matcher(query)
        for command in _free(deck, frame, query.strip()):
            yield Hit(1.5, escape(command.text), command.run, help=escape(command.help))
        for command in [*_suggested(deck, frame), *_actions(deck, frame)]:
            if (score := matcher.match(command.text)) > 0:
                shown = matcher.highlight(escape(command.text))
                yield Hit(score, shown, command.run, help=escape(command.help))

    @property
    def _deck(self) -> Deck:
        return cast(Deck, self.app)

    @property
    def _frame(self) -> Frame:
        return frame_of(self._deck)


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
        yield from _with(deck, frame, "screen_plan", f"preflight {recipe}", recipe)
        yield from _with(deck, frame, "start", f"serve start {recipe}", recipe)
        yield from _with(deck, frame, "deploy", f"deploy {recipe}", recipe)
    for preset in PRESETS:
        yield from _with(deck, frame, "bench", f"bench --preset {preset}", f"--preset {preset}")
    for job in host.jobs.jobs if known(host.jobs.jobs) else ():
        if job.state == "running":
            yield from _with(deck, frame, "stop", f"jobs stop {job.id}", job.id)


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
        note = NoteWritten(text=clean(text), host=deck.host_name)
        yield Command(query, "write it into the recording", lambda: controls.publish(note))
    if verb == "go" and text and deck.player:
        player = deck.player
        try:
            moment = parse_moment(text.removeprefix("to "), deck.session.header)
        except ValueError:
            return
        yield Command(query, "to this moment of the recording", lambda: player.go_to(moment))
    if verb == "bench" and text and controls and isinstance(preset := wished(text), Preset):
        yield from _with(deck, frame, "bench", query, flags_of(preset))
