"""Runs the app over a session. The only module of the command line that loads Textual."""

from __future__ import annotations

import asyncio
import gc
import os
import signal

from console.app import ConsoleApp
from console.config import Config
from console.keymap import keyed
from console.screens.asking import ScreenAsker
from console.session.player import Player
from console.session.protocol import Session
from widgets.themes import DARK, apply_no_color, theme_for


def make_app(session: Session, config: Config, player: Player | None = None) -> ConsoleApp:
    """The app with the looks of the configuration and of the terminal."""
    if config.settings.no_color:
        os.environ["NO_COLOR"] = "1"
    colourless = apply_no_color()
    theme = theme_for(os.environ, _wanted_theme(config))
    return ConsoleApp(
        session, player=player, theme=theme, ascii_only=config.settings.ascii, colourless=colourless,
        table=keyed(config.keys),
    )  # fmt: skip


def make_picture_app(session: Session, config: Config) -> ConsoleApp:
    """The app for a picture, which looks the same whatever the terminal is."""
    return ConsoleApp(session, theme=_wanted_theme(config) or DARK, ascii_only=config.settings.ascii)


def _wanted_theme(config: Config) -> str:
    return "" if config.settings.theme == "auto" else f"gpudeck-{config.settings.theme}"


async def show(
    session: Session, config: Config, player: Player | None = None, asker: ScreenAsker | None = None
) -> None:
    """Show the session until the user quits; what broke the app is raised."""
    app = make_app(session, config, player)
    if asker:
        asker.attach(app)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        # An ordered end: the app gives the terminal back, the session stops what is ours.
        loop.add_signal_handler(number, app.exit, None, 128 + number)
    gc.freeze()  # what was imported stays: looking through it again takes longer than a frame
    await app.run_async()
    if app.return_code:
        raise SystemExit(app.return_code)
