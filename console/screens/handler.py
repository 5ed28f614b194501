"""What a handler of an intent is."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from console.screens.frame import Frame

if TYPE_CHECKING:
    from console.app import ConsoleApp

Handler = Callable[["ConsoleApp", Frame], None]
