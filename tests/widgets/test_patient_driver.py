"""The driver that sleeps until there is input: every key arrives at once, and the end is never late."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest

from tests.support.patience import PATIENCE_S
from tests.support.pty_app import ROOT

# Writes the keys that it gets to a pipe of its own; `s` gives the terminal away and takes it back.
APP = """
import os, sys
from textual.app import App
from widgets.patient_driver import PatientDriver

class Keys(App[None]):
    def on_ready(self):
        self.told("ready")
    def on_key(self, event):
        self.told(event.key)
        if event.key == "s":
            with self.suspend():
                self.told("away")
            self.told("back")
        if event.key == "q":
            self.exit()
    def told(self, text):
        os.write(int(sys.argv[1]), text.encode() + b"\\n")

Keys(driver_class=PatientDriver).run()
"""


class Typist:
    """Types on the app's terminal and reads what arrived."""

    def __init__(self, process: subprocess.Popen[bytes], leader: int, told: int) -> None:
        self.process = process
        self._leader = leader
        self._told = told
        self._heard = b""

    def types(self, keys: bytes) -> None:
        os.write(self._leader, keys)

    def hears(self) -> str:
        while b"\n" not in self._heard:
            assert select.select([self._told], [], [], PATIENCE_S)[0], "no word from the app"
            read = os.read(self._told, 1024)
            assert read, "the app ended"
            self._heard += read
        word, _, self._heard = self._heard.partition(b"\n")
        return word.decode()

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self._told)


@pytest.fixture
def typist() -> Iterator[Typist]:
    leader, follower = pty.openpty()
    told, tell = os.pipe()
    fcntl.fcntl(tell, fcntl.F_SETFD, 0)
    process = subprocess.Popen(
        [sys.executable, "-c", APP, str(tell)], stdin=follower, stdout=follower, stderr=follower,
        env={"PATH": os.environ["PATH"], "TERM": "xterm-256color", "PYTHONPATH": str(ROOT)},
        start_new_session=True, pass_fds=[tell],
    )  # fmt: skip
    os.close(follower)
    os.close(tell)
    threading.Thread(target=_thrown_away, args=(leader,), daemon=True).start()
    one = Typist(process, leader, told)
    assert one.hears() == "ready"
    yield one
    one.close()


def _thrown_away(leader: int) -> None:
    try:
        while os.read(leader, 65536):
            pass
    except OSError:
        os.close(leader)


def test_keys_arrive_whole_and_in_order(typist: Typist) -> None:
    typist.types("jk\x1b[Aé".encode())
    assert [typist.hears() for _ in range(4)] == ["j", "k", "up", "é"]


def test_what_is_cut_between_two_reads_is_one_key(typist: Typist) -> None:
    for part in ("é".encode()[:1], "é".encode()[1:]):
        typist.types(part)
    assert typist.hears() == "é"


def test_an_enter_of_before_the_start_is_enter(typist: Typist) -> None:
    typist.types(b"a\n\r")
    assert [typist.hears() for _ in range(3)] == ["a", "enter", "enter"]


def test_escape_alone_is_a_key_and_needs_no_other(typist: Typist) -> None:
    typist.types(b"\x1b")
    assert typist.hears() == "escape"


def test_it_reads_again_after_the_terminal_was_given_away(typist: Typist) -> None:
    for _ in range(2):
        typist.types(b"s")
        assert [typist.hears() for _ in range(3)] == ["s", "away", "back"]
    typist.types(b"x")
    assert typist.hears() == "x"


@pytest.mark.parametrize("between", [b"", b"s"], ids=["idle", "while the terminal is elsewhere"])
def test_no_burst_of_continues_leaves_a_second_reader_or_locks_up(typist: Typist, between: bytes) -> None:
    typist.types(between)
    for _ in range(100):
        typist.process.send_signal(signal.SIGCONT)
    if between:
        assert [typist.hears() for _ in range(3)] == ["s", "away", "back"]
    typist.types(b"q")
    assert typist.hears() == "q"
    assert typist.process.wait(PATIENCE_S) == 0


def test_the_end_needs_no_input(typist: Typist) -> None:
    typist.types(b"q")
    assert typist.hears() == "q"
    assert typist.process.wait(PATIENCE_S) == 0
