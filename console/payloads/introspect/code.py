"""The Python files of a repository that lies on the box, with their hashes: read as bytes, never imported."""

from __future__ import annotations

import hashlib
import os
from typing import Any


def read(config: dict[str, Any]) -> dict[str, Any]:
    """`config`: `path` of the directory. Answers `files` [[path below it, sha256]]; a file that cannot be read has
    no hash."""
    root = config["path"]
    files = []
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            if name.endswith(".py"):
                full = os.path.join(folder, name)
                files.append([os.path.relpath(full, root), _sha256(full)])
    return {"files": files}


def _sha256(path: str) -> str | None:
    try:
        with open(path, "rb") as stream:
            return hashlib.sha256(stream.read()).hexdigest()
    except OSError:
        return None
