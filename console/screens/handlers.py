"""What each intent does on screen: one function an intent, one module a subject, joined here."""

from __future__ import annotations

from collections.abc import Mapping

from console.screens import alerts, bench_keys, hub_keys, job_keys, jump, looking, playing, searching, server_keys
from console.screens.handler import Handler

HANDLERS: Mapping[str, Handler] = {
    **looking.HANDLERS,
    **alerts.HANDLERS,
    **jump.HANDLERS,
    **bench_keys.HANDLERS,
    **hub_keys.HANDLERS,
    **job_keys.HANDLERS,
    **server_keys.HANDLERS,
    **searching.HANDLERS,
    **playing.HANDLERS,
}
