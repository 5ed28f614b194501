"""What of a server leaves the screen: its log and its failure into files, a line or its state into the clipboard."""

from __future__ import annotations

from console.screens.copying import copy, save
from console.screens.deck import Deck
from console.screens.frame import Frame
from console.screens.serve import ServerScreen
from console.values import dump_json
from console.views.failure import failure_bundle
from console.views.serve import main_server
from console.views.server_log import log_lines
from console.views.server_pane import server_words


def exported_server(deck: Deck, frame: Frame) -> bool:
    """On screen 5: the log as text, and the bundle of the server beside it."""
    server = main_server(frame.host) if frame.host else None
    if not isinstance(deck.screen, ServerScreen) or server is None or frame.host is None:
        return False
    log = save(deck, f"{server.id}.log", "\n".join([*log_lines(server, len(server.log)), ""]))
    head = {"ts": frame.session.header.at(frame.now)}
    bundle = dump_json(head | failure_bundle(frame.host, server, frame.now), pretty=True) + "\n"
    if log is not None and save(deck, f"{server.id}.json", bundle) is not None:
        lost = f" (the last {len(server.log):,} lines)" if server.log_count > len(server.log) else ""
        deck.notify(f"{log.name}{lost} and {server.id}.json are in {log.parent}")
    return True


def copied_server(deck: Deck, frame: Frame) -> bool:
    """On screen 5: the line that was found, else the server with its `curl`."""
    server = main_server(frame.host) if frame.host else None
    if not isinstance(deck.screen, ServerScreen) or server is None or frame.host is None:
        return False
    if found := deck.screen.searched.found_text():
        copy(deck, found, "the line that was found")
    else:
        copy(deck, "\n".join(server_words(frame.host, server, frame.now)), f"what is known of {server.id}")
    return True
