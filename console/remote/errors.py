"""What can go wrong between the laptop and a box: each class has one sentence, an exit code and a temper.

`retryable` says whether trying again later may help without anybody changing anything. Authentication and host
keys never are: a repeated attempt locks accounts, or trains people to ignore the alarm.
"""

from __future__ import annotations

from typing import ClassVar

EXIT_FAILED, EXIT_CONNECTION, EXIT_AUTH, EXIT_HOST_KEY = 1, 3, 5, 6


class RemoteError(Exception):
    """Any failure of this room; `str(error)` is the sentence for people."""

    exit_code: ClassVar[int] = EXIT_CONNECTION
    retryable: ClassVar[bool] = False


class SshConfigError(RemoteError):
    """The SSH configuration cannot be used; the sentence names the file and line where known."""

    exit_code = 2


class NameNotFound(RemoteError):
    """The host name does not resolve."""

    retryable = True


class ConnectionRefused(RemoteError):
    """The host answers, nothing listens on the port."""

    retryable = True


class ConnectTimeout(RemoteError):
    """No answer, or no SSH greeting, within the connect timeout."""

    retryable = True


class NoRoute(RemoteError):
    """The network has no way to the host."""

    retryable = True


class ConnectDropped(RemoteError):
    """The server closed the connection before the login was over."""

    retryable = True


class JumpRefused(RemoteError):
    """A hop does not open the way to the next host."""

    retryable = True


class NoCommonAlgorithm(RemoteError):
    """Client and server share no algorithm."""


class ProxyCommandFailed(RemoteError):
    """The ProxyCommand could not be started, or ended before the login."""


class HostKeyError(RemoteError):
    """The host's identity is not proved."""

    exit_code = EXIT_HOST_KEY


class HostKeyUnknown(HostKeyError):
    """No known_hosts file knows this host; the fingerprint is what a person has to compare.

    `pattern` and `public_key` are the two parts of the known_hosts line that accepting would add.
    """

    def __init__(
        self, host: str, port: int, algorithm: str, fingerprint: str, *, pattern: str, public_key: str
    ) -> None:
        self.host, self.port, self.algorithm, self.fingerprint = host, port, algorithm, fingerprint
        self.pattern, self.public_key = pattern, public_key
        super().__init__(
            f"The host key of {host} port {port} is not known: {algorithm} {fingerprint}. "
            "Compare it with the box's own; accept it in the console, or with --expect-fingerprint."
        )


class HostKeyChanged(HostKeyError):
    """The host presents another key than the one on file. There is no way to accept it from here."""

    def __init__(self, host: str, port: int, known: str, presented: str, file: str, line: int, name: str) -> None:
        self.host, self.port = host, port
        self.known, self.presented, self.file, self.line = known, presented, file, line
        super().__init__(
            f"HOST KEY CHANGED: {host} port {port} presents {presented}, but {file} line {line} holds {known}. "
            f"Somebody may be listening in. If the change is legitimate: ssh-keygen -f {file} -R '{name}'"
        )


class HostKeyRevoked(HostKeyError):
    """The presented key is marked @revoked."""


class HostKeyUnexpected(HostKeyError):
    """The presented key is not the one given with --expect-fingerprint."""


class HostKeyUnverifiable(HostKeyError):
    """The presented key or certificate cannot be checked, or checking is switched off in the configuration."""


class AuthError(RemoteError):
    """The login failed."""

    exit_code = EXIT_AUTH


class PermissionDenied(AuthError):
    """The server accepts none of the ways to log in; the sentence says what was offered, tried and skipped."""

    def __init__(
        self, user: str, host: str, offered: tuple[str, ...], tried: tuple[str, ...], skipped: tuple[str, ...]
    ) -> None:
        self.offered, self.tried, self.skipped = offered, tried, skipped
        super().__init__(
            f"Permission denied for {user}@{host}; the server offers {', '.join(offered) or 'no method'}; "
            f"tried {', '.join(tried) or 'nothing'}; skipped {', '.join(skipped) or 'nothing'}."
        )


class KeyUnusable(AuthError):
    """A private key or certificate cannot be read or unlocked."""


class LinkLost(RemoteError):
    """The link died. A request in flight has an unknown outcome: it may or may not have happened."""

    retryable = True


class AgentEnded(LinkLost):
    """The agent's process ended; the connection may still be good for a new one."""


class ProtocolError(LinkLost):
    """The other side sent something that is no frame; the agent is dropped."""


class ChannelRefused(RemoteError):
    """The server opens no further session (MaxSessions), or no forwarding."""

    retryable = True


class AgentNotStarted(RemoteError):
    """The agent's hello never came; subclasses name why where that can be known."""

    exit_code = EXIT_FAILED


class NoPython(AgentNotStarted):
    """No candidate interpreter exists on the box."""


class PythonTooOld(AgentNotStarted):
    """The interpreter is older than 3.8."""


class ForcedCommand(AgentNotStarted):
    """The server runs a command of its own instead of ours."""


class SftpOnly(AgentNotStarted):
    """The account is for file transfer only."""


class NoShell(AgentNotStarted):
    """The account has no login shell that runs commands."""


class AgentError(RemoteError):
    """The agent answered a request with an error; `code` is one of the protocol's."""

    exit_code = EXIT_FAILED

    def __init__(self, code: str, message: str) -> None:
        self.code = code
        self.message = message
        super().__init__(f"{message} ({code})" if message else code)


def request_sentence(error: RemoteError) -> str:
    """What became of a request: where nobody answered, the box may have done it all the same."""
    open_end = isinstance(error, LinkLost) or (isinstance(error, AgentError) and error.code == "timeout")
    return f"{str(error).rstrip('.')}.{' Whether the box did it is not known.' if open_end else ''}"
