"""The file system under a path, asked in a child with a deadline: statvfs on a dead network mount never returns."""

from __future__ import annotations

import os
import re
from typing import Any

from . import quota
from .child import answered

DEADLINE_S = 2.0
_OCTAL = re.compile(r"\\([0-7]{3})")
_POOLED = ("btrfs", "zfs")


def facts(path: str) -> dict[str, Any]:
    """Space and state of the device that a path is, or would be, on. Bytes; None is not known.

    `quota_free_bytes` is None without a quota. `available_bytes` is `f_bavail`, for RAM file systems bounded by what
    the memory and the control group still give; `inodes_free` is None where the file system does not count them.
    """
    found: dict[str, Any] | None
    found, problem = answered(lambda: _look(path), DEADLINE_S)
    if found is None:
        mount = _mount_of(os.path.abspath(os.path.expanduser(path)), None)
        return {"path": path, "problem": problem, "available_bytes": None, "read_only": False, **mount}
    mount = _mount_of(found["anchor"], found["st_dev"])
    found.update(mount)
    found.update({"path": path, "problem": "", "quota_free_bytes": None})
    if mount["source"]:
        found["quota_free_bytes"], _ = answered(lambda: quota.free_bytes(mount["source"]), DEADLINE_S)
    if mount["is_ram"]:
        limits = [found["available_bytes"], _memory_available(), _group_available()]
        found["available_bytes"] = min(limit for limit in limits if limit is not None)
    return found


def _look(path: str) -> dict[str, Any]:
    full = os.path.realpath(os.path.expanduser(path))
    anchor = full
    while not os.path.lexists(anchor):
        anchor = os.path.dirname(anchor)
    found, stat = os.statvfs(anchor), os.stat(anchor)
    return {
        **space(found.f_frsize, found.f_blocks, found.f_bfree, found.f_bavail),
        "full": full,
        "anchor": anchor,
        "exists": anchor == full,
        "is_dir": os.path.isdir(anchor),
        "writable": os.access(anchor, os.W_OK | os.X_OK),
        "st_dev": f"{os.major(stat.st_dev)}:{os.minor(stat.st_dev)}",
        "inodes_free": found.f_favail if found.f_files else None,
        "read_only": bool(found.f_flag & os.ST_RDONLY),
    }


def space(fragment: int, blocks: int, free: int, available: int) -> dict[str, int]:
    """Bytes of a file system from the counts of statvfs; what root keeps for itself is not available."""
    return {
        "total_bytes": blocks * fragment,
        "available_bytes": available * fragment,
        "reserved_bytes": (free - available) * fragment,
    }


def mounts(text: str) -> list[dict[str, str]]:
    """The lines of a mountinfo; a later mount over the same path wins by standing later."""
    found = []
    for line in text.splitlines():
        left, separator, right = line.partition(" - ")
        fields, kinds = left.split(" "), right.split(" ")
        if not separator or len(fields) < 5 or len(kinds) < 2:
            continue
        mount = _OCTAL.sub(lambda match: chr(int(match.group(1), 8)), fields[4])
        found.append({"mount": mount, "device": fields[2], "fstype": kinds[0], "source": kinds[1]})
    return found


def _mount_of(path: str, device: str | None) -> dict[str, Any]:
    """Mount point, type and the key under which paths that share space are summed."""
    with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as file:
        every = mounts(file.read())
    above = [item for item in every if item["mount"] == "/" or (path + "/").startswith(item["mount"] + "/")]
    best = max(above, key=lambda item: len(item["mount"]), default=None)
    if best is None:
        return {"mount": "/", "fstype": "", "device": device or "", "source": "", "is_ram": False}
    best = [item for item in above if item["mount"] == best["mount"]][-1]
    key = device or best["device"]
    if best["fstype"] in _POOLED:
        pool = best["source"].split("/")[0] if best["fstype"] == "zfs" else best["source"]
        key = f"{best['fstype']}:{pool}"
    return {
        "mount": best["mount"],
        "fstype": best["fstype"],
        "device": key,
        "source": best["source"],
        "is_ram": best["fstype"] in ("tmpfs", "ramfs"),
    }


def _memory_available() -> int | None:
    with open("/proc/meminfo", encoding="ascii") as file:
        for line in file:
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    return None


def _group_available() -> int | None:
    """What the control group's limit leaves; None without a limit."""
    try:
        with open("/sys/fs/cgroup/memory.max", encoding="ascii") as file:
            limit = file.read().strip()
        with open("/sys/fs/cgroup/memory.current", encoding="ascii") as file:
            return None if limit == "max" else max(0, int(limit) - int(file.read()))
    except (OSError, ValueError):
        return None
