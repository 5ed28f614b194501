"""Running a program of the operator on the box: its source and arguments are data, no shell sees them."""

from __future__ import annotations

import base64
import signal
from collections.abc import Callable, Sequence

import msgspec

from console.remote.agent import Agent
from console.remote.bundle import STAGE0, bundle, frame

Output = Callable[[int, bytes], None]


class ProgramEnd(msgspec.Struct, frozen=True):
    """How the program ended: an exit code, or the name of the signal that ended it."""

    exit_code: int | None
    signal: str | None
    timed_out: bool


async def run_source(
    agent: Agent,
    source: bytes,
    argv: Sequence[str],
    output: Output,
    *,
    python: str = "python3",
    timeout_s: float | None = None,
    by: str = "",
) -> ProgramEnd:
    """Runs Python source as `__main__`; `argv` is its name and arguments, `output(1|2, bytes)` gets what it prints.
    `by` is who runs it, for whoever meets it on a GPU.

    AgentError `not_found` when the interpreter does not exist, LinkLost when nobody knows how it ended.
    """  # fmt: skip
    request = {"source": base64.b64encode(source).decode("ascii"), "argv": list(argv)}
    command = [python, "-u", "-c", STAGE0]
    env = {"GPUDECK_EXEC": by} if by else {}
    async with agent.stream("exec", argv=command, timeout_s=timeout_s, env=env, feed=True) as stream:
        await stream.feed(frame(bundle("console.payloads.exec", request)), eof=True)
        async for part in stream:
            output(int(part["fd"]), base64.b64decode(part["data"]))
    result = stream.result or {}
    number = result.get("signal")
    name = signal.Signals(number).name if number in {item.value for item in signal.Signals} else number
    return ProgramEnd(result.get("exit_code"), str(name) if name is not None else None, bool(result.get("timed_out")))
