"""Adoption: what a server that somebody else started needs to come back, kept on the box alone.

The file holds the raw command line and environment, secrets included: 0600, and never sent to the laptop.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from typing import Any

from . import processes
from .calls import Call, OpError, encode
from .files import write
from .jobs import distrust
from .machine import text_of
from .masking import mask_argv
from .units import own_unit


def state_dir() -> str:
    """Where the console keeps its things on this box."""
    base = os.environ.get("XDG_STATE_HOME") or ""
    if not os.path.isabs(base):
        base = os.path.expanduser("~/.local/state")
    return os.path.join(base, "gpudeck")


def path_of(pid: int, start: int, unit: str = "", scope: str = "") -> str:
    name = f"{scope}-{unit}" if unit else f"{pid}-{start}"
    return os.path.join(state_dir(), "adopted", name + ".json")


def record_of(pid: int, start: int, unit: str = "", scope: str = "") -> dict[str, Any] | None:
    """The adoption of exactly this process of this boot, or of its unit, whose process may change; or None."""
    path = path_of(pid, start, unit, scope)
    if distrust(os.path.dirname(path)):
        return None
    try:
        record = json.loads(text_of(path) or "null")
    except ValueError:
        return None
    holds = isinstance(record, dict) and (bool(unit) or record.get("boot_id") == processes.boot_id())
    return record if holds else None


def adopt(call: Call, a: dict[str, Any]) -> dict[str, Any]:
    """Adopt the process (`pid`, `start`) for `by`. It may be stopped from now on, and brought back."""
    pid, start = int(a["pid"]), int(a["start"])
    if not processes.alive(pid, start):
        raise OpError("not_found", f"process {pid} of that start does not live any more")
    argv = processes.words_of(pid, "cmdline")
    environment = processes.words_of(pid, "environ")
    if argv is None or environment is None:
        raise OpError("permission", f"the environment of process {pid} is not readable for this user")
    unit, scope = own_unit(pid)
    record = {
        "pid": pid,
        "start": start,
        "boot_id": processes.boot_id(),
        "argv": argv,
        "env": dict(word.partition("=")[::2] for word in environment if "=" in word),
        "cwd": os.readlink(f"/proc/{pid}/cwd"),
        "unit": unit,
        "unit_scope": scope,
        "adopted_s": round(time.time(), 3),
        "by": str(a.get("by") or ""),
    }
    path = path_of(pid, start, unit, scope)
    reason = distrust(os.path.dirname(path))
    if reason:
        raise OpError("permission", reason)
    write(call, {"path": path, "data": encode(json.dumps(record).encode("ascii"))})
    return {"path": path, "argv": mask_argv(argv), "unit": unit, "unit_scope": scope}


def release(call: Call, a: dict[str, Any]) -> dict[str, Any]:
    """Forget an adoption."""
    pid, start = int(a["pid"]), int(a["start"])
    unit, scope = own_unit(pid)
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path_of(pid, start, unit, scope))
    return {}
