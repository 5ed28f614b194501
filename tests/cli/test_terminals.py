"""The console on terminals of every kind: few colours, none, tmux inside ssh; and every way to end gives it back."""

from __future__ import annotations

import os
import re
import shlex
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.gpudeck import ROOT, Gpudeck
from tests.support.jobbox import until
from tests.support.laptop import Laptop
from tests.support.sshd import Sshd
from tests.support.terminal import Terminal, terminal

LOOKS = {"TERM": "xterm-256color", "COLORTERM": "truecolor", "LANG": "C.UTF-8"}
# What a program has to take back: the alternate screen, a hidden cursor, mouse, focus and paste reports.
TAKEN_BACK = (b"\x1b[?1049l", b"\x1b[?25h", b"\x1b[?1000l", b"\x1b[?1003l", b"\x1b[?1004l", b"\x1b[?2004l")
BREAKS = """
import asyncio
from console.cli.screen import show
from console.config import load_config
from pathlib import Path
from tests.support.played import PlayedSession, gpus, link_up

class Broken(PlayedSession):
    left = 9  # after the first frames
    def now(self):
        self.left -= 1
        if self.left < 0:
            raise RuntimeError("broken for the test")
        return 0.0

config = load_config(cwd=Path("/"), env={})
asyncio.run(show(Broken(*link_up(), *gpus(), hosts=["ct200"]), config))
"""


@pytest.fixture
def pane(tmp_path: Path) -> Iterator[Terminal]:
    with terminal(tmp_path) as one:
        yield one


def start(pane: Terminal, gpudeck: Gpudeck, *argv: str, size: tuple[int, int] = (80, 24), **env: str) -> None:
    """Every byte that the program writes lies in `bytes`, too."""
    wanted = gpudeck.env | LOOKS | env
    pane.start([*argv], {name: value for name, value in wanted.items() if value}, size)
    pane.tmux("pipe-pane", f"cat > {shlex.quote(str(gpudeck.home / 'bytes'))}")


def given_back(pane: Terminal, gpudeck: Gpudeck, code: int) -> None:
    screen = pane.wait(lambda text: f"[ended {code}]" in text and " echo" in text)
    assert "─ GPUs" not in screen
    written = gpudeck.home / "bytes"  # by a process of its own, a moment later
    for sequence in TAKEN_BACK:
        until(lambda sequence=sequence: sequence in written.read_bytes(), repr(sequence))
    pane.keys("typed")
    pane.wait("typed")


def local(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "console", "local", *arguments]


def test_q_and_ctrl_q_give_the_terminal_back_and_ctrl_c_stays(pane: Terminal, gpudeck: Gpudeck) -> None:
    start(pane, gpudeck, *local())
    pane.wait("✓ up")
    pane.keys("C-c")
    pane.wait("q quits, ctrl+q too")
    pane.keys("C-q")
    given_back(pane, gpudeck, 0)


def test_a_crash_gives_the_terminal_back_and_says_what_broke(pane: Terminal, gpudeck: Gpudeck) -> None:
    start(pane, gpudeck, sys.executable, "-c", BREAKS)
    assert "broken for the test" in pane.wait("[ended 1]")
    given_back(pane, gpudeck, 1)


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signals_give_the_terminal_back(pane: Terminal, gpudeck: Gpudeck, number: signal.Signals) -> None:
    start(pane, gpudeck, *local())
    pane.wait("✓ up")
    os.kill(pane.pid_of("-m console"), number)
    given_back(pane, gpudeck, 128 + number)


COLOURS = re.compile(rb"\x1b\[([0-9;:]*)m")


def colours(written: bytes) -> set[bytes]:
    """Kinds of colour sequences: `38;2` true, `38;5` of 256; of 16 `3x`, `4x`, `9x`."""
    kinds: set[bytes] = set()
    for codes in COLOURS.findall(written):
        words = codes.replace(b":", b";").split(b";")
        if b"38" in words or b"48" in words:
            at = words.index(b"38" if b"38" in words else b"48")
            kinds.add(b"38;" + words[at + 1])
        elif any(re.fullmatch(rb"(3|4|9|10)[0-7]", word) for word in words):
            kinds.add(b"16")
    return kinds


@pytest.mark.slow
@pytest.mark.parametrize(
    ("env", "expected"),
    [
        ({"TERM": "xterm-16color", "COLORTERM": ""}, {b"16"}),
        ({"TERM": "xterm-256color", "COLORTERM": "truecolor"}, {b"38;2"}),
        ({"NO_COLOR": "1"}, set()),
    ],
    ids=["16", "true", "none"],
)
def test_colours_are_those_of_the_terminal(
    pane: Terminal, gpudeck: Gpudeck, env: dict[str, str], expected: set[bytes]
) -> None:
    start(pane, gpudeck, *local(), **env)
    pane.wait("✓ up")
    pane.keys("2")
    pane.wait("Machine")
    pane.keys("q")
    pane.wait("[ended 0]")
    assert colours((gpudeck.home / "bytes").read_bytes()) == expected


@pytest.mark.slow
def test_a_tmux_of_80_columns_inside_ssh(
    pane: Terminal, gpudeck: Gpudeck, laptop: Laptop, server: Sshd, tmp_path: Path
) -> None:
    alias = laptop.ready(server, "jump")
    settings = " ".join(f"{key}={shlex.quote(value)}" for key, value in (gpudeck.env | LOOKS).items())
    inner = f"env -i {settings} {shlex.join(local())}"
    remote = f"cd {ROOT} && tmux -u -S {tmp_path}/inner -f /dev/null new-session {shlex.quote(inner)}"
    start(pane, gpudeck, "ssh", "-tt", "-F", str(laptop.config), alias, remote)
    screen = pane.wait(lambda text: "✓ up" in text and "─ GPUs" in text)
    assert all(len(line) <= 80 for line in screen.splitlines())
    for key, title in (("5", "─ Log"), ("3", "─ Hugging Face"), ("1", "─ GPUs")):
        pane.keys(key)
        pane.wait(title)
    pane.keys("q")
    pane.wait("[ended 0]")


@pytest.fixture
def laptop(gpudeck: Gpudeck) -> Laptop:
    return gpudeck.laptop
