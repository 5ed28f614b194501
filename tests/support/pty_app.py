"""Run a program in a real pseudo-terminal and keep every byte it writes."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path

from tests.support.patience import PATIENCE_S

ROOT = Path(__file__).parents[2]
# Every escape sequence in the output, with the ones that have a body up to their end.
SEQUENCE = re.compile(
    rb"\x1b(?:\][^\x07\x1b]*(?:\x07|\x1b\\)|[PX^_][^\x1b]*\x1b\\|\[[0-?]*[ -/]*[@-~]|[ -/]*[0-Z\\^-~])"
)

# What Textual itself uses: colours, cursor, erase, modes, keyboard and window reports, the pointer's shape.
OURS = re.compile(
    rb"\x1b\]22;[a-z-]+\x07$|\x1b\[(?:[0-9;:]*m|[0-9;]*H|[0-9]*[ABCDJK]|\?[0-9;]+[hl]|\?[0-9]+\$p|[<>=]?[0-9;]*u|>[0-9;]*[mq]|[0-9]*n|[0-9;]*t|c|>c)$"
)
_STRAY = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff]")


def foreign(written: bytes) -> set[bytes]:
    """The escape sequences that are none of ours."""
    return {match.group() for match in SEQUENCE.finditer(written) if not OURS.match(match.group())}


def strays(written: bytes) -> list[str]:
    """Control and invisible characters outside of sequences."""
    return _STRAY.findall(SEQUENCE.sub(b"", written).decode("utf-8"))


def run_in_pty(
    code: str, *, until: bytes, env: dict[str, str] | None = None, size: tuple[int, int] = (100, 30)
) -> bytes:
    """Run Python code in a pty until its output holds `until`, then press q; all bytes it wrote."""
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))
    clean = {key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "COLORTERM")}
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        stdin=follower, stdout=follower, stderr=follower, cwd=ROOT, start_new_session=True,
        env=clean | {"TERM": "xterm-256color", "COLORTERM": "truecolor", "PYTHONPATH": str(ROOT)} | (env or {}),
    )  # fmt: skip
    os.close(follower)
    try:
        output = _read(leader, process, until)
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()
        os.close(leader)
    return output


def _read(leader: int, process: subprocess.Popen[bytes], until: bytes) -> bytes:
    output, asked, deadline = b"", False, time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        ready, _, _ = select.select([leader], [], [], 0.5)
        if ready:
            try:
                chunk = os.read(leader, 65536)
            except OSError:
                return output
            output += chunk
        elif process.poll() is not None:
            return output
        if not asked and until in output:
            os.write(leader, b"q")
            asked = True
    raise TimeoutError(f"not seen within {PATIENCE_S:g} s: {until!r}; last bytes: {output[-500:]!r}")
