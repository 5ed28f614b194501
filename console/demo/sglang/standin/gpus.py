"""Memory and load of the demo box's invented GPUs, told in the state file that its NVML plays from.

`GPUDECK_DEMO_STATE` names the file; each scheduler holds its share of one GPU. Without the file nothing is told.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
from collections.abc import Callable
from typing import Any

MIB = 2**20
TOTAL_BYTES = 97_887 * MIB
_PATH = os.environ.get("GPUDECK_DEMO_STATE") or ""
_held = 0


def hold(pids: list[int], more_bytes: int) -> None:
    """Each of these processes holds that much more of its GPU."""
    global _held
    _held += more_bytes

    def change(gpu: dict[str, Any], pid: int) -> None:
        others = [row for row in gpu.get("processes", []) if row[0] != pid]
        gpu["processes"] = [*others, [pid, _held]]
        gpu["used_bytes"] = sum(row[1] for row in gpu["processes"])

    _change(pids, change)


def load(pids: list[int], share: float) -> None:
    """How busy their GPUs are, 0…1."""
    _change(pids, lambda gpu, _: gpu.update(load=share))


def release(pids: list[int]) -> None:
    """The processes are gone."""

    def change(gpu: dict[str, Any], pid: int) -> None:
        gpu["processes"] = [row for row in gpu.get("processes", []) if row[0] != pid]
        gpu["used_bytes"] = sum(row[1] for row in gpu["processes"])
        gpu["load"] = 0.0

    _change(pids, change)


def _change(pids: list[int], change: Callable[[dict[str, Any], int], None]) -> None:
    """Read, change, replace; one server at a time."""
    if not _PATH:
        return
    with contextlib.suppress(OSError), open(_PATH + ".lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            with open(_PATH, encoding="utf-8") as stream:
                state = json.load(stream)
        except (OSError, ValueError):
            state = {}
        for index, pid in zip(_visible(len(pids)), pids, strict=False):
            change(state.setdefault("gpus", {}).setdefault(str(index), {}), pid)
        with open(_PATH + ".new", "w", encoding="utf-8") as stream:
            json.dump(state, stream)
        os.replace(_PATH + ".new", _PATH)


def _visible(count: int) -> list[int]:
    """Indices of the GPUs that this server may use; the demo's UUIDs end in their index."""
    names = [name for name in (os.environ.get("CUDA_VISIBLE_DEVICES") or "").split(",") if name]
    if not names:
        return list(range(count))
    return [int(name.rpartition("-")[2], 16) if name.startswith("GPU-") else int(name) for name in names]
