"""A box that lies: a process that greets like an agent, and then says what its script makes of it."""

from __future__ import annotations

import asyncio
import sys

from console.remote.agent import Agent
from console.remote.local import ProcessPipe
from console.remote.start import start_agent

# Reads the program as a box does, takes the nonce out of it, says the hello, then runs `attack(say, line)`.
PROGRAM = """
import base64, json, sys, time, zlib
size = int(sys.stdin.buffer.readline())
nonce = json.loads(zlib.decompress(base64.b64decode(sys.stdin.buffer.read(size))))["config"]["nonce"]
out = sys.stdout.buffer
def say(data):
    out.write(data)
    out.flush()
def line(kind, data, n=1, **more):
    frame = {"v": 1, "n": n, "k": kind, "t": time.time(), "m": time.monotonic(), "d": data}
    return json.dumps(dict(frame, **more)).encode() + b"\\n"
hello = {"nonce": nonce, "pid": 1, "hostname": "liar", "boot_id": "b", "kernel": "k", "os": "o", "home": "/root",
         "python_version": "3.11", "cpu_count": 1, "uid": 0, "user": "root", "shell": "/bin/sh", "python": "python3"}
say(line("hello", hello))
"""


class HostileLink:
    """A link whose agent is the script."""

    via: tuple[str, ...] = ()
    banner: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def __init__(self, attack: str) -> None:
        self._attack = attack

    async def open_agent(self) -> Agent:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-I", "-S", "-u", "-c", PROGRAM + self._attack,
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        )  # fmt: skip
        return await start_agent(ProcessPipe(process), "python3", {})

    async def forward(self, box_port: int, *, address: str) -> None:
        """Nothing to tunnel to."""

    async def close(self) -> None:
        """Nothing is held."""
