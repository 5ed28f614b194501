"""A console that was stopped and goes on paints everything, takes keys, ends, and leaves its terminal as it was."""

from __future__ import annotations

import os
import pty
import select
import shlex
import signal
import subprocess
import sys
import termios
import time
from pathlib import Path

from tests.support.patience import PATIENCE_S
from tests.support.terminal import terminal

RECORDING = Path(__file__).parents[1] / "recordings" / "first_light.jsonl"


def seen(leader: int, words: bytes) -> None:
    output, deadline = b"", time.monotonic() + PATIENCE_S
    while words not in output:
        assert time.monotonic() < deadline, output[-500:]
        if select.select([leader], [], [], 0.2)[0]:
            output += os.read(leader, 65536)


def test_stopped_and_continued(tmp_path: Path) -> None:
    leader, follower = pty.openpty()
    before = termios.tcgetattr(follower)
    xdg = {f"XDG_{kind}_HOME": str(tmp_path) for kind in ("CONFIG", "DATA", "STATE", "CACHE")}
    console = subprocess.Popen(
        [sys.executable, "-m", "console", "--replay", str(RECORDING)], stdin=follower, stdout=follower, stderr=follower,
        env={**os.environ, **xdg, "TERM": "xterm-256color", "LANG": "C.UTF-8"}, start_new_session=True,
    )  # fmt: skip
    try:
        seen(leader, b"REPLAY")
        for _ in range(2):
            console.send_signal(signal.SIGSTOP)
            os.waitpid(console.pid, os.WUNTRACED)
            console.send_signal(signal.SIGCONT)
            seen(leader, b"\x1b[?1049h")  # it has taken the terminal again
        os.write(leader, b"q")
        seen(leader, b"\x1b[?1049l")
        assert console.wait(PATIENCE_S) == 0
        assert termios.tcgetattr(follower) == before
    finally:
        console.kill()
        console.wait()
        os.close(leader)
        os.close(follower)


def test_ctrl_z_goes_to_the_shell_from_any_place_and_fg_paints_everything_again(tmp_path: Path) -> None:
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "TERM": "tmux-256color", "LANG": "C.UTF-8", "PS1": "% "}
    command = shlex.join([sys.executable, "-m", "console", "--replay", str(RECORDING)])
    console = shlex.join(["sh", "-c", f"{command}; echo its end"])  # as under `make demo`
    with terminal(tmp_path) as pane:
        pane.start(["bash", "--norc", "--noprofile", "-i"], env, (100, 24))
        pane.wait("%")
        pane.keys(console, "Enter")
        pane.wait("REPLAY")
        pane.keys("t", "1", "2")
        pane.wait(lambda screen: "Go to" in screen and " 12 " in screen)
        pane.keys("C-z")
        assert "REPLAY" not in pane.wait("Stopped")
        pane.keys("clear; fg", "Enter")
        pane.wait(lambda screen: all(words in screen for words in ("REPLAY", "NEXT", "Go to", " 12 ", "? help")))
        pane.keys("Escape")
        pane.wait(lambda screen: "Go to" not in screen and "GPUs" in screen)
        pane.keys("q")
        pane.wait(lambda screen: "its end" in screen and screen.rstrip().endswith("%"))


def test_ctrl_z_without_a_shell_says_so_and_stops_nothing(tmp_path: Path) -> None:
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "TERM": "tmux-256color", "LANG": "C.UTF-8"}
    with terminal(tmp_path) as pane:
        pane.start([sys.executable, "-m", "console", "--replay", str(RECORDING)], env, (100, 24))
        pane.wait("REPLAY")
        pane.keys("C-z")
        pane.wait("No shell started this console")
        pane.keys("q")
        pane.wait("[ended 0] echo")
