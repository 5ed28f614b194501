"""`gpudeck doctor` without a host: what this laptop has to offer."""

from __future__ import annotations

import locale
import os
import platform
import shutil
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

from console import __version__
from console.cli.boxes import configuration
from console.cli.flags import Flags
from console.cli.stop import StopError
from console.config import Config
from console.config.aliases import ssh_aliases
from console.config.paths import home_dir, recordings_dir
from console.remote.errors import RemoteError
from console.remote.ssh_config import parse_destination, read_options
from console.values import clean, format_bytes
from console.views.doctor import Check

RECORDINGS_BYTES = 10**9
LEAST_SIZE = (80, 24)


def laptop_checks(flags: Flags) -> list[Check]:
    """Every check; blocks for a few small processes."""
    checks = [_gpudeck(), _ssh()]
    try:
        config = configuration(flags)
    except StopError as error:
        way = "gpudeck config path names the files; gpudeck config schema what may stand there"
        checks.append(Check("configuration", "fail", error.sentence, way))
    else:
        names = ", ".join(config.hosts) or "no box"
        checks += [Check("configuration", "ok", f"{names} configured"), _ssh_config(config)]
    return [*checks, _agent(), *_directories(), _recordings(), _terminal(), _unicode()]


def _gpudeck() -> Check:
    said = f"gpudeck {__version__} on Python {platform.python_version()}, {platform.system()} {platform.machine()}"
    try:
        other = metadata.version("console")
    except metadata.PackageNotFoundError:
        return Check("gpudeck", "ok", said)
    way = "install gpudeck in an environment of its own (uv tool install, pipx)"
    return Check("gpudeck", "warn", f"{said}; a package `console` {other} lies in the same environment", way)


def _ssh() -> Check:
    ssh = shutil.which("ssh")
    if ssh is None:
        said = "no `ssh` in PATH: the SSH configuration is read without it, `gpudeck shell` cannot work"
        return Check("ssh", "warn", said, "install the OpenSSH client")
    answer = subprocess.run([ssh, "-V"], stdin=subprocess.DEVNULL, capture_output=True, timeout=10)
    return Check("ssh", "ok", f"{clean(answer.stderr.strip())}, {ssh}")


def _ssh_config(config: Config) -> Check:
    path = Path(config.settings.ssh_config) if config.settings.ssh_config else None
    try:
        read_options(parse_destination("localhost"), path)
    except RemoteError as error:
        return Check("ssh_config", "fail", str(error), "ssh -G localhost shows what OpenSSH makes of it")
    count = len(ssh_aliases(path))
    return Check("ssh_config", "ok", f"{path or '~/.ssh/config'}: {count} {'name' if count == 1 else 'names'} of boxes")


def _agent() -> Check:
    path = os.environ.get("SSH_AUTH_SOCK", "")
    if not path:
        return Check("ssh_agent", "ok", "none: keys come from files")
    with socket.socket(socket.AF_UNIX) as probe:
        probe.settimeout(2)
        try:
            probe.connect(path)
        except OSError as error:
            way = "unset SSH_AUTH_SOCK, or start an agent"
            return Check("ssh_agent", "warn", f"SSH_AUTH_SOCK is dead: {error.strerror or error}", way)
    return Check("ssh_agent", "ok", "answers")


def _directories() -> Iterator[Check]:
    """Ours are 0700: recordings and known hosts are nobody else's business."""
    homes = (home_dir("config"), home_dir("data"), home_dir("state"), home_dir("cache"))
    there = [path for path in homes if path.is_dir()]
    open_ones = [path for path in there if stat.S_IMODE(path.stat().st_mode) & 0o077]
    if open_ones:
        said = f"others may look into {', '.join(map(str, open_ones))}"
        yield Check("directories", "warn", said, f"chmod 700 {' '.join(map(str, open_ones))}")
    else:
        yield Check("directories", "ok", f"{len(there)} of {len(homes)} made, each for this user alone")


def _recordings() -> Check:
    place = recordings_dir()
    there = next(path for path in (place, *place.parents) if path.is_dir())
    if not os.access(there, os.W_OK):
        return Check("recordings", "fail", f"{there} cannot be written", "set XDG_DATA_HOME")
    free = shutil.disk_usage(there).free
    said = f"{place}: {format_bytes(free)} free"
    if free < RECORDINGS_BYTES:
        return Check("recordings", "warn", said, "free some space, or record nothing (--no-record)")
    return Check("recordings", "ok", said)


def _terminal() -> Check:
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return Check("terminal", "unknown", "there is none here: the console on screen needs one")
    size = shutil.get_terminal_size()
    said = f"{os.environ.get('TERM', 'TERM is not set')}, {size.columns}x{size.lines}"
    if size.columns < LEAST_SIZE[0] or size.lines < LEAST_SIZE[1]:
        return Check("terminal", "warn", said, f"make it {LEAST_SIZE[0]}x{LEAST_SIZE[1]} or larger")
    return Check("terminal", "ok", said)


def _unicode() -> Check:
    encoding = locale.getpreferredencoding(False)
    if encoding.lower().replace("-", "") == "utf8":
        return Check("unicode", "ok", encoding)
    return Check("unicode", "warn", f"the locale's encoding is {encoding}", "--ascii, or LC_ALL=C.UTF-8")
