"""The deploy wizard: a recipe's name, its gates, and then the start. Until the last enter nothing is changed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.widget import Widget

from console.events.serve import DeployStepped
from console.intents import key_of
from console.screens.base import DeckScreen
from console.screens.deck import Deck, deck_of
from console.screens.frame import Frame, frame_of
from console.screens.plan import FitPane, PlanPane
from console.state.plan import Checked
from console.views.plan import blocking_data, to_accept
from widgets.cells import Cell, Line
from widgets.dialog import AskDialog, ConfirmDialog
from widgets.lines import Lines


class DeployScreen(DeckScreen):
    """The gates of the recipe that was named; enter starts, escape leaves."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "Leave", show=False, priority=True),
        Binding("enter", "begin", "Start", show=False, priority=True),
    ]

    def __init__(self, host: str, recipe: str, *, fetch: bool) -> None:
        super().__init__()
        self._host, self._recipe, self._fetch = host, recipe, fetch
        self._accepted: tuple[str, ...] = ()
        self._before: Checked | None = None  # what was said before the gates were asked for this screen
        self._told: DeployStepped | None = None

    @property
    def recipe(self) -> str:
        """The recipe whose gates are asked."""
        return self._recipe

    @property
    def box(self) -> str:
        """The box that was asked for."""
        return self._host

    def ask(self, deck: Deck, accept: tuple[str, ...] = ()) -> str:
        """Ask every gate, with what was accepted; from now on these answers count. Why that cannot be, or nothing."""
        controls, host = deck.session.controls, deck.session.state.hosts.get(self._host)
        if controls is None or host is None:
            return "No live box is here to be asked."
        if refused := controls.check_recipe(self._host, self._recipe, accept):
            return refused
        shown = host.plan.recipes.get(self._recipe)
        self._before = shown if shown and shown.verdict is not None else None
        self._told, self._accepted = host.serve.deploy, accept
        return ""

    def ask_again(self, accept: tuple[str, ...] = ()) -> None:
        """Ask every gate once more, or say why that cannot be."""
        deck = deck_of(self)
        if refused := self.ask(deck, accept):
            deck.notify(refused, severity="warning")
        deck.tick()

    def _of_host(self, frame: Frame) -> Frame:
        return frame._replace(host=frame.session.state.hosts.get(self._host))

    def body(self) -> Iterable[Widget]:
        yield Lines(wrap=True, id="deploy-line")
        yield Vertical(PlanPane(), FitPane(), id="plan-body")

    def paint(self, frame: Frame) -> None:
        """What enter would do now, of the box that was asked for, whichever the deck shows."""
        frame = self._of_host(frame)
        super().paint(frame)
        self.query_one("#deploy-line", Lines).set_lines([Line((Cell(f" {self._question(frame)}", "strong"),))])

    def _question(self, frame: Frame) -> str:
        checked, again = self._verdict(frame), key_of("check_again", frame.table)
        leave = "esc leaves, nothing is changed"
        if checked is None and (why := self._unasked(frame)):
            return f"{self._recipe}: {why} {again} asks every gate.   {leave}"
        if checked is None:
            return f"{self._recipe}: asking every gate …   {leave}"
        if ways := self._acceptable(frame):
            return f"enter: look at what would be accepted ({', '.join(ways)})   {leave}"
        if checked != 0:
            edit = key_of("edit", frame.table)
            return f"{self._recipe}: blocked, see the ways out; {edit} edits its flags, {again} asks again.   {leave}"
        verb = "deploy: download, verify, start, smoke test" if self._fetch else "start"
        return f"enter: {verb} {self._recipe} on {self._host}   {leave}"

    def _unasked(self, frame: Frame) -> str:
        """Why no answer is on its way; empty while one is."""
        host = frame.host
        if host is None or host.link.state != "up":
            return f"the link to {self._host} is {host.link.state if host else 'closed'}."
        step, shown, mine = host.serve.deploy, host.plan.shown, host.plan.recipes.get(self._recipe)
        if step is not None and step is not self._told and (step.recipe, step.step) == (self._recipe, "preflight"):
            return f"the gates could not be asked: {step.sentence}" if step.state == "failed" else ""
        away = shown is not None and mine not in (None, self._before, shown)
        return f"the gates of {shown.recipe} were asked meanwhile." if shown and away else ""

    def _verdict(self, frame: Frame) -> int | None:
        """The exit code of the plan, None while it is asked."""
        plan = frame.host.plan.shown if frame.host else None
        if plan is None or plan.recipe != self._recipe or plan.verdict is None or plan is self._before:
            return None
        return plan.exit_code

    def _acceptable(self, frame: Frame) -> tuple[str, ...]:
        """What has to be accepted, when that alone stands in the way."""
        plan = frame.host.plan.shown if frame.host else None
        return to_accept(plan) if plan is not None and self._verdict(frame) else ()

    def action_leave(self) -> None:
        """Back to where it was asked."""
        self.dismiss()

    def action_begin(self) -> None:
        """Begin, when the gates allow it."""
        deck = deck_of(self)
        controls = deck.session.controls
        frame = self._of_host(frame_of(deck))
        if ways := self._acceptable(frame):
            self._ask(frame, ways)
            return
        if controls is None or self._verdict(frame) != 0:
            return
        if refused := controls.deploy(self._host, self._recipe, fetch=self._fetch, accept=self._accepted):
            deck.notify(f"{refused} Nothing was begun.", severity="warning")
            return
        deck.host_name = self._host
        self.dismiss()
        deck.switch_mode("server")

    def _ask(self, frame: Frame, ways: tuple[str, ...]) -> None:
        """What would be accepted, as data; no is the default. A yes asks the gates again, with it."""
        deck, plan = deck_of(self), frame.host.plan.shown if frame.host else None
        rows = blocking_data(plan) if plan else []

        def answered(yes: bool | None) -> None:
            if yes:
                self.ask_again(ways)

        twin = f"gpudeck deploy {self._host} {self._recipe} --accept {','.join(ways)}"
        deck.push_screen(ConfirmDialog("Accept?", rows, yes=f"Accept {', '.join(ways)}", twin=twin), answered)


