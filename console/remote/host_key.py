"""Why a presented host key was not trusted: unknown, changed, revoked, or a certificate that does not hold."""

from __future__ import annotations

import asyncssh

from console.remote.errors import HostKeyChanged, HostKeyError, HostKeyRevoked, HostKeyUnknown, HostKeyUnverifiable
from console.remote.ssh_config import Hop
from console.remote.trust import KnownHosts, describe
from console.values import clean


def judge(
    error: asyncssh.HostKeyNotVerifiable, presented: asyncssh.SSHKey | None, hop: Hop, known: KnownHosts
) -> HostKeyError:
    """The same asyncssh error means several things; what the files say of the presented key tells them apart."""
    trusted = known.match(hop.known_as, hop.port)
    if "revoked" in str(error) or presented in trusted.revoked:
        return HostKeyRevoked(f"The host key of {hop.host} port {hop.port} is marked @revoked: do not connect.")
    if presented is None:
        return HostKeyUnverifiable(
            f"The host certificate of {hop.host} port {hop.port} does not hold: {clean(str(error))}."
        )
    located = known.locate(hop.known_as, hop.port, presented.algorithm) if trusted.keys else None
    if located is None:
        return HostKeyUnknown(
            hop.host, hop.port, presented.algorithm.decode(), presented.get_fingerprint(),
            pattern=_pattern(hop), public_key=presented.export_public_key("openssh").decode().strip(),
        )  # fmt: skip
    entry, key = located
    names = entry.text.split()[0]
    name = _pattern(hop) if "[" in names or names.startswith("|") else hop.known_as
    return HostKeyChanged(hop.host, hop.port, describe(key), describe(presented), entry.file, entry.line, name)


def _pattern(hop: Hop) -> str:
    """How a known_hosts line names the hop. An alias stands without a port, as in ssh."""
    return hop.known_as if hop.port == 22 or hop.known_by_alias else f"[{hop.known_as}]:{hop.port}"
