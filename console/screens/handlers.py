"""What each intent does on screen: one function an intent, one module a subject, joined here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from console.screens import looking, playing
from console.screens.frame import Frame

if TYPE_CHECKING:
    from console.app import ConsoleApp

Handler = Callable[["ConsoleApp", Frame], None]

HANDLERS: Mapping[str, Handler] = {**looking.HANDLERS, **playing.HANDLERS}
