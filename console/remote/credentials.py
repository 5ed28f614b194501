"""The keys that a login may use, found before connecting: the ssh agent's, the files', and the locked ones."""

from __future__ import annotations

import asyncio
import contextlib
import os
import struct
from collections.abc import Sequence
from pathlib import Path

import asyncssh
import msgspec

from console.remote.ssh_config import Hop

Readable = (OSError, ValueError, asyncssh.Error)


class LockedKey(msgspec.Struct, frozen=True):
    """A private key that needs a passphrase. `public` is its public half, where it can be read."""

    path: str
    public: bytes | None


class Identities(msgspec.Struct, frozen=True):
    """What may be tried without asking anybody, what needs a passphrase, and what cannot be used and why."""

    usable: tuple[asyncssh.SSHKeyPair, ...]
    locked: tuple[LockedKey, ...]
    skipped: tuple[str, ...]
    agent: asyncssh.SSHAgentClient | None

    def close(self) -> None:
        """Lets the ssh agent go; its keys cannot sign after that."""
        if self.agent is not None:
            self.agent.close()


class _Files(msgspec.Struct, frozen=True):
    pairs: tuple[asyncssh.SSHKeyPair, ...]
    locked: tuple[LockedKey, ...]
    listed: frozenset[bytes]
    certificates: tuple[asyncssh.SSHCertificate, ...]
    skipped: tuple[str, ...]


async def gather(hop: Hop) -> Identities:
    """Reads the hop's key files in a thread and asks its ssh agent. Nothing here raises for a bad key."""
    files = await asyncio.to_thread(_read_files, hop)
    agent, agent_keys, skipped = await _agent_keys(hop, files)
    held = {key.public_data for key in agent_keys}
    usable = [*_with_certificates(agent_keys, files), *(pair for pair in files.pairs if pair.public_data not in held)]
    locked = tuple(key for key in files.locked if key.public not in held)
    return Identities(tuple(usable), locked, (*files.skipped, *skipped), agent)


async def _agent_keys(
    hop: Hop, files: _Files
) -> tuple[asyncssh.SSHAgentClient | None, list[asyncssh.SSHKeyPair], list[str]]:
    """The agent's keys, those that the configuration names first; with IdentitiesOnly, those alone."""
    if not hop.agent_path:
        return None, [], []
    try:
        agent = await asyncssh.connect_agent(hop.agent_path)
    except Readable:
        return None, [], [f"ssh agent {hop.agent_path} (does not answer)"]
    try:
        keys = list(await agent.get_keys())
    except Readable:
        agent.close()
        return None, [], [f"ssh agent {hop.agent_path} (gave no keys)"]
    named = [key for key in keys if key.public_data in files.listed]
    if hop.identities_only:
        left_out = len(keys) - len(named)
        return agent, named, [f"{left_out} keys of the ssh agent (IdentitiesOnly)"] if left_out else []
    return agent, [*named, *(key for key in keys if key not in named)], []


def _with_certificates(keys: Sequence[asyncssh.SSHKeyPair], files: _Files) -> list[asyncssh.SSHKeyPair]:
    """A certificate of the configuration goes with the agent's key that it certifies."""
    for key in keys:
        for certificate in files.certificates:
            if certificate.key.public_data == key.public_data:
                key.set_certificate(certificate)
    return list(keys)


def _read_files(hop: Hop) -> _Files:
    pairs: list[asyncssh.SSHKeyPair] = []
    locked: list[LockedKey] = []
    skipped: list[str] = []
    listed: set[bytes] = set()
    certificates = _read_certificates(hop, skipped)
    for path in hop.identity_files:
        if not os.path.lexists(path):
            if not os.path.basename(path).startswith("id_"):
                skipped.append(f"{path} (does not exist)")
            continue
        public = _public_half(path)
        if public is not None:
            listed.add(public)
        try:
            _refuse_open_permissions(path)
            pairs += load_pairs(path, None, certificates)
        except asyncssh.KeyImportError as error:
            if "assphrase" in str(error):
                locked.append(LockedKey(path, public))
            elif not _is_public(path):
                skipped.append(f"{path} ({error})")
        except Readable as error:
            skipped.append(f"{path} ({getattr(error, 'strerror', None) or error})")
    listed |= {pair.key_public_data for pair in pairs}
    return _Files(tuple(pairs), tuple(locked), frozenset(listed), tuple(certificates), tuple(skipped))


def load_pairs(
    path: str, passphrase: str | None, certificates: Sequence[asyncssh.SSHCertificate]
) -> list[asyncssh.SSHKeyPair]:
    """One key file as key pairs: with its certificate, when it has one, and without. Raises what asyncssh raises."""
    key = asyncssh.read_private_key(path, passphrase)
    fitting = [one for one in certificates if one.key.public_data == key.public_data]
    with contextlib.suppress(*Readable):
        fitting.append(asyncssh.read_certificate(f"{path}-cert.pub"))
    return list(asyncssh.load_keypairs([*((key, one) for one in fitting[:1]), key]))


def _read_certificates(hop: Hop, skipped: list[str]) -> list[asyncssh.SSHCertificate]:
    certificates = []
    for path in hop.certificate_files:
        try:
            certificates.append(asyncssh.read_certificate(path))
        except Readable as error:
            skipped.append(f"{path} ({getattr(error, 'strerror', None) or error})")
    return certificates


def _refuse_open_permissions(path: str) -> None:
    """A private key that others can read is not used, as in ssh."""
    found = os.stat(path)
    if found.st_uid == os.getuid() and found.st_mode & 0o077 and not _is_public(path):
        raise PermissionError(0, f"others can read it, mode {found.st_mode & 0o777:04o}: chmod 600")


def _is_public(path: str) -> bool:
    return b"PRIVATE KEY" not in Path(path).read_bytes()


def _public_half(path: str) -> bytes | None:
    """The public key of a private key file without its passphrase: from the file beside it, or from its head."""
    for candidate in (f"{path}.pub", path):
        with contextlib.suppress(*Readable):
            return asyncssh.read_public_key(candidate).public_data
    with contextlib.suppress(OSError, ValueError, struct.error):
        return _openssh_public(Path(path).read_text("ascii"))
    return None


def _openssh_public(text: str) -> bytes | None:
    """OpenSSH's own private key format holds the public key in clear: magic, cipher, kdf, options, count, key."""
    import base64

    body = text.partition("-----BEGIN OPENSSH PRIVATE KEY-----")[2].partition("-----END")[0]
    data = base64.b64decode(body)
    magic = b"openssh-key-v1\0"
    if not data.startswith(magic):
        return None
    offset = len(magic)
    for _ in range(3):
        offset += 4 + int(struct.unpack_from(">I", data, offset)[0])
    length = struct.unpack_from(">I", data, offset + 4)[0]
    return data[offset + 8 : offset + 8 + length]
