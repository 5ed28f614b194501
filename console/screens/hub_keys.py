"""Keys of the Hub's side: set the token, verify what is stored, ask again, the page to accept."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

from console.screens.deck import Deck
from console.screens.frame import Frame
from console.screens.handler import Handler
from console.values.secrets import Secret
from console.views.hub import closed_page, token_line
from widgets.dialog import AskDialog


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

    def answered(text: str | None) -> None:
        if text:
            token = Secret(text)
            _say(deck, lambda: controls.set_token(name, token))

    rows = [("now", token_line(host)[1]), ("goes into", f"the token file of {name}, 0600, unless the Hub rejects it")]
    deck.push_screen(AskDialog("Hugging Face token", rows, yes="Write", secret=True), answered)


def _verify(deck: Deck, frame: Frame) -> None:
    controls, host = deck.session.controls, frame.host
    if controls and host:
        name = host.name
        _say(deck, lambda: controls.verify_stored(name))


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


HANDLERS: Mapping[str, Handler] = {"token": _token, "verify": _verify}
