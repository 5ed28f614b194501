"""Keys of the Hub's side: set the token, verify what is stored, delete it, ask again, the page to accept."""

from __future__ import annotations

import shlex
from collections.abc import Awaitable, Callable, Mapping

from console.screens.deck import Deck
from console.screens.frame import Frame
from console.screens.handler import Handler
from console.screens.hub import HubScreen
from console.values import format_bytes
from console.values.secrets import Secret
from console.views.hub import closed_page, token_line
from console.views.hub_models import stored_models, users_of
from widgets.dialog import AskDialog, ConfirmDialog


def _say(deck: Deck, work: Callable[[], Awaitable[str]]) -> None:
    """Run a wish beside the screen, and say what came of it."""

    async def run() -> None:
        if sentence := await work():
            deck.notify(sentence)

    deck.run_worker(run(), exit_on_error=True)


def _token(deck: Deck, frame: Frame) -> None:
    controls, host = deck.session.controls, frame.host
    if controls is None or host is None:
        return
    name = host.name

    def answered(token: Secret | None) -> None:
        if token is not None:
            _say(deck, lambda: controls.set_token(name, token))

    rows = [
        ("box", name),
        ("now", token_line(host)[1]),
        ("goes into", f"the token file of {name}, 0600, unless the Hub rejects it"),
    ]
    deck.push_screen(AskDialog("Hugging Face token", rows, Secret, yes="Write", secret=True), answered)


def _verify(deck: Deck, frame: Frame) -> None:
    controls, host = deck.session.controls, frame.host
    if controls is None or host is None:
        return
    name, models = host.name, stored_models(host)
    if not models:
        deck.notify("No stored model is known on this box.", severity="warning")
        return

    def answered(yes: bool | None) -> None:
        if yes:
            _say(deck, lambda: controls.verify_stored(name))

    rows = [("box", name), *(("reads", f"{one.path}, {format_bytes(one.size_bytes)}") for one in models)]
    rows.append(("writes", "a proof beside each; a job of the box does it, and goes on without the console"))
    twin = f"gpudeck verify {name} REPO"
    deck.push_screen(ConfirmDialog("Verify what is stored", rows, yes="Verify", twin=twin), answered)


def ask_again(deck: Deck, frame: Frame) -> None:
    """Ask the Hub again, when the box is there to ask it."""
    controls, host = deck.session.controls, frame.host
    if controls and host and host.link.state == "up":
        name = host.name
        _say(deck, lambda: controls.ask_hub(name))


def copied_page(deck: Deck, frame: Frame) -> bool:
    """Copies the page on which access must be accepted; False when nothing is closed."""
    page = closed_page(frame.host) if frame.host else ""
    if page:
        deck.copy_to_clipboard(page)
        deck.notify(f"copied {page}")
    return bool(page)


def _remove(deck: Deck, frame: Frame) -> None:
    controls, host, screen = deck.session.controls, frame.host, deck.screen
    chosen = screen.chosen if isinstance(screen, HubScreen) else ""
    model = next((one for one in stored_models(host) if one.path == chosen), None) if host else None
    if controls is None or host is None or model is None:
        deck.notify("Choose a stored model on screen 3.", severity="warning")
        return
    if users := users_of(model):
        deck.notify(f"{model.path} is open by {users}.", severity="warning")
        return
    name, path = host.name, str(model.path)

    def answered(yes: bool | None) -> None:
        if yes:
            _say(deck, lambda: controls.remove_stored(name, path))

    rows = [("box", name), ("deletes", path), ("size", format_bytes(model.size_bytes)), ("proof", model.proof)]
    twin = f"gpudeck models {name} rm {shlex.quote(path)}"
    deck.push_screen(ConfirmDialog("Delete a stored model", rows, yes="Delete", twin=twin), answered)


HANDLERS: Mapping[str, Handler] = {"token": _token, "verify": _verify, "remove": _remove}