def ask_recipe(deck: Deck, frame: Frame, *, fetch: bool) -> None:
    """Ask for the recipe's name, then show its gates."""
    controls, host = deck.session.controls, frame.host
    if controls is None or host is None:
        return
    names = controls.recipe_names()
    if frame.argument:
        show_gates(deck, host.name, frame.argument, fetch=fetch)
        return

    def asked(recipe: str) -> DeployScreen:
        screen = DeployScreen(host.name, recipe, fetch=fetch)
        if refused := screen.ask(deck):
            raise ValueError(refused)
        return screen

    def named(screen: DeployScreen | None) -> None:
        if screen:
            _show(deck, screen)

    rows = [("box", host.name)]
    if problem := controls.recipe_problem():
        rows.append(("wrong", problem))
    if names or not problem:
        rows.append(("recipes", ", ".join(names) or "none in reach: gpudeck recipe new"))
    title = "Deploy" if fetch else "Start"
    dialog = AskDialog(title, rows, asked, yes="Ask the gates", placeholder="a recipe's name", names=names)
    deck.push_screen(dialog, named)


def show_gates(deck: Deck, host: str, recipe: str, *, fetch: bool) -> None:
    """Ask the gates of a recipe, and show them with what enter would do."""
    screen = DeployScreen(host, recipe, fetch=fetch)
    if refused := screen.ask(deck):
        deck.notify(refused, severity="warning")
    else:
        _show(deck, screen)


def _show(deck: Deck, screen: DeployScreen) -> None:
    """The gates of one recipe at a time: an edited one takes the place of the one that was refused."""
    if isinstance(deck.screen, DeployScreen):
        deck.switch_screen(screen)
    else:
        deck.push_screen(screen)
