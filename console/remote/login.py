"""One login to one hop: the host key first, then keys, then secrets that a person was asked for."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Coroutine
from typing import Any

import asyncssh
import msgspec
from asyncssh.encryption import get_encryption_algs
from asyncssh.kex import get_kex_algs
from asyncssh.mac import get_mac_algs

from console.remote.credentials import Identities, LockedKey, gather
from console.remote.errors import HostKeyUnexpected, HostKeyUnknown, PermissionDenied, RemoteError
from console.remote.host_key import judge
from console.remote.known_hosts import accept_host_key, own_file
from console.remote.observer import Observer
from console.remote.proxy_command import ProxyCommand
from console.remote.ssh_config import Algorithms, Hop
from console.remote.trust import KnownHosts
from console.remote.vault import Secrets
from console.remote.wording import CONNECT_FAILURES, explain_connect
from console.values import CleanText

KEEPALIVE_S, KEEPALIVE_COUNT = 5, 3
_TRIES = 3
_LOGIN_LIMIT_S = 110.0  # sshd's own LoginGraceTime is 120 s
_attempts: set[asyncio.Task[asyncssh.SSHClientConnection]] = set()


class Opened(msgspec.Struct, frozen=True):
    """One hop that is logged in to."""

    hop: Hop
    connection: asyncssh.SSHClientConnection
    proxy: ProxyCommand | None
    banner: tuple[CleanText, ...]

    async def close(self) -> None:
        """Says goodbye if the other side listens; bounded, never raises."""
        self.connection.close()
        with contextlib.suppress(*CONNECT_FAILURES):
            async with asyncio.timeout(2):
                await self.connection.wait_closed()
        self.connection.abort()
        if self.proxy is not None:
            await self.proxy.close()


class Login:
    """Logs in to one hop, through `before` when it is not the first. `expected`: a fingerprint to accept."""

    def __init__(self, hop: Hop, before: Opened | None, secrets: Secrets, expected: str | None) -> None:
        self._hop, self._before, self._secrets, self._expected = hop, before, secrets, expected
        self._known = KnownHosts(())
        self._keys: list[asyncssh.SSHKeyPair] = []
        self._locked: list[LockedKey] = []
        self._shut: list[LockedKey] = []  # asked for, and nobody knew the passphrase
        self._password: str | None = None
        self._answers: dict[str, str] | None = {} if secrets.can_ask else None

    async def run(self) -> Opened:
        """The connection, or a RemoteError that says why there is none."""
        try:
            return await self._authenticate()
        except HostKeyUnknown as unknown:
            if self._expected is None:
                raise
            if unknown.fingerprint.rstrip("=") != self._expected.rstrip("="):
                where = f"{unknown.host} port {unknown.port}"
                raise HostKeyUnexpected(
                    f"{where} presents {unknown.fingerprint}, not the expected {self._expected}."
                ) from None
            await asyncio.to_thread(accept_host_key, unknown)
        return await self._authenticate()

    async def _authenticate(self) -> Opened:
        self._known = await asyncio.to_thread(KnownHosts, [*self._hop.known_hosts_files, str(own_file())])
        identities = await gather(self._hop)
        try:
            return await self._try_all(identities)
        finally:
            identities.close()

    async def _try_all(self, identities: Identities) -> Opened:
        """Attempts with what is at hand; each denial may be answered by one more secret from a person."""
        self._keys, self._locked, self._shut = list(identities.usable), list(identities.locked), []
        self._password = self._secrets.password(self._hop)
        if not self._keys:
            await self._unlock()
        outcome = await self._attempt()
        for _ in range(_TRIES):
            if isinstance(outcome, Opened) or not await self._ask_more(outcome):
                break
            outcome = await self._attempt()
        if isinstance(outcome, Opened):
            return outcome
        locked = [f"{key.path} (needs a passphrase)" for key in self._locked]
        shut = [f"{key.path} (not unlocked)" for key in self._shut]
        skipped = (*identities.skipped, *locked, *shut)
        raise PermissionDenied(self._hop.user, self._hop.host, tuple(outcome.offered), tuple(outcome.tried), skipped)

    async def _ask_more(self, denied: Observer) -> bool:
        """One secret more for the next attempt; False when nobody can be asked, or the person declines."""
        if not self._secrets.can_ask:
            return False
        if "publickey" in denied.offered and self._locked:
            return await self._unlock() or await self._ask_more(denied)
        if denied.prompts and self._answers is not None:
            return await self._secrets.ask_answers(self._hop, denied.prompts, self._answers)
        if "password" in denied.offered:
            self._password = await self._secrets.ask_password(self._hop)
            return self._password is not None
        return False

    async def _unlock(self) -> bool:
        """Asks for each passphrase, once; True when a key more can be tried."""
        found: list[asyncssh.SSHKeyPair] = []
        if self._secrets.can_ask:
            for key in self._locked:
                opened = await self._secrets.unlock(key)
                found += opened
                if not opened:
                    self._shut.append(key)
            self._locked = []
        self._keys = [*found, *self._keys]
        return bool(found)

    async def _attempt(self) -> Opened | Observer:
        """One connection attempt; the observer tells the story of a denied one."""
        observer = Observer(self._keys, self._password, self._answers)
        hop = self._hop
        proxy = await ProxyCommand.start(hop.proxy_command) if hop.proxy_command and not self._before else None
        try:
            connection = await _bounded(self._connect(observer, proxy), observer, hop.connect_timeout_s)
            return Opened(hop, connection, proxy, tuple(observer.banner))
        except BaseException as error:
            failure = await proxy.failure() if proxy and not observer.presented else None
            if proxy is not None:
                await proxy.close()
            if isinstance(error, asyncssh.PermissionDenied):
                return observer
            if isinstance(error, asyncssh.HostKeyNotVerifiable):
                raise judge(error, observer.presented, hop, self._known) from None
            if isinstance(error, CONNECT_FAILURES):
                raise failure or self._explain(error, observer) from None
            raise

    def _explain(self, error: BaseException, observer: Observer) -> RemoteError:
        via = str(self._before.hop) if self._before else ""
        return explain_connect(error, self._hop, via, observer.greeted)

    async def _connect(self, observer: Observer, proxy: ProxyCommand | None) -> asyncssh.SSHClientConnection:
        hop = self._hop
        trusted = self._known.match(hop.known_as, hop.port)
        way: dict[str, Any] = {"host": hop.host, "port": hop.port, "family": hop.family}
        if self._before is not None:
            way["tunnel"] = self._before.connection
        elif proxy is not None:
            way["sock"] = proxy.socket
        return await asyncssh.connect(
            **way, config=[], username=hop.user, client_factory=lambda: observer,
            known_hosts=([*trusted.keys], [*trusted.authorities], [*trusted.revoked]),
            server_host_key_algs=trusted.algorithms(hop.algorithms.host_keys), host_key_alias=hop.known_as,
            client_keys=None, public_key_auth="publickey" in hop.methods,
            password_auth="password" in hop.methods, kbdint_auth="keyboard-interactive" in hop.methods,
            preferred_auth=list(hop.preferred) or (), gss_auth=False, gss_kex=False, host_based_auth=False,
            disable_trivial_auth=True, agent_forwarding=False, utf8_decode_errors="backslashreplace",
            connect_timeout=hop.connect_timeout_s + _LOGIN_LIMIT_S, login_timeout=_LOGIN_LIMIT_S,
            keepalive_interval=KEEPALIVE_S, keepalive_count_max=KEEPALIVE_COUNT, **_algorithms(hop.algorithms),
        )  # fmt: skip


def _algorithms(allowed: Algorithms) -> dict[str, list[str]]:
    """The configured algorithms that asyncssh has; it stops at a name that it does not know."""
    choices = {
        "kex_algs": (allowed.key_exchange, get_kex_algs()),
        "encryption_algs": (allowed.ciphers, get_encryption_algs()),
        "mac_algs": (allowed.macs, get_mac_algs()),
    }
    chosen = {name: [one for one in wanted if one.encode() in known] for name, (wanted, known) in choices.items()}
    return {name: algorithms for name, algorithms in chosen.items() if algorithms}


async def _bounded(
    work: Coroutine[Any, Any, asyncssh.SSHClientConnection], observer: Observer, limit_s: float
) -> asyncssh.SSHClientConnection:
    """Waits for a connection, without cancelling the handshake, which asyncssh does not survive cleanly.

    A server that has begun to authenticate gets more time: it may be waiting for somebody's telephone.
    """
    task = asyncio.create_task(work)
    _attempts.add(task)
    task.add_done_callback(_attempts.discard)
    try:
        await asyncio.wait({task}, timeout=limit_s)
        if not task.done() and observer.offered:
            await asyncio.wait({task}, timeout=_LOGIN_LIMIT_S)
        if task.done():
            return task.result()
        raise TimeoutError
    finally:
        if not task.done():
            task.add_done_callback(_drop)
            if observer.greeted:
                observer.abort()
            else:
                task.cancel()


def _drop(task: asyncio.Task[asyncssh.SSHClientConnection]) -> None:
    """A connection that nobody waits for any more."""
    if not task.cancelled() and task.exception() is None:
        task.result().abort()
