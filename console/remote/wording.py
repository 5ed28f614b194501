"""Every way in which connecting fails, as one of our errors with one sentence."""

from __future__ import annotations

import errno
import socket

import asyncssh

from console.remote.errors import (
    AuthError,
    ChannelRefused,
    ConnectDropped,
    ConnectionRefused,
    ConnectTimeout,
    JumpRefused,
    KeyUnusable,
    LinkLost,
    NameNotFound,
    NoCommonAlgorithm,
    NoRoute,
    RemoteError,
    SshConfigError,
)
from console.remote.ssh_config import Hop
from console.values import clean

CONNECT_FAILURES = (OSError, asyncssh.Error, ValueError, TimeoutError)
_NO_ROUTE = (errno.ENETUNREACH, errno.EHOSTUNREACH, errno.ENETDOWN, errno.EHOSTDOWN)


def explain_connect(error: BaseException, hop: Hop, via: str, greeted: bool) -> RemoteError:
    """Why a connection attempt failed. `via` is the hop that opened the way, `greeted` whether anything answered."""
    where = f"{hop.host} port {hop.port}" + (f" (through {via})" if via else "")
    if isinstance(error, RemoteError):
        return error
    if isinstance(error, asyncssh.ChannelOpenError):
        return _explain_jump(error, f"{hop.host} port {hop.port}", via)
    if isinstance(error, asyncssh.Error):
        return _explain_ssh(error, hop, where)
    if isinstance(error, TimeoutError) and not getattr(error, "errno", None):
        what = "accepted the connection and then said nothing" if greeted else "did not answer"
        return ConnectTimeout(f"{where} {what} within {hop.connect_timeout_s:g} s.")
    if isinstance(error, OSError):
        return _explain_os(error, hop, where)
    if isinstance(error, UnicodeError):  # of the IDNA codec, before anything was asked
        return SshConfigError(f"{str(hop.host)!r} cannot be a host name: {clean(str(error.__cause__ or error))}.")
    return KeyUnusable(f"A key or certificate for {hop} cannot be used: {clean(str(error))}")


def _explain_os(error: OSError, hop: Hop, where: str) -> RemoteError:
    if isinstance(error, socket.gaierror):
        return NameNotFound(f"The name {hop.host} does not resolve: {clean(error.strerror or str(error))}.")
    if isinstance(error, ConnectionRefusedError) or "refused" in str(error).lower():
        return ConnectionRefused(f"{where} refused the connection: the host is up, no SSH server listens there.")
    if isinstance(error, ConnectionError):
        return ConnectDropped(f"{where} closed the connection before the login was over.")
    if error.errno == errno.ETIMEDOUT:
        return ConnectTimeout(f"{where} did not answer: packets to it get lost.")
    if error.errno in _NO_ROUTE:
        return NoRoute(f"There is no route to {where}: is the network or VPN up?")
    if isinstance(error, FileNotFoundError):
        return SshConfigError(f"{clean(str(error.filename))}, named by the SSH config, does not exist.")
    return NoRoute(f"{where} cannot be reached: {clean(error.strerror or str(error))}.")


def _explain_jump(error: asyncssh.ChannelOpenError, where: str, via: str) -> RemoteError:
    reason = clean(error.reason)
    if error.code == asyncssh.OPEN_ADMINISTRATIVELY_PROHIBITED:
        return JumpRefused(f"{via} forbids forwarding (AllowTcpForwarding), so {where} cannot be reached.")
    if "closed" in reason.lower():
        return LinkLost(f"The connection to {via} was lost on the way to {where}.")
    return JumpRefused(f"{via} cannot reach {where}: {reason or 'no reason given'}.")


def _explain_ssh(error: asyncssh.Error, hop: Hop, where: str) -> RemoteError:
    said = clean(str(error))
    if isinstance(error, asyncssh.KeyExchangeFailed):
        return NoCommonAlgorithm(f"{where} and gpudeck share no algorithm: {said}.")
    if isinstance(error, asyncssh.PermissionDenied):
        return AuthError(f"Permission denied for {hop}: {said}.")
    if "too many authentication" in said.lower():
        return AuthError(
            f"{where} gave up after too many attempts: {said}. "
            "Name the one key with IdentityFile and IdentitiesOnly yes."
        )
    if isinstance(error, asyncssh.ConnectionLost):
        if "timeout" in said.lower():
            return ConnectTimeout(f"{where} accepted the connection and then said nothing.")
        return ConnectDropped(
            f"{where} closed the connection before the login was over (busy, or this address is banned)."
        )
    if isinstance(error, asyncssh.ProtocolError | asyncssh.ProtocolNotSupported):
        return ConnectDropped(f"{where} does not speak SSH: {said}.")
    return ConnectDropped(f"{where} ended the connection: {said}.")


def explain_session(error: BaseException, hop: Hop) -> RemoteError:
    """Why an open connection gives no session, or lost it."""
    if isinstance(error, RemoteError):
        return error
    if isinstance(error, asyncssh.ChannelOpenError) and "closed" not in error.reason.lower():
        return ChannelRefused(f"{hop} opens no further session (MaxSessions?): {clean(error.reason)}.")
    return LinkLost(f"The connection to {hop} was lost: {clean(str(error)) or 'no reason given'}.")
