"""Keys of the server: deploy, start, stop."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from console.screens import job_keys
from console.screens.deck import Deck
from console.screens.deploy import ask_recipe
from console.screens.frame import Frame
from console.screens.handler import Handler
from console.screens.jobs import JobsScreen
from console.views.serve import main_server, owner
from widgets.dialog import ConfirmDialog


def _stop(deck: Deck, frame: Frame) -> None:
    """On screen 8 the job under the cursor, elsewhere the server."""
    if isinstance(deck.screen, JobsScreen):
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
    rows = [("stops", f"{server.id}, {owner(server)}"), ("through", through)]
    rows.append(("how", "the parent first, the grace, then what is left"))
    twin = f"gpudeck serve {name} stop {server.id}"
    deck.push_screen(ConfirmDialog("Stop the server", rows, yes="Stop", twin=twin), answered)


def _tunnel(deck: Deck, frame: Frame) -> None:
    server = main_server(frame.host) if frame.host else None
    if server is None or server.seen is None or not server.present or not deck.session.controls or not frame.host:
        deck.notify("No server runs on this box.", severity="warning")
        return
    deck.session.controls.toggle_tunnel(frame.host.name, server.seen.port)


HANDLERS: Mapping[str, Handler] = {
    "deploy": partial(ask_recipe, fetch=True),
    "start": partial(ask_recipe, fetch=False),
    "stop": _stop,
    "tunnel": _tunnel,
}
