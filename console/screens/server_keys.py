"""Keys of the server: deploy, start, stop."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from console.screens import job_keys
from console.screens.deck import Deck
from console.screens.deploy import ask_recipe, show_gates
from console.screens.frame import Frame
from console.screens.handler import Handler
from console.screens.jobs import JobsScreen
from console.values import known
from console.views.serve import last_recipe, main_server, owner
from widgets.dialog import ConfirmDialog, EditDialog


def _stop(deck: Deck, frame: Frame) -> None:
    """On screen 8 the job under the cursor, elsewhere the server."""
    if isinstance(deck.screen, JobsScreen) or frame.argument:
        job_keys.stop(deck, frame)
        return
    controls, host = deck.session.controls, frame.host
    server = main_server(host) if host else None
    if controls is None or host is None:
        return
    if server is None or not server.present or server.seen is None:
        deck.notify("No server runs on this box.", severity="warning")
        return
    name, seen = host.name, server.seen

    def answered(yes: bool | None) -> None:
        if yes:
            controls.stop_server(name, server.id)

    through = "its job" if seen.job else f"unit {seen.unit}" if seen.unit else f"pid {seen.pid}"
    rows = [("box", name), ("stops", f"{server.id}, {owner(server)}"), ("through", through)]
    rows.append(("how", "the parent first, the grace, then what is left"))
    twin = f"gpudeck serve {name} stop {server.id}"
    deck.push_screen(ConfirmDialog("Stop the server", rows, yes="Stop", twin=twin), answered)


def _tunnel(deck: Deck, frame: Frame) -> None:
    server = main_server(frame.host) if frame.host else None
    if server is None or server.seen is None or not server.present or not deck.session.controls or not frame.host:
        deck.notify("No server runs on this box.", severity="warning")
        return
    deck.session.controls.toggle_tunnel(frame.host.name, server.seen.port)


def _adopt(deck: Deck, frame: Frame) -> None:
    controls, host = deck.session.controls, frame.host
    server = main_server(host) if host else None
    if controls is None or host is None:
        return
    seen = server.seen if server else None
    if server is None or seen is None or not server.present:
        deck.notify("No server runs on this box.", severity="warning")
        return
    if seen.owner != "foreign" or seen.container:
        whose = f"in container {seen.container}: only looked at" if seen.container else f"{seen.owner} already"
        deck.notify(f"{server.id} is {whose}.", severity="warning")
        return
    name = host.name

    def answered(yes: bool | None) -> None:
        if yes:
            controls.adopt_server(name, server.id)

    who = str(seen.user) if known(seen.user) else "somebody"
    rows = [
        ("box", name),
        ("adopts", f"{server.id}, started by {who}"),
        ("runs as", f"unit {seen.unit}" if seen.unit else "a process"),
    ]
    rows.append(("means", "this console may stop it from now on, and bring it back"))
    twin = f"gpudeck serve {name} adopt {server.id} --accept adopt"
    deck.push_screen(ConfirmDialog("Adopt the server", rows, yes="Adopt", twin=twin), answered)


def _edit(deck: Deck, frame: Frame) -> None:
    """The flags of the recipe that runs or failed, as TOML; what comes back is asked its gates like any recipe."""
    controls, host = deck.session.controls, frame.host
    if controls is None or host is None:
        return
    recipe = last_recipe(host)
    args = controls.recipe_args(recipe) if recipe else ""
    if not args:
        deck.notify(f"The recipe {recipe} is not in reach." if recipe else "No recipe was started or checked here.")
        return
    name = host.name

    def edited(text: str) -> str:
        derived, refused = controls.edit_recipe(recipe, text)
        if refused:
            raise ValueError(refused)
        return derived

    def answered(derived: str | None) -> None:
        if derived:
            show_gates(deck, name, derived, fetch=True)

    rows = [("recipe", recipe), ("its flags", "as TOML; a line taken away leaves the flag out")]
    deck.push_screen(EditDialog("Edit and retry", rows, edited, args, yes="Ask the gates"), answered)


HANDLERS: Mapping[str, Handler] = {
    "deploy": partial(ask_recipe, fetch=True),
    "start": partial(ask_recipe, fetch=False),
    "stop": _stop,
    "tunnel": _tunnel,
    "adopt": _adopt,
    "edit": _edit,
}
