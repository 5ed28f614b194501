"""What a box needs besides GPUs and disks, as one JSON line: interpreter, shell, locale, service manager, limits."""

from __future__ import annotations

import json
import locale
import os
import platform
import pwd
import resource
import shutil
import sys
import tempfile
from typing import Any

PACKAGES = ("sglang", "torch", "huggingface_hub")
CONTAINERS = (("/.dockerenv", "docker"), ("/run/.containerenv", "podman"), ("/dev/.lxc", "lxc"))


def main(config: dict[str, Any]) -> int:
    """`config` is empty. Fields as in BoxExamined."""
    error = state_dir_error(state_dir())
    answer = {
        "python": sys.executable,
        "python_version": platform.python_version(),
        "packages": {name: version(name) for name in PACKAGES},
        "shell": pwd.getpwuid(os.getuid()).pw_shell,
        "encoding": locale.getpreferredencoding(False),
        "locale": os.environ.get("LC_ALL") or os.environ.get("LC_CTYPE") or os.environ.get("LANG") or "",
        "systemd": systemd(),
        "state_dir": state_dir(),
        "state_dir_error": error,
        "open_files": resource.getrlimit(resource.RLIMIT_NOFILE)[1],
        "container": next((name for path, name in CONTAINERS if os.path.exists(path)), ""),
    }
    sys.stdout.write(json.dumps(answer) + "\n")
    return 0


def version(package: str) -> Any:
    """The installed version; nothing of the package is imported."""
    from importlib import metadata

    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return {"unknown": "not installed"}


def systemd() -> str:
    """How far a job can live on as a unit of the user's own: none, system, user (until logout), lingering."""
    if not os.path.isdir("/run/systemd/system") or not shutil.which("systemd-run"):
        return "none"
    if not os.path.exists(f"/run/user/{os.getuid()}/systemd/private"):
        return "system"
    user = pwd.getpwuid(os.getuid()).pw_name
    return "lingering" if os.path.exists(os.path.join("/var/lib/systemd/linger", user)) else "user"


def state_dir() -> str:
    """Where jobs keep their folders."""
    home = os.environ.get("HOME") or pwd.getpwuid(os.getuid()).pw_dir
    return os.path.join(os.environ.get("XDG_STATE_HOME") or os.path.join(home, ".local", "state"), "gpudeck")


def state_dir_error(path: str) -> str:
    """Why no file can be made there, found out by making one; empty when it can."""
    while not os.path.isdir(path) and path != os.path.dirname(path):
        path = os.path.dirname(path)  # what is missing would be made inside the first one that exists
    try:
        with tempfile.TemporaryFile(dir=path) as stream:
            stream.write(b"gpudeck")
    except OSError as error:
        return f"{path}: {error.strerror}"
    return ""
