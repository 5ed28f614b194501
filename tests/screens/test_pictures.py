"""Screens as SVG files: every screen by its name, and a picture that asks nobody when it is opened."""

from __future__ import annotations

import re
from pathlib import Path

from console.app import ConsoleApp
from console.screens.export import standing_alone, write_svgs
from console.session.replay import Replay, play

RECORDING = Path(__file__).parents[1] / "recordings" / "first_light.jsonl"
NAMES = {"hosts", "overview", "host", "hub", "plan", "server", "bench", "runs", "jobs"}


def test_every_screen_is_a_picture_that_stands_alone(tmp_path: Path) -> None:
    replay = Replay(RECORDING)
    play(replay, None)
    written = write_svgs(ConsoleApp(replay), tmp_path / "pictures")
    assert {path.stem for path in written} == NAMES
    for path in written:
        text = path.read_text("utf-8")
        assert set(re.findall(r"https?://[\w.-]+", text)) <= {"http://www.w3.org", "https://www.textualize.io"}
        assert "<text" in text


def test_fonts_of_the_web_are_left_out() -> None:
    page = '<svg class="a"><style>@font-face { src: url("https://x.example/f.woff") } .m { color: red }</style></svg>'
    assert standing_alone(page) == '<svg xml:space="preserve" class="a"><style>.m { color: red }</style></svg>'
