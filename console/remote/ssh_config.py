"""What the operator's SSH configuration says of a destination, asked of `ssh -G` so that OpenSSH itself decides.

Where there is no `ssh`, asyncssh's own parser is the second choice. Everything here blocks: call it in a thread.
"""

from __future__ import annotations

import os
import pwd
import re
import shutil
import socket
import subprocess
from pathlib import Path

import msgspec

from console.remote.errors import HostKeyUnverifiable, SshConfigError
from console.values import clean

DEFAULT_CONNECT_TIMEOUT_S = 15.0
_SSH_G_LIMIT_S = 20.0
_MAX_HOPS = 8

Options = dict[str, list[str]]


class Destination(msgspec.Struct, frozen=True):
    """`alias`, `user@host`, `user@host:port`, `[v6]:port` or `ssh://…`, taken apart. None: the config decides."""

    host: str
    user: str | None = None
    port: int | None = None

    def __str__(self) -> str:
        user = f"{self.user}@" if self.user else ""
        host = f"[{self.host}]" if ":" in self.host and self.port else self.host
        return f"{user}{host}:{self.port}" if self.port else f"{user}{host}"


class Algorithms(msgspec.Struct, frozen=True):
    """What the configuration allows, best first; empty: whatever asyncssh takes by default."""

    key_exchange: tuple[str, ...] = ()
    ciphers: tuple[str, ...] = ()
    macs: tuple[str, ...] = ()
    host_keys: tuple[str, ...] = ()


class Hop(msgspec.Struct, frozen=True, kw_only=True):
    """One SSH connection of a chain, with everything resolved. Times in seconds; paths expanded.

    `name` is what the user calls it; `known_as` is what known_hosts files call it. `notes` say where we are
    stricter than the configuration.
    """

    name: str
    host: str
    port: int
    user: str
    known_as: str
    known_by_alias: bool
    identity_files: tuple[str, ...]
    certificate_files: tuple[str, ...]
    identities_only: bool
    agent_path: str
    known_hosts_files: tuple[str, ...]
    proxy_command: str
    family: int
    connect_timeout_s: float
    methods: frozenset[str]
    preferred: tuple[str, ...]
    algorithms: Algorithms
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        port = "" if self.port == 22 else f":{self.port}"
        return f"{self.user}@{self.host}{port}"


def parse_destination(text: str) -> Destination:
    """Takes a destination apart; SshConfigError when it is none."""
    bare = text.strip().removeprefix("ssh://").rstrip("/")
    user, at, host = bare.rpartition("@")
    bracketed = re.fullmatch(r"\[([^]]+)](?::(\d+))?", host)
    named = re.fullmatch(r"([^:]+):(\d+)", host)
    match = bracketed or named
    host, port = (match[1], int(match[2]) if match[2] else None) if match else (host, None)
    if not host or host.startswith("-") or (at and not user) or re.search(r"[\s'\"`$\\;&<>|(){}*?!]", bare):
        raise SshConfigError(f"{clean(text)!r} is no SSH destination; it is written alias or user@host[:port].")
    if not bracketed and host.count(":") == 1:
        raise SshConfigError(f"{clean(text)!r}: {clean(host.partition(':')[2])!r} is no port.")
    if port is not None and not 0 < port < 65536:
        raise SshConfigError(f"{clean(text)!r}: port {port} does not exist.")
    return Destination(host, user or None, port)


def ssh_command(destination: Destination, ssh_config: Path | None, *options: str) -> list[str]:
    """The arguments of the operator's own ssh to a destination."""
    words = ["ssh", *options]
    words += ["-F", str(ssh_config)] if ssh_config else []
    words += ["-l", destination.user] if destination.user else []
    words += ["-p", str(destination.port)] if destination.port else []
    return [*words, "--", destination.host]


def resolve(target: str, ssh_config: Path | None = None) -> tuple[Hop, ...]:
    """The hops to a destination, first to last; each ProxyJump of the configuration is a hop of its own."""
    return _chain(parse_destination(target), ssh_config, depth=0)


def _chain(destination: Destination, ssh_config: Path | None, depth: int) -> tuple[Hop, ...]:
    if depth > _MAX_HOPS:
        raise SshConfigError(f"The ProxyJump chain of {destination} has no end.")
    options = read_options(destination, ssh_config)
    last = _hop(destination, options)
    jumps = [jump for jump in _first(options, "proxyjump").split(",") if jump and jump != "none"]
    if not jumps:
        return (last,)
    hops = list(_chain(parse_destination(jumps[0]), ssh_config, depth + 1))
    for jump in jumps[1:]:
        middle = parse_destination(jump)
        hops.append(_hop(middle, read_options(middle, ssh_config) | {"proxycommand": []}))
    return (*hops, last)


def read_options(destination: Destination, ssh_config: Path | None) -> Options:
    """What `ssh -G` prints, by lower-case keyword. Raises SshConfigError."""
    if ssh_config is not None and not ssh_config.is_file():
        raise SshConfigError(f"The SSH config {ssh_config} does not exist.")
    if shutil.which("ssh") is None:
        from console.remote.ssh_config_fallback import read_options_without_ssh

        return read_options_without_ssh(destination, ssh_config)
    command = ssh_command(destination, ssh_config, "-G")
    try:
        answer = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=_SSH_G_LIMIT_S)
    except subprocess.TimeoutExpired:
        raise SshConfigError(f"ssh -G {destination} did not answer: a Match exec of the SSH config hangs.") from None
    if answer.returncode:
        said = [line for line in answer.stderr.decode("utf-8", "replace").splitlines() if "terminal" not in line]
        raise SshConfigError(f"The SSH config cannot be used: {clean(said[0] if said else 'ssh -G failed')}")
    return _parse(answer.stdout.decode("utf-8", "replace"))


