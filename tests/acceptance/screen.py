"""The whole console in a pseudo-terminal on the loaded box: its bytes are kept, to be drawn by a terminal afterwards.

`tmux new-session -d -x 160 -y 48 "cat FILE; sleep 60"` and `tmux capture-pane -p` show a frame.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import pty
import select
import struct
import subprocess
import termios
import time

from tests.acceptance.measuring import LENGTHS
from tests.acceptance.place import LANE_A, Place
from tests.acceptance.sight import compared, over_ssh

SIZE = (160, 48)
LOOKS = (("overview", b"1", 6.0), ("host", b"2", 3.0), ("plan", b"4", 2.0), ("server", b"5", 3.0), ("bench", b"6", 6.0),
         ("runs", b"7", 3.0), ("jobs", b"8", 2.0), ("help", b"?", 1.5))  # fmt: skip


def screen(place: Place) -> None:
    """Every screen while lane A's server is measured; beside it nvidia-smi and `status`, once more over SSH."""
    words = ("--server", str(LANE_A), "--concurrency", "64", *LENGTHS, "--window", "20", "--detach")
    place.run("bench", "local", *words)
    folder = place.work / "screens"
    folder.mkdir(exist_ok=True)
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", SIZE[1], SIZE[0], 0, 0))
    env = {key: value for key, value in place.env.items() if key != "NO_COLOR"} | {"TERM": "xterm-256color"}
    process = subprocess.Popen(
        place.argv("local", record="screen"), env=env | {"COLORTERM": "truecolor"}, cwd=place.work,
        stdin=follower, stdout=follower, stderr=follower, start_new_session=True,
    )  # fmt: skip
    os.close(follower)
    seen = b""
    try:
        seen += _read(leader, 4.0)
        for name, key, seconds in LOOKS:
            os.write(leader, key)
            seen += _read(leader, seconds)
            (folder / f"{name}.bytes").write_bytes(seen)
        compared(place, "busy")
        asyncio.run(over_ssh(place, "ssh-busy"))
    finally:
        for key in (b"\x1b", b"q", b"\r"):
            os.write(leader, key)
            _read(leader, 1.5)
        place.fact("ended", process.poll())
        process.kill()
        process.wait()
        os.close(leader)


def _read(leader: int, seconds: float) -> bytes:
    found, deadline = b"", time.monotonic() + seconds
    while (left := deadline - time.monotonic()) > 0:
        if select.select([leader], [], [], left)[0]:
            try:
                found += os.read(leader, 65536)
            except OSError:
                return found
    return found
