"""What the known_hosts files say of a host."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import asyncssh
import msgspec
from asyncssh.public_key import get_default_certificate_algs, get_default_public_key_algs


class Entry(msgspec.Struct, frozen=True):
    """One line of a known_hosts file."""

    file: str
    line: int
    text: str


class Matched(msgspec.Struct, frozen=True):
    """What the files say of one host."""

    keys: tuple[asyncssh.SSHKey, ...] = ()
    authorities: tuple[asyncssh.SSHKey, ...] = ()
    revoked: tuple[asyncssh.SSHKey, ...] = ()

    def algorithms(self, allowed: Sequence[str]) -> list[str]:
        """All host key algorithms, those of the known keys first: another type must show up as a change.

        Certificates are asked for only where an authority could vouch for them. `allowed` comes from the SSH
        configuration; empty allows all.
        """
        ours = [algorithm for key in self.keys for algorithm in key.sig_algorithms]
        certificates = get_default_certificate_algs() if self.authorities else []
        known = dict.fromkeys([*ours, *certificates, *get_default_public_key_algs()])
        names = [name.decode() for name in known]
        return [name for name in names if name in allowed] or names


class KnownHosts:
    """The joined known_hosts files. A file that does not exist is empty; a broken line is skipped, as ssh does."""

    def __init__(self, files: Sequence[str]) -> None:
        self._entries = [entry for file in files for entry in _read(file)]
        try:
            self._known = asyncssh.import_known_hosts("\n".join(entry.text for entry in self._entries))
        except ValueError:
            self._entries = [entry for entry in self._entries if _parses(entry)]
            self._known = asyncssh.import_known_hosts("\n".join(entry.text for entry in self._entries))

    def match(self, name: str, port: int) -> Matched:
        """What is known of a host by name; a port other than 22 falls back to the entry without a port."""
        return _matched(self._known, name, port)

    def locate(self, name: str, port: int, algorithm: bytes) -> tuple[Entry, asyncssh.SSHKey] | None:
        """The line that holds the host's key, one of the given algorithm preferred."""
        found: tuple[Entry, asyncssh.SSHKey] | None = None
        for entry in self._entries:
            matched = _matched(asyncssh.import_known_hosts(entry.text), name, port)
            for key in matched.keys or matched.authorities:
                if key.algorithm == algorithm:
                    return entry, key
                found = found or (entry, key)
        return found


def _matched(known: asyncssh.SSHKnownHosts, name: str, port: int) -> Matched:
    keys, authorities, revoked, *_ = known.match(name, "", port if port != 22 else None)
    return Matched(tuple(keys), tuple(authorities), tuple(revoked))


def _read(file: str) -> list[Entry]:
    try:
        lines = Path(file).read_text("utf-8", "replace").splitlines()
    except OSError:
        return []
    return [Entry(file, number, line) for number, line in enumerate(lines, 1) if line.strip()]


def _parses(entry: Entry) -> bool:
    try:
        asyncssh.import_known_hosts(entry.text)
    except ValueError:
        return False
    return True


def describe(key: asyncssh.SSHKey) -> str:
    """Algorithm and SHA256 fingerprint, as ssh prints them."""
    return f"{key.algorithm.decode()} {key.get_fingerprint()}"
