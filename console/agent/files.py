"""Requests on files. Paths are absolute or start with `~`; nothing else is expanded."""

from __future__ import annotations

import os
import stat as modes
import tempfile
from typing import Any

from .calls import Call, OpError, decode, encode

READ_BYTES = 180_000  # base64 of it fits one frame


def absolute(text: str) -> str:
    path = os.path.expanduser(text)
    if not os.path.isabs(path) or "\0" in path:
        raise OpError("bad_request", f"not an absolute path: {text!r}")
    return path


def kind(mode: int) -> str:
    if modes.S_ISREG(mode):
        return "file"
    if modes.S_ISDIR(mode):
        return "dir"
    return "link" if modes.S_ISLNK(mode) else "other"


def _entry(status: os.stat_result) -> dict[str, Any]:
    return {
        "kind": kind(status.st_mode),
        "size": status.st_size,
        "mtime": round(status.st_mtime, 6),
        "inode": status.st_ino,
        "mode": status.st_mode & 0o7777,
        "uid": status.st_uid,
        "device": f"{os.major(status.st_dev)}:{os.minor(status.st_dev)}",
        "allocated_bytes": status.st_blocks * 512,
    }


def _open_regular(path: str) -> int:
    """Open for reading; never blocks on a pipe or a device."""
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    if not modes.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise OpError("bad_request", f"not a regular file: {path}")
    return fd


def read(call: Call, a: dict[str, Any]) -> dict[str, Any]:
    """At most 180,000 bytes from `offset`; `size` tells how much there is."""
    fd = _open_regular(absolute(a["path"]))
    try:
        status = os.fstat(fd)
        wanted = min(a.get("max_bytes") or READ_BYTES, READ_BYTES)
        data = os.pread(fd, wanted, a.get("offset") or 0)
    finally:
        os.close(fd)
    return {"data": encode(data), "size": status.st_size, "mtime": status.st_mtime, "inode": status.st_ino}


def write(call: Call, a: dict[str, Any]) -> dict[str, Any]:
    """Write the whole file or nothing: temporary file, fsync, rename. Missing parents are made with mode 0700."""
    path = absolute(a["path"])
    parent = os.path.dirname(path)
    _make_parents(parent)
    fd, temporary = tempfile.mkstemp(prefix=f".{os.path.basename(path)[:100]}.", dir=parent)
    try:
        with os.fdopen(fd, "wb") as stream:
            os.fchmod(stream.fileno(), a.get("mode", 0o600))
            stream.write(decode(a.get("data")))
            stream.flush()
            os.fsync(stream.fileno())
        if a.get("exclusive"):
            os.link(temporary, path)
            os.unlink(temporary)
        else:
            os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
    return {}


def _make_parents(path: str) -> None:
    if not os.path.isdir(path):
        _make_parents(os.path.dirname(path))
        try:
            os.mkdir(path, 0o700)
        except FileExistsError:
            if not os.path.isdir(path):
                raise OpError("not_a_directory", f"not a directory: {path}") from None


def stat(call: Call, a: dict[str, Any]) -> dict[str, Any]:
    """One entry a path, following links; null for one that does not exist. `path` is where it really lies."""
    return {"entries": [_stat(absolute(path)) for path in a["paths"]]}


def _stat(path: str) -> dict[str, Any] | None:
    try:
        return dict(_entry(os.stat(path)), path=os.path.realpath(path))
    except (FileNotFoundError, NotADirectoryError):
        return None


def list_directory(call: Call, a: dict[str, Any]) -> dict[str, Any]:
    """The entries of a directory, links not followed. Names that are no UTF-8 carry surrogates."""
    entries = []
    with os.scandir(absolute(a["path"])) as scan:
        for item in scan:
            try:
                entries.append(dict(_entry(item.stat(follow_symlinks=False)), name=item.name))
            except FileNotFoundError:
                continue
    return {"entries": sorted(entries, key=lambda entry: str(entry["name"]))}


def remove(call: Call, a: dict[str, Any]) -> dict[str, Any]:
    """Remove one file, link or empty directory; never a tree."""
    path = absolute(a["path"])
    if os.path.isdir(path) and not os.path.islink(path):
        os.rmdir(path)
    else:
        os.unlink(path)
    return {}
