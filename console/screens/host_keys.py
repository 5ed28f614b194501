"""Dialogs about host keys, opened once for each fact: an unknown key may be trusted, a changed one never."""

from __future__ import annotations

from console.events.link import HostKeyAsked, HostKeyChanged
from console.screens.deck import Deck
from console.screens.frame import Frame
from widgets.dialog import HostKeyDialog, NoticeDialog


class HostKeys:
    """Remembers which fact was shown, so that a person is asked once."""

    def __init__(self) -> None:
        self._shown: HostKeyAsked | HostKeyChanged | None = None

    def look(self, deck: Deck, frame: Frame) -> None:
        """Open the dialog when the box that is shown has told a new host key."""
        fact = frame.host.link.host_key if frame.host else None
        if fact is None or fact is self._shown or frame.session.controls is None:
            return
        self._shown = fact
        if isinstance(fact, HostKeyChanged):
            deck.push_screen(NoticeDialog("HOST KEY CHANGED", _changed_rows(fact), level="fail"))
            return
        controls, name = frame.session.controls, fact.host

        def answered(trusted: bool | None) -> None:
            if trusted:
                controls.accept_host_key(name)

        deck.push_screen(HostKeyDialog(fact.target, fact.algorithm, fact.fingerprint), answered)


def _changed_rows(fact: HostKeyChanged) -> list[tuple[str, str]]:
    return [
        ("box", fact.target),
        ("known", f"{fact.known_fingerprint}  ({fact.file}:{fact.line})"),
        ("shown now", fact.shown_fingerprint),
        ("means", "the box was installed anew, or somebody stands between you and it"),
        (
            "way out",
            f"ask who runs the box; if the new key is right: ssh-keygen -f {fact.file} -R '{_entry(fact.target)}'",
        ),
    ]


def _entry(target: str) -> str:
    """What known_hosts calls it: the port is named unless it is 22."""
    host, _, port = target.rpartition(":")
    return host if port == "22" else f"[{host}]:{port}"
