"""A program on a terminal of its own: when a text appears, what that has cost so far; its output is thrown away."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import struct
import subprocess
import termios
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from tests.perf.process import cpu_s
from tests.support.pty_app import SEQUENCE

KEPT_BYTES = 256 * 1024
LIMIT_S = 60.0


class Seen(msgspec.Struct, frozen=True):
    """When a text was on the screen: the monotonic clock, seconds since the start, CPU seconds of the program."""

    at: float
    after_s: float
    cpu_s: float


class Screen:
    """Reads all the time, so that the program never waits for its terminal."""

    def __init__(self, process: subprocess.Popen[bytes], leader: int, started: float) -> None:
        self.process = process
        self._leader, self._started = leader, started
        self._output = b""
        self._wanted = b""
        self._seen: Seen | None = None
        self._news = threading.Condition()
        threading.Thread(target=self._read, daemon=True).start()

    @property
    def pid(self) -> int:
        return self.process.pid

    def wait(self, text: str, limit_s: float = LIMIT_S) -> Seen:
        """The moment at which the output holds the text, escape sequences left out."""
        with self._news:
            self._wanted, self._seen = text.encode(), None
            self._look()
            if seen := self._news.wait_for(lambda: self._seen, limit_s):
                return seen
            raise TimeoutError(f"{text!r} was not on the screen; the last bytes: {self._output[-2000:]!r}")

    def press(self, keys: bytes, text: str, limit_s: float = LIMIT_S) -> float:
        """Seconds from the keys to the text in what is written behind them."""
        with self._news:
            self._output = b""
        began = time.monotonic()
        os.write(self._leader, keys)
        return self.wait(text, limit_s).at - began

    def _read(self) -> None:
        with contextlib.suppress(OSError):
            while data := os.read(self._leader, 65536):
                with self._news:
                    self._output = (self._output + data)[-KEPT_BYTES:]
                    self._look()

    def _look(self) -> None:
        if self._wanted and self._seen is None and self._wanted in SEQUENCE.sub(b"", self._output):
            now = time.monotonic()
            self._seen = Seen(now, now - self._started, cpu_s(self.pid))
            self._news.notify_all()


@contextlib.contextmanager
def screen(
    argv: Sequence[str], env: Mapping[str, str], directory: Path, size: tuple[int, int] = (160, 50)
) -> Iterator[Screen]:
    """The program from now to the end of the block."""
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))
    plain = {key: value for key, value in env.items() if key != "NO_COLOR"}
    started = time.monotonic()
    process = subprocess.Popen(
        argv, stdin=follower, stdout=follower, stderr=follower, start_new_session=True, cwd=directory,
        env=plain | {"TERM": "xterm-256color", "COLORTERM": "truecolor"},
    )  # fmt: skip
    os.close(follower)
    try:
        yield Screen(process, leader, started)
    finally:
        process.kill()
        process.wait()
        os.close(leader)
