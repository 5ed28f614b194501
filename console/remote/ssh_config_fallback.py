"""The SSH configuration where no `ssh` is installed: asyncssh's parser, its answers in the words of `ssh -G`."""

from __future__ import annotations

import getpass
from pathlib import Path
from typing import Any

from asyncssh.config import ConfigParseError, SSHClientConfig

from console.remote.errors import SshConfigError
from console.remote.ssh_config import Destination, Options
from console.values import clean

_KEYWORDS = (
    "Hostname", "Port", "User", "HostKeyAlias", "IdentityFile", "CertificateFile", "IdentitiesOnly", "IdentityAgent",
    "UserKnownHostsFile", "GlobalKnownHostsFile", "ProxyCommand", "ProxyJump", "ConnectTimeout",
    "PreferredAuthentications", "PubkeyAuthentication", "PasswordAuthentication", "KbdInteractiveAuthentication",
)  # fmt: skip
_DEFAULTS: Options = {
    "identityfile": ["~/.ssh/id_rsa", "~/.ssh/id_ecdsa", "~/.ssh/id_ed25519"],
    "userknownhostsfile": ["~/.ssh/known_hosts ~/.ssh/known_hosts2"],
    "globalknownhostsfile": ["/etc/ssh/ssh_known_hosts /etc/ssh/ssh_known_hosts2"],
}


def read_options_without_ssh(destination: Destination, ssh_config: Path | None) -> Options:
    """The same shape as `ssh -G` gives. Host and Match lines are evaluated, the system-wide file is not read.

    Raises SshConfigError.
    """
    path = ssh_config or Path("~/.ssh/config").expanduser()
    options: Options = dict(_DEFAULTS)
    try:
        config = SSHClientConfig.load(
            None, [path] if path.is_file() else [], False, False, False,
            getpass.getuser(), destination.user or (), destination.host, destination.port or (),
        )  # fmt: skip
    except (ConfigParseError, OSError) as error:
        raise SshConfigError(f"The SSH config cannot be used: {clean(str(error))}") from None
    for keyword in _KEYWORDS:
        value: Any = config.get(keyword)
        if value is not None:
            options[keyword.lower()] = _words(keyword, value)
    return options


def _words(keyword: str, value: Any) -> list[str]:
    if isinstance(value, bool):
        return ["yes" if value else "no"]
    if not isinstance(value, list):
        return [str(value)]
    if keyword in ("IdentityFile", "CertificateFile"):
        return [str(item) for item in value]
    separator = "," if keyword == "PreferredAuthentications" else " "
    return [separator.join(map(str, value)) or "none"]
