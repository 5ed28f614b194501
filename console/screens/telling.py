"""What the user asked to be told of reaches the terminal: bell, desktop notification, toast."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

from console.screens.deck import Deck
from console.screens.frame import Frame
from console.values import clean

LONGEST = 200
_NO_TEXT = re.compile(r"[\x00-\x1f\x7f-\x9f]")


def notification(text: str, env: Mapping[str, str] = os.environ) -> str:
    """OSC 9 and OSC 777 with one line of text that cannot end or widen them, passed through tmux, too.

    A terminal that knows neither shows nothing.
    """
    said = _NO_TEXT.sub("", clean(text, LONGEST)).replace(";", ",")
    sequences = (f"\x1b]9;gpudeck: {said}\x1b\\", f"\x1b]777;notify;gpudeck;{said}\x1b\\")
    if env.get("TMUX"):
        sequences = tuple("\x1bPtmux;" + one.replace("\x1b", "\x1b\x1b") + "\x1b\\" for one in sequences)  # type: ignore[assignment]
    return "".join(sequences)


class Teller:
    """Tells each moment once; what a session had told before it was looked at is old."""

    def __init__(self) -> None:
        self._told: dict[str, int] = {}

    def look(self, app: Deck, frame: Frame) -> None:
        """Tell what is new of every box, live alone."""
        for host in frame.session.state.hosts.values():
            count = len(host.alerts.told)
            for told in host.alerts.told[self._told.get(host.name, 0) :] if frame.session.controls else ():
                sentence = f"{host.name}: {told.sentence}"
                app.bell()
                app.tell_terminal(notification(sentence))
                app.notify(sentence, timeout=30)
            self._told[host.name] = count
