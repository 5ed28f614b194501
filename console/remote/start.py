"""Starting an agent over a pipe: send the bundle, skip what login scripts print, find the hello."""

from __future__ import annotations

import asyncio
import secrets
from collections import deque
from collections.abc import Mapping
from typing import Any

from console.remote.agent import Agent
from console.remote.bundle import bundle, frame
from console.remote.errors import (
    AgentNotStarted,
    ForcedCommand,
    LinkLost,
    NoPython,
    NoShell,
    PythonTooOld,
    RemoteError,
    SftpOnly,
)
from console.remote.frames import find_hello
from console.remote.pipe import Ending, FrameTooLong, Lines, Pipe
from console.values import CleanText, clean

HELLO_LIMIT_S = 20.0
_MAX_NOISE_LINES = 200
_TOO_OLD = 96
_SFTP_SERVER_GOT_NO_SFTP = 11
_MISSING = (b"not found", b"no such file", b"unknown command", b"does not exist", b"doesn't exist")
AGENT_PACKAGE = "console.agent"


async def start_agent(pipe: Pipe, python: str, config: Mapping[str, Any], package: str = AGENT_PACKAGE) -> Agent:
    """An agent whose hello has come. The pipe's process must be `python -c STAGE0`.

    Raises a subclass of AgentNotStarted, or LinkLost. The pipe is closed when it fails.
    """
    nonce = secrets.token_hex(16)
    program = frame(bundle(package, {**config, "nonce": nonce}))
    try:
        return await _greet(pipe, program, nonce, python)
    except BaseException:
        await pipe.close()
        raise


async def _greet(pipe: Pipe, program: bytes, nonce: str, python: str) -> Agent:
    said = bytearray()
    noise: deque[bytes] = deque(maxlen=_MAX_NOISE_LINES)
    lines = Lines()
    writing = asyncio.create_task(pipe.write(program))
    errors = asyncio.create_task(_collect_errors(pipe, said))
    ending: Ending | None = None
    try:
        async with asyncio.timeout(HELLO_LIMIT_S):
            agent = await _find_hello(pipe, lines, nonce, noise)
            if agent is not None:
                return agent
            ending = await pipe.ended()
            await asyncio.wait([errors], timeout=2)
    except FrameTooLong:
        raise AgentNotStarted("The box sent a line without end before the agent's hello.") from None
    except TimeoutError:
        pass
    finally:
        for task in (writing, errors):
            task.cancel()
        await asyncio.gather(writing, errors, return_exceptions=True)
    noise.append(lines.rest)
    raise _classify(ending, b"\n".join(noise).strip(), bytes(said).strip(), python)


async def _find_hello(pipe: Pipe, lines: Lines, nonce: str, noise: deque[bytes]) -> Agent | None:
    """Reads up to the hello; None when the output ends without one."""
    while chunk := await pipe.read():
        complete = lines.feed(chunk)
        for index, line in enumerate(complete):
            found = find_hello(line, nonce)
            if found is None:
                noise.append(line)
                continue
            if found[0]:
                noise.append(found[0])
            agent = Agent(pipe, lines, found[1], tuple(map(_clean_noise, noise)))
            agent.take(complete[index + 1 :])
            return agent
    return None


async def _collect_errors(pipe: Pipe, said: bytearray) -> None:
    while chunk := await pipe.read_errors():
        said += chunk
        del said[:-4096]


def _clean_noise(line: bytes) -> CleanText:
    return clean(line.decode("utf-8", "backslashreplace"))


def _classify(ending: Ending | None, noise: bytes, errors: bytes, python: str) -> RemoteError:
    """Why there was no hello, told from how the command ended (None: it still runs) and what it printed instead."""
    said = _clean_noise(b" / ".join((errors or noise).splitlines()[-3:]))[:400]
    words = (noise + b" " + errors).lower()
    about_python = python.encode().lower() in words
    if ending is None:
        if said:
            return ForcedCommand(f"The host runs something else instead of our command, and says: {said}")
        return AgentNotStarted(f"{python} on the box started no agent within {HELLO_LIMIT_S:.0f} s.")
    code = ending.exit_code
    if code is None and ending.signal is None:
        return LinkLost("The connection was lost while the agent was starting.")
    if code == _TOO_OLD:
        return PythonTooOld(f"{python} on the box is older than 3.8.")
    if b"sftp connections only" in words or code == _SFTP_SERVER_GOT_NO_SFTP:
        return SftpOnly(f"This account is for file transfer only: {said or 'an SFTP server answered'}")
    if b"not available" in words and b"account" in words:
        return NoShell(f"This account runs no commands: {said}")
    if code == 126 and about_python:
        return NoPython(f"{python} on the box cannot be run: {said}")
    if about_python and any(word in words for word in _MISSING):
        return NoPython(f"No {python} on the box: {said}")
    if b"traceback" in words:
        return AgentNotStarted(f"The agent did not start: {said}")
    return ForcedCommand(
        f"The host does not allow commands; it ran something else (exit code {code}) and said: {said or '(nothing)'}"
    )
