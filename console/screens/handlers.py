"""What each intent does on screen: one function an intent, one module a subject, joined here."""

from __future__ import annotations

from collections.abc import Mapping

from console.screens import job_keys, looking, playing, searching
from console.screens.handler import Handler

HANDLERS: Mapping[str, Handler] = {**looking.HANDLERS, **job_keys.HANDLERS, **searching.HANDLERS, **playing.HANDLERS}
