"""Screens as SVG files, from any session."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

from console.screens.base import DeckScreen
from console.screens.deck import Deck
from console.values.secrets import redact

SIZE = (120, 40)
_WEB_FONTS = re.compile(r"@font-face\s*\{[^}]*\}\s*")


def write_svgs(app: Deck, directory: Path) -> list[Path]:
    """Write `<screen>.svg` for each screen into the directory, made when missing."""
    directory.mkdir(parents=True, exist_ok=True)
    return asyncio.run(_write(app, directory))


async def _write(app: Deck, directory: Path) -> list[Path]:
    written = []
    async with app.run_test(size=SIZE) as pilot:
        for name in app.MODES:
            await app.switch_mode(name)
            await pilot.pause()
            if isinstance(app.screen, DeckScreen):
                app.screen.repaint()
            await pilot.pause()
            path = directory / f"{name}.svg"
            picture = app.export_screenshot(title=f"gpudeck {app.host_name}".rstrip())
            path.write_text(redact(standing_alone(picture)), "utf-8")
            written.append(path)
    return written


def standing_alone(picture: str) -> str:
    """The picture with fonts of the viewer's machine alone, so that to open it asks no one, and with all its spaces."""
    local = _WEB_FONTS.sub("", picture).replace("Fira Code, monospace", "Menlo, Consolas, DejaVu Sans Mono, monospace")
    return local.replace("<svg ", '<svg xml:space="preserve" ', 1)
