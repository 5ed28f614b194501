"""Names of boxes in the SSH configuration: its literal `Host` patterns, for the picker and for completion.

What a name means is asked of `ssh -G` later; here only the names are read.
"""

from __future__ import annotations

import glob
import os
import shlex
from collections.abc import Iterator
from pathlib import Path

MAX_INCLUDES = 16  # OpenSSH's own limit of nesting


def ssh_aliases(ssh_config: Path | None = None, home: Path | None = None) -> list[str]:
    """Every literal `Host` name, in the files' order: of `ssh_config`, or of the user's and the system's files."""
    user = (home or Path.home()) / ".ssh"
    system = Path("/etc/ssh")
    files = [(ssh_config, user)] if ssh_config else [(user / "config", user), (system / "ssh_config", system)]
    names: dict[str, None] = {}
    for file, folder in files:
        names.update(dict.fromkeys(_names(file, folder, user.parent, 0)))
    return list(names)


def _names(file: Path, folder: Path, home: Path, depth: int) -> Iterator[str]:
    """`folder` is where relative Includes lie, however deep."""
    try:
        lines = file.read_text("utf-8", "replace").splitlines()
    except OSError:
        return  # as OpenSSH does: a file that cannot be read has no names
    for line in lines:
        keyword, words = _split(line)
        if keyword == "host":
            yield from (word for word in words if not any(mark in word for mark in "*?!"))
        elif keyword == "include" and depth < MAX_INCLUDES:
            for included in _included(words, folder, home):
                yield from _names(included, folder, home, depth + 1)


def _split(line: str) -> tuple[str, list[str]]:
    """Keyword in lower case and its words: `Host a b`, `Host=a`, `Host "a b"`."""
    line = line.strip()
    if not line or line.startswith("#"):
        return "", []
    keyword = line.replace("=", " ", 1).split(None, 1)[0].lower()
    rest = line[len(keyword) :].lstrip(" \t=")
    try:
        return keyword, shlex.split(rest, comments=True)
    except ValueError:
        return keyword, rest.split()


def _included(words: list[str], folder: Path, home: Path) -> Iterator[Path]:
    for word in words:
        path = os.path.expandvars(word)
        path = str(home / path[2:]) if path.startswith("~/") else path
        yield from (Path(found) for found in sorted(glob.glob(os.path.join(folder, path))))
