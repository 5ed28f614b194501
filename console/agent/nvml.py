"""The NVML library: how it is loaded, initialised, and what its errors mean.

The Python binding (one module) comes from the console over the channel, the driver's library is the box's. Calls
that hang are the business of `walk`; here every call just blocks.
"""

from __future__ import annotations

import base64
import ctypes
import os
import re
import sys
import time
import types
import zlib
from typing import Any, Iterator

from .machine import text_of
from .wire import unknown

LIBRARY_VARIABLE = "GPUDECK_NVML_LIBRARY"
UNINITIALIZED, NO_PERMISSION, LOST, RESET_REQUIRED, NOT_FOUND = 1, 4, 15, 16, 28
TIMEOUT, UNKNOWN_ERROR = 10, 999
CANNOT = {  # for good, for this GPU and call: never asked again
    2: "n/a: the driver refuses the question",
    3: "n/a: not supported by this GPU",
    4: "n/a: needs privilege (CAP_SYS_ADMIN, or NVIDIA_MIG_MONITOR_DEVICES for a container)",
    13: "n/a: this driver does not know the call",
    25: "n/a: this driver does not know the call's version",
    26: "n/a: this driver has withdrawn the call",
}
PIECE_CHARS = 16384
RETRY_INIT_S = 10.0
XID_EVENT = 0x8


def load(name: str, source: str) -> Any:
    """The binding from its compressed source, as module `name`."""
    text = zlib.decompress(base64.b64decode(source)).decode("utf-8")
    module = types.ModuleType(name)
    module.__file__ = "<gpudeck>/" + name
    sys.modules[name] = module  # the binding looks itself up there
    for piece in _pieces(text):
        exec(compile(piece, module.__file__, "exec"), module.__dict__)
    path = os.environ.get(LIBRARY_VARIABLE)
    if path:
        module.nvmlLib = ctypes.CDLL(path)  # type: ignore[attr-defined]
    return module


def _pieces(text: str) -> Iterator[str]:
    """The source cut before functions and classes: compiled as a whole it takes 12 MB more, for a moment."""
    piece: list[str] = []
    size = 0
    for line in text.splitlines(True):
        if size > PIECE_CHARS and line.startswith(("def ", "class ")) and not piece[-1].startswith("@"):
            yield "".join(piece)
            piece, size = [], 0
        piece.append(line)
        size += len(line)
    yield "".join(piece)


def code_of(error: Exception) -> int:
    """The NVML return code of an exception of the binding; other exceptions count as unknown errors."""
    value = getattr(error, "value", None)
    return value if isinstance(value, int) else UNKNOWN_ERROR


def init_sentence(error: Exception) -> str:
    """What a failed initialisation means for the person who looks at the box."""
    code = code_of(error)
    if code == 18:
        loaded = re.search(r"\b\d{3}\.\d+(?:\.\d+)?\b", text_of("/proc/driver/nvidia/version") or "")
        kernel = f" (kernel module {loaded.group()})" if loaded else ""
        return (
            f"driver/library version mismatch{kernel}: the driver was upgraded under a running kernel; "
            "running jobs keep working; reboot before the next launch"
        )
    sentences = {
        12: "no NVIDIA driver userspace here: libnvidia-ml.so.1 is missing (a container without --gpus?)",
        9: "the NVIDIA kernel module is not loaded: see `lsmod | grep nvidia` (DKMS after a kernel upgrade? nouveau?)",
        4: "no permission for the NVIDIA devices: this user or container (device cgroup) may not open them",
        999: "NVML answers Unknown Error: a container that lost its GPU access while running? restart it",
    }
    return sentences.get(code, f"NVML does not start: {error} (code {code})")


class Library:
    """One item to walk: initialise when needed, then count. `generation` grows with each initialisation."""

    def __init__(self, binding: Any) -> None:
        self.nvml = binding
        self.generation = 0
        self.count: Any = unknown("not sampled yet")
        self.driver_version: Any = unknown("not sampled yet")
        self.cuda_version: Any = unknown("not sampled yet")
        self.events: Any = unknown("not sampled yet")  # the set that the devices register with, for Xids
        self._ready = False
        self._retry_at = 0.0

    def read(self) -> None:
        """Update `count`: a number, or unknown with the sentence for the screen."""
        try:
            if not self._ready:
                self._init()
            if self._ready:
                self.count = self.nvml.nvmlDeviceGetCount()
        except Exception as error:
            if code_of(error) == UNINITIALIZED:
                self._ready = False
            else:
                self.count = unknown(f"the GPUs cannot be counted: {error}")

    def forget(self) -> None:
        """A device said that the library is not initialised: start again on the next read."""
        self._ready = False

    def _init(self) -> None:
        if time.monotonic() < self._retry_at:
            return
        try:
            self.nvml.nvmlInit()
        except Exception as error:
            self._retry_at = time.monotonic() + RETRY_INIT_S
            self.count = unknown(init_sentence(error))
            return
        self._ready = True
        self.generation += 1
        self.events = self._ask("nvmlEventSetCreate")
        self.driver_version = self._ask("nvmlSystemGetDriverVersion")
        version = self._ask("nvmlSystemGetCudaDriverVersion")
        self.cuda_version = f"{version // 1000}.{version % 1000 // 10}" if isinstance(version, int) else version

    def _ask(self, name: str) -> Any:
        try:
            value = getattr(self.nvml, name)()
        except Exception as error:
            return unknown(str(error))
        return value.decode("utf-8", "replace") if isinstance(value, bytes) else value
