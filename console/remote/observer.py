"""Our side of one login attempt: what the server presents and offers, and what we gave it."""

from __future__ import annotations

import base64
import contextlib
from collections.abc import Mapping, Sequence

import asyncssh

from console.values import CleanText, clean

_MAX_BANNER_LINES = 40


class Observer(asyncssh.SSHClient):
    """Hands out keys one by one and secrets that were given before the attempt; asks nobody anything.

    `answers`: prompt → answer for keyboard-interactive; None switches that method off. Host keys that the
    known_hosts files do not vouch for are refused here, always, and kept to be judged afterwards.
    """

    def __init__(
        self, keys: Sequence[asyncssh.SSHKeyPair], password: str | None, answers: Mapping[str, str] | None
    ) -> None:
        self._keys = list(keys)
        self._password = password
        self._answers = None if answers is None else dict(answers)
        self._connection: asyncssh.SSHClientConnection | None = None
        self.presented: asyncssh.SSHKey | None = None
        self.offered: dict[str, None] = {}
        self.tried: list[str] = []
        self.prompts: dict[str, bool] = {}
        self.banner: list[CleanText] = []

    def connection_made(self, conn: asyncssh.SSHClientConnection) -> None:
        self._connection = conn

    @property
    def greeted(self) -> bool:
        """Something accepted the connection."""
        return self._connection is not None

    def abort(self) -> None:
        """Ends the attempt at once."""
        if self._connection is not None:
            self._connection.abort()

    def validate_host_public_key(self, host: str, addr: str, port: int, key: asyncssh.SSHKey) -> bool:
        self.presented = key
        return False

    def auth_banner_received(self, msg: str, lang: str) -> None:
        self.banner += [clean(line) for line in msg.splitlines()[:_MAX_BANNER_LINES]]

    def public_key_auth_requested(self) -> asyncssh.SSHKeyPair | None:
        self.offered["publickey"] = None
        if not self._keys:
            return None
        key = self._keys.pop(0)
        self.tried.append(describe_pair(key))
        return key

    def password_auth_requested(self) -> str | None:
        self.offered["password"] = None
        password, self._password = self._password, None
        if password is not None:
            self.tried.append("a password")
        return password

    def kbdint_auth_requested(self) -> str | None:
        self.offered["keyboard-interactive"] = None
        return None if self._answers is None else ""

    def kbdint_challenge_received(
        self, name: str, instructions: str, lang: str, prompts: Sequence[tuple[str, bool]]
    ) -> list[str] | None:
        """Gives each answer once: a question that comes again was answered wrongly.

        `prompts` (text → echo) keeps all questions, for the next attempt.
        """
        answers = self._answers or {}
        self.prompts |= dict(prompts)
        if any(text not in answers for text, _ in prompts):
            return None
        if prompts:
            self.tried.append("answers to its questions")
        return [answers.pop(text) for text, _ in prompts]


def describe_pair(pair: asyncssh.SSHKeyPair) -> str:
    """A key that is tried, as a person knows it: algorithm, fingerprint, comment."""
    comment = clean(pair.get_comment() or "")
    algorithm = pair.get_algorithm()
    if "-cert-" in algorithm:
        return f"certificate {algorithm.partition('-cert-')[0]} {comment}".strip()
    line = f"ssh-key {base64.b64encode(pair.public_data).decode()}"
    with contextlib.suppress(asyncssh.KeyImportError):
        key = asyncssh.import_public_key(line.replace("ssh-key", algorithm, 1))
        return f"key {algorithm} {key.get_fingerprint()}" + (f" {comment}" if comment else "")
    return f"key {algorithm} {comment}".strip()
