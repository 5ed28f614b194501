"""The deploy wizard: a recipe's name, its gates, and then the start. Until the last enter nothing is changed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.widget import Widget

from console.screens.base import DeckScreen
from console.screens.deck import Deck, deck_of
from console.screens.frame import Frame, frame_of
from console.screens.plan import FitPane, PlanPane
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

    def body(self) -> Iterable[Widget]:
        yield Vertical(Lines(wrap=True, id="deploy-line"), PlanPane(), FitPane(), id="plan-body")

    def paint(self, frame: Frame) -> None:
        """What enter would do now."""
        super().paint(frame)
        self.query_one("#deploy-line", Lines).set_lines([Line((Cell(f" {self._question(frame)}", "strong"),))])

    def _question(self, frame: Frame) -> str:
        checked = self._verdict(frame)
        if checked is None:
            return f"{self._recipe}: asking every gate …   esc leaves, nothing is changed"
        if ways := self._acceptable(frame):
            return f"enter: look at what would be accepted ({', '.join(ways)})   esc leaves, nothing is changed"
        if checked != 0:
            return f"{self._recipe}: blocked, see the ways out.   esc leaves, nothing is changed"
        verb = "deploy: download, verify, start, smoke test" if self._fetch else "start"
        return f"enter: {verb} {self._recipe} on {self._host}   esc leaves, nothing is changed"

    def _verdict(self, frame: Frame) -> int | None:
        """The exit code of the plan, None while it is asked."""
        plan = frame.host.plan.shown if frame.host else None
        if plan is None or plan.recipe != self._recipe or plan.verdict is None:
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
        frame = frame_of(deck)
        if ways := self._acceptable(frame):
            self._ask(frame, ways)
            return
        if controls is None or self._verdict(frame) != 0:
            return
        refused = controls.deploy(self._host, self._recipe, fetch=self._fetch, accept=self._accepted)
        self.dismiss()
        if refused:
            deck.notify(refused, severity="warning")
        else:
            deck.switch_mode("server")

    def _ask(self, frame: Frame, ways: tuple[str, ...]) -> None:
        """What would be accepted, as data; no is the default. A yes asks the gates again, with it."""
        deck, plan = deck_of(self), frame.host.plan.shown if frame.host else None
        rows = blocking_data(plan) if plan else []

        def answered(yes: bool | None) -> None:
            if yes and deck.session.controls:
                self._accepted = ways
                if refused := deck.session.controls.check_recipe(self._host, self._recipe, ways):
                    deck.notify(refused, severity="warning")

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

    def asked(recipe: str) -> str:
        if refused := controls.check_recipe(host.name, recipe):
            raise ValueError(refused)
        return recipe

    def named(recipe: str | None) -> None:
        if recipe:
            deck.push_screen(DeployScreen(host.name, recipe, fetch=fetch))

    rows = [("box", host.name), ("recipes", ", ".join(names) or "none in reach: gpudeck recipe new")]
    title = "Deploy" if fetch else "Start"
    dialog = AskDialog(title, rows, asked, yes="Ask the gates", placeholder="a recipe's name", names=names)
    deck.push_screen(dialog, named)


def show_gates(deck: Deck, host: str, recipe: str, *, fetch: bool) -> None:
    """Ask the gates of a recipe, and show them with what enter would do."""
    controls = deck.session.controls
    if controls is None:
        return
    if refused := controls.check_recipe(host, recipe):
        deck.notify(refused, severity="warning")
    else:
        deck.push_screen(DeployScreen(host, recipe, fetch=fetch))
