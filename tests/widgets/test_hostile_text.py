"""Remote text in a real terminal: nothing but our own sequences comes out."""

import re

import pytest

from tests.support.pty_app import SEQUENCE, foreign, run_in_pty, strays

PROGRAM = r"""
import os
from textual.binding import Binding
from tests.support.gallery import *
from widgets.themes import apply_no_color, theme_for
from widgets.find_bar import FindBar

EVIL = "A\x1b]52;c;aGFja2Vk\x07B\x1b]0;title\x1b\\C\x1b[?1049lD\x9b31mE\x1bcF\rG\x08H\u202eI\u200bJ"
EVIL += "[@click=app.quit]K[/]\x1bP1$r\x1b\\L\nM\x07"

class Hostile(Gallery):
    BINDINGS = [Binding("q", "quit", "quit")]
    def on_mount(self):
        super().on_mount()
        self.query_one("#gpu-table").set_rows([Row((Cell(EVIL),) * 9, key=EVIL)])
        self.query_one("#gpu-table").set_columns([Column(EVIL, 40, flex=1)])
        self.query_one("#gpus").set_title(EVIL, EVIL)
        self.query_one("#gpus").set_foot(EVIL)
        self.query_one("#gpus").set_stale(EVIL)
        self.query_one(NextLine).set_next("fail", EVIL, [KeyHint(EVIL, EVIL)], EVIL)
        self.query_one(GateList).set_gates([Gate("fail", EVIL, EVIL, EVIL * 5, (EVIL,))])
        self.query_one(PhaseBar).set_phases([Phase("busy", EVIL, EVIL)])
        self.query_one(TransferList).set_transfers([Transfer(EVIL, "busy", EVIL, 0.5, EVIL, EVIL, EVIL)])
        self.query_one(LogView).extend([LogLine(EVIL, "error", EVIL, EVIL)] * 3)
        series = Series(EVIL, [1, 2], [1, 2], value=EVIL)
        self.query_one(ChartView).set_chart(Chart(title=EVIL, series=(series,), levels=(Level(1, EVIL),)))
        self.set_timer(0.5, self.shown)
    def shown(self):
        self.query_one(NextLine).set_next("ok", "all shown")

no_color = apply_no_color()
Hostile(theme=theme_for(os.environ), ansi_color=no_color or None).run()
"""


@pytest.fixture(scope="module")
def written() -> bytes:
    return run_in_pty(PROGRAM, until=b"all shown")


def test_only_our_sequences_reach_the_terminal(written: bytes) -> None:
    assert not foreign(written)


def test_no_stray_control_or_invisible_character_is_left(written: bytes) -> None:
    text = SEQUENCE.sub(b"", written).decode("utf-8")
    assert not strays(written)
    assert "aGFja2Vk" in text


def test_the_screen_is_left_once_and_the_terminal_restored(written: bytes) -> None:
    assert written.count(b"\x1b[?1049h") == 1
    assert written.count(b"\x1b[?1049l") == 1
    assert written.rindex(b"\x1b[?1049l") > written.rindex(b"all shown")
    assert b"\x1b[?25h" in written[written.rindex(b"all shown") :]


def test_without_colour_no_colour_is_sent() -> None:
    written = run_in_pty(PROGRAM, until=b"all shown", env={"NO_COLOR": "1"})
    parts = [part for codes in re.findall(rb"\x1b\[([0-9;]*)m", written) for part in codes.split(b";")]
    assert set(parts) <= {b"", b"0", b"1", b"2", b"3", b"4", b"7", b"39", b"49"}
    assert b"1" in parts


def test_sixteen_colours_are_enough_for_a_terminal_that_has_no_more() -> None:
    written = run_in_pty(PROGRAM, until=b"all shown", env={"TERM": "xterm-16color", "COLORTERM": ""})
    codes = set(re.findall(rb"\x1b\[([0-9;]*)m", written))
    assert not [code for code in codes if b"38;" in code or b"48;" in code]
    assert any(b"31" in code for code in codes)
