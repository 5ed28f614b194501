"""Keys of the server: deploy, start, stop."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from console.events.serve import Server
from console.screens import job_keys
from console.screens.deck import Deck
from console.screens.deploy import DeployScreen, ask_recipe, show_gates
from console.screens.frame import Frame
from console.screens.handler import Handler
from console.screens.jobs import JobsScreen
from console.state import HostState
from console.values import CleanText, known
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
        if yes and (refused := gone(deck, name, server.id, seen) or controls.stop_server(name, server.id)):
            deck.notify(f"{refused} Nothing was stopped.", severity="warning")

    through = "its job" if seen.job else f"unit {seen.unit}" if seen.unit else f"pid {seen.pid}"
    rows = [("box", name), ("stops", f"{server.id}, {owner(server)}"), ("through", through)]
    rows.append(("how", "the parent first, the grace, then what is left"))
    twin = f"gpudeck serve {name} stop {server.id}"
    deck.push_screen(ConfirmDialog("Stop the server", rows, yes="Stop", twin=twin), answered)


def gone(deck: Deck, host: str, server_id: str, shown: Server) -> str:
    """Why what was shown and confirmed is not there any more; nothing while it is."""
    server = deck.session.state.hosts[host].serve.servers.get(CleanText(server_id))
    if server is None or server.seen is None or not server.present:
        return f"{server_id} runs no longer."
    same = (server.seen.pid, server.seen.start) == (shown.pid, shown.start)
    return "" if same else f"{server_id} is another process by now, pid {server.seen.pid}."


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
        if yes and (refused := gone(deck, name, server.id, seen) or controls.adopt_server(name, server.id)):
            deck.notify(f"{refused} Nothing was adopted.", severity="warning")

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
    if isinstance(deck.screen, DeployScreen):
        host = deck.session.state.hosts[deck.screen.box]
    if controls is None or host is None:
        return
    recipe = _edits(deck, host)
    args = controls.recipe_args(recipe) if recipe else ""
    if not args:
        known_here = f"the recipes in reach of this directory: {', '.join(controls.recipe_names()) or 'none'}"
        missing = f"The recipe {recipe} is not among {known_here}." if recipe else ""
        deck.notify(missing or "No recipe was started or checked here.", severity="warning")
        return
    name = host.name

    def edited(text: str) -> str:
        derived, refused = controls.edit_recipe(name, recipe, text)
        if refused:
            raise ValueError(refused)
        return derived

    def answered(derived: str | None) -> None:
        if derived:
            show_gates(deck, name, derived, fetch=True)

    rows = [("recipe", recipe), ("its flags", "as TOML; a line taken away leaves the flag out")]
    deck.push_screen(EditDialog("Edit and retry", rows, edited, args, yes="Ask the gates"), answered)


def _edits(deck: Deck, host: HostState) -> str:
    """The recipe whose gates are looked at; else, of an edit of the last one that was refused, the edit."""
    if isinstance(deck.screen, DeployScreen):
        return deck.screen.recipe
    recipe, asked = last_recipe(host), host.plan.shown
    refused = asked is not None and asked.exit_code and asked.recipe.startswith(f"{recipe}+")
    return asked.recipe if asked is not None and refused else recipe


HANDLERS: Mapping[str, Handler] = {
    "deploy": partial(ask_recipe, fetch=True),
    "start": partial(ask_recipe, fetch=False),
    "stop": _stop,
    "tunnel": _tunnel,
    "adopt": _adopt,
    "edit": _edit,
}
