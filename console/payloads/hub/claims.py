"""What running downloads of this user still want: the rest of each, by its target, from its job's own progress."""

from __future__ import annotations

import json
import os
from typing import Any

from . import disk

TAIL_BYTES = 65536


def read() -> list[dict[str, Any]]:
    """`[{"job", "path", "device", "remaining_bytes"}]`; None where a job has not told its size yet."""
    state = os.environ.get("XDG_STATE_HOME", "")
    base = state if os.path.isabs(state) else os.path.join(os.path.expanduser("~"), ".local", "state")
    root = os.path.join(base, "gpudeck", "jobs")
    found = []
    for name in sorted(os.listdir(root)) if os.path.isdir(root) else []:
        folder = os.path.join(root, name)
        job = _json(os.path.join(folder, "job.json"))
        if job and job.get("kind") == "download" and _alive(job):
            path = str((job.get("meta") or {}).get("path") or job.get("key"))
            rest = _remaining(os.path.join(folder, "progress.ndjson"))
            found.append({"job": name, "path": path, "device": disk.facts(path)["device"], "remaining_bytes": rest})
    return found


def _json(path: str) -> Any:
    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    except (OSError, ValueError):
        return None


def _alive(job: dict[str, Any]) -> bool:
    """Whether exactly its main process lives, in this boot: a zombie that nobody reaps writes nothing any more."""
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            if file.read().strip() != job["boot_id"]:
                return False
        with open(f"/proc/{job['pid']}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
        return fields[0] not in (b"Z", b"X") and int(fields[19]) == job["start_ticks"]
    except (OSError, ValueError, KeyError, IndexError):
        return False


def _remaining(path: str) -> int | None:
    """From the last line that tells both numbers."""
    try:
        with open(path, "rb") as file:
            file.seek(max(0, os.path.getsize(path) - TAIL_BYTES))
            lines = file.read().split(b"\n")
    except OSError:
        return None
    for line in reversed(lines):
        try:
            told = json.loads(line)
            if told["phase"] == "downloading":
                return max(0, int(told["total_bytes"]) - int(told["present_bytes"]))
        except (ValueError, KeyError, TypeError):
            continue
    return None