def _parse(text: str) -> Options:
    options: Options = {}
    for line in text.splitlines():
        keyword, _, value = line.partition(" ")
        options.setdefault(keyword.lower(), []).append(value)
    return options


def _first(options: Options, keyword: str, default: str = "") -> str:
    values = options.get(keyword)
    return values[0] if values else default


def _listed(options: Options, keyword: str) -> tuple[str, ...]:
    return tuple(word for word in _first(options, keyword).split(",") if word)


def _is_on(options: Options, keyword: str, default: str) -> bool:
    return _first(options, keyword, default).lower() in ("yes", "true")


def _hop(destination: Destination, options: Options) -> Hop:
    host = _first(options, "hostname", destination.host).strip("[]")
    port = int(_first(options, "port", "22"))
    user = _first(options, "user") or _local_user()
    alias = _first(options, "hostkeyalias")
    known_as = alias if alias not in ("", "none") else host
    tokens = {
        "%": "%", "d": _home(), "h": host, "i": str(os.getuid()), "k": known_as, "l": socket.gethostname(),
        "L": socket.gethostname().partition(".")[0], "n": destination.host, "p": str(port), "r": user,
        "u": _local_user(),
    }  # fmt: skip
    proxy_command = _first(options, "proxycommand", "none")
    timeout = _first(options, "connecttimeout", "none")
    switches = {
        "publickey": _first(options, "pubkeyauthentication", "true") != "no",
        "password": _is_on(options, "passwordauthentication", "yes"),
        "keyboard-interactive": _is_on(options, "kbdinteractiveauthentication", "yes"),
    }
    return Hop(
        name=str(destination), host=host, port=port, user=user,
        known_as=known_as, known_by_alias=known_as is alias,
        identity_files=tuple(_paths(options, "identityfile", tokens)),
        certificate_files=tuple(_paths(options, "certificatefile", tokens)),
        identities_only=_is_on(options, "identitiesonly", "no"),
        agent_path=_agent_path(_first(options, "identityagent"), tokens),
        known_hosts_files=_known_hosts_files(options, destination),
        proxy_command="" if proxy_command == "none" else _expand(proxy_command, tokens),
        family={"inet": socket.AF_INET, "inet6": socket.AF_INET6}.get(_first(options, "addressfamily"), 0),
        connect_timeout_s=float(timeout) if timeout.isdigit() and int(timeout) else DEFAULT_CONNECT_TIMEOUT_S,
        methods=frozenset(method for method, on in switches.items() if on),
        preferred=_listed(options, "preferredauthentications"),
        algorithms=Algorithms(
            _listed(options, "kexalgorithms"), _listed(options, "ciphers"), _listed(options, "macs"),
            _listed(options, "hostkeyalgorithms"),
        ),
        notes=_notes(options, destination),
    )  # fmt: skip


def _expand(text: str, tokens: dict[str, str]) -> str:
    """Percent tokens and `${VARIABLES}`, as ssh expands them; what it does not know stays as it is."""
    text = re.sub(r"%(.)", lambda match: tokens.get(match[1], match[0]), text)
    return re.sub(r"\$\{(\w+)}", lambda match: os.environ.get(match[1], match[0]), text)


def _paths(options: Options, keyword: str, tokens: dict[str, str]) -> list[str]:
    values = [value.strip('"') for value in options.get(keyword, [])]
    return [_at_home(_expand(value, tokens)) for value in values if value and value != "none"]


def _at_home(path: str) -> str:
    return _home() + path[1:] if path == "~" or path.startswith("~/") else os.path.expanduser(path)


def _home() -> str:
    """OpenSSH takes the home directory from the user database, not from $HOME."""
    return pwd.getpwuid(os.getuid()).pw_dir


def _local_user() -> str:
    return pwd.getpwuid(os.getuid()).pw_name


def _agent_path(value: str, tokens: dict[str, str]) -> str:
    if value in ("", "SSH_AUTH_SOCK"):
        return os.environ.get("SSH_AUTH_SOCK", "")
    if value == "none":
        return ""
    if value.startswith("$") and not value.startswith("${"):
        return os.environ.get(value[1:], "")
    return _at_home(_expand(value, tokens))


def _known_hosts_files(options: Options, destination: Destination) -> tuple[str, ...]:
    """The files to trust. `none` and `/dev/null` would switch the check off: refused, not obeyed."""
    files: list[str] = []
    for keyword in ("userknownhostsfile", "globalknownhostsfile"):
        value = _first(options, keyword)
        if value.strip().lower() in ("none", "/dev/null") and keyword == "userknownhostsfile":
            raise HostKeyUnverifiable(
                f"The SSH config sets UserKnownHostsFile {clean(value.strip())} for {destination}: gpudeck does not "
                "connect without checking the host key. Remove that line."
            )
        files += [part for part in re.split(r"\s+(?=[/~])", value.strip()) if part not in ("", "none")]
    return tuple(_at_home(path) for path in files if path != "/dev/null")


def _notes(options: Options, destination: Destination) -> tuple[str, ...]:
    notes = []
    if _first(options, "stricthostkeychecking").lower() in ("no", "false", "off", "accept-new"):
        notes.append(
            f"StrictHostKeyChecking of the SSH config is ignored for {destination}: host keys are always checked."
        )
    return tuple(notes)
