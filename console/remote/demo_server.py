"""An SSH server on loopback that plays a box: real host key, real key authentication, this machine's own shell.

Used by the demo and by tests where no sshd can run. It is asyncssh's server, so the console's whole path over SSH
is the real one.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncIterator, Callable, Mapping
from functools import partial
from pathlib import Path

import asyncssh
import msgspec

_KILL_AFTER_S = 3.0


class DemoServer(msgspec.Struct, frozen=True):
    """A running server. `ssh_config` has the host `alias`, with everything that a login needs.

    `cut` breaks every connection, as a pulled cable does: what was started on them is left to itself.
    """

    alias: str
    port: int
    ssh_config: Path
    cut: Callable[[], None]


@contextlib.asynccontextmanager
async def demo_server(directory: Path, env: Mapping[str, str], alias: str = "demo") -> AsyncIterator[DemoServer]:
    """Serves commands that run in `directory` (0700, existing) with exactly the environment `env`."""
    files = directory / "ssh"
    files.mkdir(mode=0o700, exist_ok=True)
    host_key, user_key = (asyncssh.generate_private_key("ssh-ed25519") for _ in range(2))
    authorized = asyncssh.import_authorized_keys(user_key.export_public_key().decode())
    running: set[asyncio.Task[None]] = set()
    connections: set[asyncssh.SSHServerConnection] = set()

    async def serve(process: asyncssh.SSHServerProcess[bytes]) -> None:
        task = asyncio.current_task()
        assert task is not None
        running.add(task)
        try:
            await _run(process, directory, env)
        finally:
            running.discard(task)

    acceptor = await asyncssh.listen(
        "127.0.0.1", 0, server_host_keys=[host_key], authorized_client_keys=authorized, process_factory=serve,
        server_factory=partial(_Server, connections), encoding=None, password_auth=False, kbdint_auth=False,
        gss_host=None, agent_forwarding=False, x11_forwarding=False, allow_scp=False,
    )  # fmt: skip
    try:
        config = _write_files(files, alias, acceptor.get_port(), host_key, user_key)
        yield DemoServer(alias, acceptor.get_port(), config, partial(_cut, connections))
    finally:
        acceptor.close()
        for task in list(running):
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
        await acceptor.wait_closed()


def _cut(connections: set[asyncssh.SSHServerConnection]) -> None:
    for connection in tuple(connections):
        connection.abort()


class _Server(asyncssh.SSHServer):
    def __init__(self, connections: set[asyncssh.SSHServerConnection]) -> None:
        self._connections = connections

    def connection_made(self, conn: asyncssh.SSHServerConnection) -> None:
        self._connection = conn
        self._connections.add(conn)

    def connection_lost(self, exc: Exception | None) -> None:
        self._connections.discard(self._connection)

    def connection_requested(self, dest_host: str, dest_port: int, orig_host: str, orig_port: int) -> bool:
        return dest_host in ("127.0.0.1", "localhost", "::1")  # tunnels to the box's own servers


def _write_files(files: Path, alias: str, port: int, host_key: asyncssh.SSHKey, user_key: asyncssh.SSHKey) -> Path:
    identity, known, config = files / "id_demo", files / "known_hosts", files / "config"
    for path in (identity, known, config):
        path.unlink(missing_ok=True)
        path.touch(mode=0o600)
    identity.write_bytes(user_key.export_private_key())
    known.write_text(f"[127.0.0.1]:{port} {host_key.export_public_key().decode()}")
    config.write_text(
        f"Host {alias}\n  HostName 127.0.0.1\n  Port {port}\n  IdentityFile {identity}\n  IdentitiesOnly yes\n"
        f"  IdentityAgent none\n  UserKnownHostsFile {known}\n  GlobalKnownHostsFile /dev/null\n"
    )
    return config


async def _run(process: asyncssh.SSHServerProcess[bytes], directory: Path, env: Mapping[str, str]) -> None:
    """One session: a command, or a shell, with pipes or on a terminal of its own."""
    command = ["/bin/sh", "-c", process.command] if process.command else ["/bin/sh", "-i"]
    if process.term_type is not None:  # empty where the client has no TERM
        await _run_on_terminal(process, command, directory, {**env, "TERM": process.term_type or "dumb"})
        return
    child = await asyncio.create_subprocess_exec(
        *command, cwd=directory, env=dict(env), start_new_session=True,
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    try:
        await process.redirect(stdin=child.stdin, stdout=child.stdout, stderr=child.stderr)
        await _until_ended(process, child)
    finally:
        _kill(child)
        await child.wait()
        child._transport.close()  # type: ignore[attr-defined]  # a grandchild may hold its pipes


async def _run_on_terminal(
    process: asyncssh.SSHServerProcess[bytes], command: list[str], directory: Path, env: Mapping[str, str]
) -> None:
    ours, theirs = os.openpty()
    child = await asyncio.create_subprocess_exec(
        *command, cwd=directory, env=dict(env), start_new_session=True, stdin=theirs, stdout=theirs, stderr=theirs
    )
    os.close(theirs)
    try:
        await process.redirect(stdin=os.dup(ours), stdout=ours)
        await _until_ended(process, child)
    finally:
        _kill(child)
        await child.wait()


async def _until_ended(process: asyncssh.SSHServerProcess[bytes], child: asyncio.subprocess.Process) -> None:
    """Passes the exit code on; a client that goes away ends the child by its standard input, then by a signal."""
    ended = asyncio.create_task(child.wait())
    gone = asyncio.create_task(process.wait_closed())
    try:
        await asyncio.wait({ended, gone}, return_when=asyncio.FIRST_COMPLETED)
        if ended.done():
            with contextlib.suppress(asyncssh.Error, OSError, TimeoutError):
                async with asyncio.timeout(_KILL_AFTER_S):
                    await process.stdout.drain()
            _exit(process, ended.result())
        else:
            await asyncio.wait({ended}, timeout=_KILL_AFTER_S)
    finally:
        for task in (ended, gone):
            task.cancel()
        await asyncio.gather(ended, gone, return_exceptions=True)
        process.close()
        await process.wait_closed()  # asyncssh ends its redirections here


def _exit(process: asyncssh.SSHServerProcess[bytes], code: int) -> None:
    if code < 0:
        process.exit_with_signal(signal.Signals(-code).name[3:])
    else:
        process.exit(code)


def _kill(child: asyncio.subprocess.Process) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)
