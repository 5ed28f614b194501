"""Memory of the demo box's invented GPUs: what this server's processes hold, for the box's NVML to tell.

`GPUDECK_DEMO_GPUS` names a directory; each server leaves `<pid>.json` there while it lives:
{"pids": [one a GPU, in the order of the visible GPUs], "visible": CUDA_VISIBLE_DEVICES, "bytes_each": n}.
"""

from __future__ import annotations

import contextlib
import json
import os

_held = 0


def total_bytes() -> int:
    """Memory of one GPU."""
    return int(os.environ.get("GPUDECK_DEMO_GPU_BYTES") or 143_771 * 2**20)


def hold(pids: list[int], more_bytes: int) -> None:
    """These processes hold that much more, each on its GPU."""
    global _held
    _held += more_bytes
    folder = os.environ.get("GPUDECK_DEMO_GPUS")
    if folder:
        path = os.path.join(folder, f"{os.getpid()}.json")
        with open(path + ".new", "w", encoding="ascii") as stream:
            json.dump({"pids": pids, "visible": os.environ.get("CUDA_VISIBLE_DEVICES"), "bytes_each": _held}, stream)
        os.replace(path + ".new", path)


def release() -> None:
    """The processes are gone."""
    folder = os.environ.get("GPUDECK_DEMO_GPUS")
    if folder:
        with contextlib.suppress(OSError):
            os.unlink(os.path.join(folder, f"{os.getpid()}.json"))
