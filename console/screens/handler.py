"""What a handler of an intent is."""

from __future__ import annotations

from collections.abc import Callable

from console.screens.deck import Deck
from console.screens.frame import Frame

Handler = Callable[[Deck, Frame], None]
