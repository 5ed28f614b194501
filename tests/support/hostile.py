"""Text that attacks a terminal, and a terminal that keeps every byte it is sent."""

from __future__ import annotations

import fcntl
import gzip
import json
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from console.cli.scrub import Scrubber
from tests.support.patience import PATIENCE_S

MARK = "EVILMARK"  # what must be seen of it, so that a test knows that it came as far as the screen
CORPUS: dict[str, bytes] = {
    "clipboard": b"\x1b]52;c;aGFja2Vk\x07",
    "link": b"\x1b]8;;http://evil.invalid\x1b\\link\x1b]8;;\x1b\\",
    "title": b"\x1b]0;hacked\x1b\\\x1b]2;hacked\x07",
    "alt screen": b"\x1b[?1049l\x1b[?1049h\x1bc",
    "mouse and modes": b"\x1b[?1000h\x1b[?2004l\x1b[?25l\x1b[6n\x1b[21t",
    "C1": b"\xc2\x9b31m\xc2\x9d52;c;aGFja2Vk\xc2\x9c\xc2\x90q\xc2\x9c\x9b2J",
    "device control": b"\x1bP1$r\x1b\\\x1b_app\x1b\\\x1b^pm\x1b\\\x1bX sos\x1b\\",
    "unfinished": b"\x1b]0;no end",
    "bidi": "\u202eevil\u2066x\u2069\u200f\u061c".encode(),
    "invisible": "\u200b\ufeff\u2060\u2028".encode(),
    "combining flood": ("z" + "\u0300" * 4000).encode(),
    "NUL and friends": b"\x00\x01\x07\x08\x0b\x0c\x0e\x0f\x1a\x7f",
    "invalid UTF-8": b"\xff\xfe\xc3\x28\xed\xa0\x80\xf0\x28\x8c\x28",
    "Rich markup": b"[bold red]x[/] [link=http://evil.invalid]y[/link] [/]",
    "Textual markup": b"[@click=app.quit]quit[/] [@click=app.intent('stop')]stop[/] $error",
    "carriage returns": b"\rold\rolder\r" + b" " * 10 + b"\r",
    "tabs and lines": b"a\tb\x0bc\x0cd\xc2\x85e",
}
LONG = b"L" * 10_000_000
LINES = [MARK.encode() + name.encode() + b" " + data + b" " + MARK.encode() for name, data in CORPUS.items()]
EVIL = b" ".join(LINES)
SHORT = (MARK + "\x1b]52;c;aGFja2Vk\x07\x1b[?1049l\u202e[@click=app.quit]q[/]\x9b2J" + MARK).encode()
_STAMP = re.compile(r"\d{4}-\d\d-\d\d|\d\d:\d\d")


def poisoned(source: Path, target: Path) -> Path:
    """A recording in which every free text has hostile text behind it; what is one of a few words stays."""
    words = Scrubber()._reserved
    evils = [data.decode("utf-8", "surrogateescape").encode("utf-8", "replace").decode() for data in LINES]

    def evil(data: Any, key: str = "") -> Any:
        if isinstance(data, dict):
            return {field: evil(value, field) for field, value in data.items()}
        if isinstance(data, list):
            return [evil(value, key) for value in data]
        if not isinstance(data, str) or key == "host" or data in words or _STAMP.match(data):
            return data
        return data + evils[len(data) % len(evils)]

    with gzip.open(source, "rt") as lines, target.open("w") as file:
        file.write(next(lines))
        for line in lines:
            seq, t, kind, fields = json.loads(line)
            file.write(json.dumps([seq, t, kind, evil(fields)]) + "\n")
    return target


def typed(
    argv: Sequence[str],
    env: Mapping[str, str],
    cwd: Path,
    keys: Sequence[str] = (),
    first: bytes = b"",
    between: bytes = b"",
) -> Iterator[bytes]:
    """Run a program in a pty: what it writes up to `first` and a quiet moment, after each key, and up to its end.

    `between` is waited for before the second key and every further one: a prompt forgets what was typed before it.
    """
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
    looks = {"TERM": "xterm-256color", "COLORTERM": "truecolor", "LANG": "C.UTF-8"}
    process = subprocess.Popen(
        argv, stdin=follower, stdout=follower, stderr=follower, cwd=cwd, start_new_session=True, env={**env, **looks}
    )
    os.close(follower)
    try:
        yield _quiet(leader, first)
        for left, key in zip(range(len(keys) - 1, -1, -1), keys, strict=True):
            os.write(leader, key.encode())
            yield _quiet(leader, between if left else b"")
        yield _rest(leader)
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()
        os.close(leader)


def _quiet(leader: int, first: bytes = b"") -> bytes:
    """What comes until nothing more does for a moment."""
    output, deadline = b"", time.monotonic() + (PATIENCE_S if first else 3)
    while time.monotonic() < deadline:
        ready, _, _ = select.select([leader], [], [], 0.4)
        if ready:
            try:
                output += os.read(leader, 65536)
            except OSError:
                return output
        elif first in output:
            return output
    assert first in output, f"never seen: {first!r}: {output[-500:]!r}"
    return output


def _rest(leader: int) -> bytes:
    output, deadline = b"", time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        if select.select([leader], [], [], 0.5)[0]:
            try:
                chunk = os.read(leader, 65536)
            except OSError:
                return output
            if not chunk:
                return output
            output += chunk
    raise AssertionError(f"it did not end: {output[-500:]!r}")
