"""Intents that only look: help, palette, screens, zoom, copy, the next box, a shell, a note."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping
from functools import partial

from console.screens import hub_keys
from console.screens.copying import copy
from console.screens.deck import Deck
from console.screens.deploy import DeployScreen
from console.screens.frame import Frame
from console.screens.handler import Handler
from console.screens.help import HelpScreen
from console.screens.hub import HubScreen
from console.screens.plan import PlanPane
from console.screens.searching import SearchScreen
from console.screens.server_files import copied_server
from console.values import clean
from console.views.text import status_lines
from widgets.dialog import AskDialog
from widgets.line_table import LineTable

SCREEN_NAMES = ("hosts", "overview", "host", "hub", "plan", "server", "bench", "runs", "jobs")


def _help(app: Deck, frame: Frame) -> None:
    app.push_screen(HelpScreen(app.screen, frame))


def _palette(app: Deck, _frame: Frame) -> None:
    app.action_command_palette()


def _back(app: Deck, _frame: Frame) -> None:
    if app.screen.maximized:
        app.screen.minimize()
    elif isinstance(app.screen, SearchScreen) and app.screen.forget():
        pass
    elif app.host_name:
        app.switch_mode("overview")


def _quit(app: Deck, _frame: Frame) -> None:
    app.exit()


def _zoom(app: Deck, _frame: Frame) -> None:
    if app.screen.maximized:
        app.screen.minimize()
    elif app.focused:
        app.screen.maximize(app.focused)


def _show(name: str, app: Deck, frame: Frame) -> None:
    controls, host = app.session.controls, frame.host
    if frame.argument and host and controls and (refused := controls.check_recipe(host.name, frame.argument)):
        app.notify(refused, severity="warning")
        return
    app.switch_mode(name)


def _check_again(app: Deck, frame: Frame) -> None:
    if isinstance(app.screen, DeployScreen):
        app.screen.ask_again()
    elif app.session.controls and frame.host:
        app.session.controls.again(frame.host.name)
        plan = frame.host.plan.shown
        if plan is not None and app.screen.query(PlanPane):
            refused = app.session.controls.check_recipe(frame.host.name, plan.recipe)
            if refused:
                app.notify(refused, severity="warning")
        else:
            hub_keys.ask_again(app, frame)


def _copy(app: Deck, frame: Frame) -> None:
    """What is selected; else what the screen is about; else the row under the cursor; else the whole status."""
    if selected := app.screen.get_selected_text():
        copy(app, selected, "the selection")
        return
    if isinstance(app.screen, HubScreen) and hub_keys.copied_page(app, frame):
        return
    if copied_server(app, frame):
        return
    if isinstance(app.focused, LineTable) and (row := app.focused.cursor_text):
        copy(app, row, "the row")
    elif frame.host:
        copy(app, "\n".join(status_lines(frame.host, frame.now)), f"the status of {frame.host.name}")


def _turn(step: int, app: Deck, _frame: Frame) -> None:
    names = list(app.session.state.hosts)
    app.host_name = names[(names.index(app.host_name) + step) % len(names)]
    app.tick()


def _shell(app: Deck, frame: Frame) -> None:
    if app.session.controls and frame.host:
        with app.suspend():
            subprocess.run(app.session.controls.shell_command(frame.host.name), check=False)


def _suspend(app: Deck, _frame: Frame) -> None:
    """As ctrl+z at any program. The first program of a terminal has no shell that could continue it."""
    if os.getsid(0) == os.getpgrp():
        app.notify("No shell started this console: there is none to go back to.", severity="warning")
    else:
        os.kill(os.getpid(), signal.SIGTSTP)  # taken by the driver, which stops the whole job


def _note(app: Deck, frame: Frame) -> None:
    controls = app.session.controls

    def written(text: str) -> None:
        if controls and (refused := controls.note(clean(text), frame.host.name if frame.host else "")):
            raise ValueError(f"{refused} enter tries again.")

    app.push_screen(AskDialog("Note", [("goes into", notebook(frame))], written))


def notebook(frame: Frame) -> str:
    """What takes a note now."""
    run = frame.host.bench.latest if frame.host else None
    measured = run is not None and run.ended is None
    runs = "report of the run in progress" if measured else "reports of the runs around it"
    stopped = frame.session.state.session.recorder_failure
    if stopped:
        return f"the {runs} alone: recording stopped, {stopped}"
    return f"the recording, and the {runs}" if frame.session.recording else f"the {runs} alone: nothing is recorded"


HANDLERS: Mapping[str, Handler] = {
    "help": _help,
    "palette": _palette,
    "back": _back,
    "quit": _quit,
    "suspend": _suspend,
    "zoom": _zoom,
    "check_again": _check_again,
    "copy": _copy,
    "next_box": partial(_turn, 1),
    "previous_box": partial(_turn, -1),
    "shell": _shell,
    "note": _note,
    **{f"screen_{name}": partial(_show, name) for name in SCREEN_NAMES},
}
