"""Eight GPUs that do not exist, behind the interface of the NVML binding: shipped to the demo box in its place.

A single file for Python 3.8 without imports of ours, because it travels as source. What it plays is a pure function
of the time and of the JSON file that GPUDECK_DEMO_STATE names (re-read when it changes, all keys optional):

    {"now": 1000.0, "all": {…}, "gpus": {"3": {…}}}          "now" freezes the clock; a GPU's own keys win over "all"
    load (0…1), used_bytes, processes [[pid, bytes], …], lost, hung (bool), error (an NVML code for every call),
    missing (bool: not listed at all), xids [79, …] (each position is reported once)
"""

from __future__ import annotations

import json
import math
import os
import time
from typing import Any

STATE_VARIABLE = "GPUDECK_DEMO_STATE"
COUNT = 8
NAME = "NVIDIA RTX PRO 6000 Blackwell Server Edition"
MIB = 1024 * 1024
TOTAL, RESERVED = 97887 * MIB, 624 * MIB
IDLE_W, LIMIT_W = 32.0, 600.0
CLOCK_IDLE_MHZ, CLOCK_MAX_MHZ = 180, 2430

NVML_ERROR_UNINITIALIZED = 1
NVML_ERROR_INVALID_ARGUMENT = 2
NVML_ERROR_NOT_SUPPORTED = 3
NVML_ERROR_NOT_FOUND = 6
NVML_ERROR_TIMEOUT = 10
NVML_ERROR_GPU_IS_LOST = 15
NVML_ERROR_RESET_REQUIRED = 16
NVML_ERROR_UNKNOWN = 999
nvmlMemory_v2 = 0x02000028
nvmlEventTypeXidCriticalError = 8
_WORDS = {
    1: "Uninitialized",
    2: "Invalid Argument",
    3: "Not Supported",
    6: "Not Found",
    10: "Timeout",
    15: "GPU is lost",
    16: "GPU requires restart",
    999: "Unknown Error",
}


class NVMLError(Exception):
    """`value` is the NVML return code."""

    def __init__(self, value: int) -> None:
        super().__init__(_WORDS.get(value, f"NVML Error with code {value}"))
        self.value = value


class Answer:
    """A struct of the binding: attributes by name."""

    def __init__(self, **fields: Any) -> None:
        self.__dict__.update(fields)


class Handle:
    def __init__(self, index: int) -> None:
        self.index = index


class _Box:
    """The state file as it is now, and what must outlive a call."""

    def __init__(self) -> None:
        self.initialised = False
        self.xids_told = 0
        self.energy_j = [3.6e6 * (index + 2) for index in range(COUNT)]
        self.energy_at = [0.0] * COUNT
        self._read_at: Any = None
        self._state: dict[str, Any] = {}

    def state(self) -> dict[str, Any]:
        path = os.environ.get(STATE_VARIABLE)
        try:
            stamp = os.stat(path).st_mtime_ns if path else None
            if path and stamp != self._read_at:
                with open(path, encoding="utf-8") as stream:
                    self._state = json.load(stream)
                self._read_at = stamp
        except (OSError, ValueError):
            pass  # being written; the last one holds
        return self._state

    def now(self) -> float:
        return float(self.state().get("now", time.time()))

    def of(self, index: int, key: str, default: Any = None) -> Any:
        state = self.state()
        own = state.get("gpus", {}).get(str(index), {})
        return own.get(key, state.get("all", {}).get(key, default))


_box = _Box()
_handles = [Handle(index) for index in range(COUNT)]


def _listed() -> list[int]:
    return [index for index in range(COUNT) if not _box.of(index, "missing")]


def _enter(handle: Handle) -> int:
    """The GPU's number, or the error that it plays."""
    if not _box.initialised:
        raise NVMLError(NVML_ERROR_UNINITIALIZED)
    index = handle.index
    if _box.of(index, "hung"):
        while _box.of(index, "hung"):
            time.sleep(0.05)
        raise NVMLError(NVML_ERROR_TIMEOUT)
    if _box.of(index, "lost"):
        raise NVMLError(NVML_ERROR_GPU_IS_LOST)
    if _box.of(index, "error"):
        raise NVMLError(int(_box.of(index, "error")))
    return index


def _wave(index: int, period_s: float) -> float:
    """0…1, a different phase for each GPU."""
    return 0.5 + 0.5 * math.sin(_box.now() / period_s * 2 * math.pi + index * 1.7)


def _load(index: int) -> float:
    """What the GPU does, 0…1: the state's load, breathing a little."""
    load = float(_box.of(index, "load", 0.0))
    return load * (0.9 + 0.1 * _wave(index, 11.0))


def _watts(index: int) -> float:
    load = _load(index)
    return min(
        LIMIT_W, IDLE_W + (LIMIT_W - IDLE_W) * load * (0.93 + 0.12 * _wave(index, 7.0)) + 2.0 * _wave(index, 5.0)
    )


def nvmlInit() -> None:
    _box.initialised = True


def nvmlShutdown() -> None:
    _box.initialised = False


def nvmlSystemGetDriverVersion() -> str:
    return "580.95.05"


def nvmlSystemGetCudaDriverVersion() -> int:
    return 13000


def nvmlDeviceGetCount() -> int:
    return len(_listed())


def nvmlDeviceGetHandleByIndex(index: int) -> Handle:
    listed = _listed()
    if not 0 <= index < len(listed):
        raise NVMLError(NVML_ERROR_INVALID_ARGUMENT)
    _enter(_handles[listed[index]])
    return _handles[listed[index]]


def nvmlDeviceGetName(handle: Handle) -> str:
    _enter(handle)
    return NAME


def nvmlDeviceGetUUID(handle: Handle) -> str:
    index = _enter(handle)
    return f"GPU-{0x6000B1AC + index:08x}-de30-4b6c-9d1f-0000000000{index:02x}"


def nvmlDeviceGetPciInfo(handle: Handle) -> Answer:
    return Answer(busId=f"00000000:{0x11 + 0x10 * _enter(handle):02X}:00.0")


def nvmlDeviceGetMemoryInfo(handle: Handle, version: int | None = None) -> Answer:
    index = _enter(handle)
    held = sum(size for _, size in nvmlProcesses(index))
    used = int(_box.of(index, "used_bytes", held))
    free = TOTAL - RESERVED - used
    if version:
        return Answer(total=TOTAL, reserved=RESERVED, used=used, free=free)
    return Answer(total=TOTAL, used=used + RESERVED, free=free)


def nvmlProcesses(index: int) -> list[tuple[int, int]]:
    """(pid, bytes) on one GPU; by default a notebook of whoever started the box holds a little of GPU 0."""
    default = [[os.getppid(), 412 * MIB]] if index == 0 else []
    return [(int(pid), int(size)) for pid, size in _box.of(index, "processes", default)]


def nvmlDeviceGetComputeRunningProcesses(handle: Handle) -> list[Answer]:
    return [Answer(pid=pid, usedGpuMemory=size) for pid, size in nvmlProcesses(_enter(handle))]


def nvmlDeviceGetGraphicsRunningProcesses(handle: Handle) -> list[Answer]:
    _enter(handle)
    return []


def nvmlDeviceGetUtilizationRates(handle: Handle) -> Answer:
    load = _load(_enter(handle))
    return Answer(gpu=min(100, round(100 * load)), memory=round(62 * load))


def nvmlDeviceGetPowerUsage(handle: Handle) -> int:
    return int(1000 * _watts(_enter(handle)))


def nvmlDeviceGetEnforcedPowerLimit(handle: Handle) -> int:
    _enter(handle)
    return int(1000 * LIMIT_W)


nvmlDeviceGetPowerManagementDefaultLimit = nvmlDeviceGetEnforcedPowerLimit


def nvmlDeviceGetTotalEnergyConsumption(handle: Handle) -> int:
    """Millijoules; the power since the last question counts for the whole time in between."""
    index = _enter(handle)
    now = _box.now()
    since = _box.energy_at[index] or now
    _box.energy_j[index] += max(0.0, now - since) * _watts(index)
    _box.energy_at[index] = now
    return int(1000 * _box.energy_j[index])


def nvmlDeviceGetTemperature(handle: Handle, sensor: int) -> int:
    index = _enter(handle)
    return round(29 + index % 4 + 42 * _load(index) + 2 * _wave(index, 60.0))


def nvmlDeviceGetTemperatureThreshold(handle: Handle, kind: int) -> int:
    _enter(handle)
    return (95, 92)[kind]


def nvmlDeviceGetClockInfo(handle: Handle, kind: int) -> int:
    index = _enter(handle)
    if _load(index) < 0.01:
        return CLOCK_IDLE_MHZ
    return 15 * round((CLOCK_MAX_MHZ - 420 * _load(index) * _wave(index, 9.0)) / 15)


def nvmlDeviceGetMaxClockInfo(handle: Handle, kind: int) -> int:
    _enter(handle)
    return CLOCK_MAX_MHZ


def nvmlDeviceGetCurrentClocksEventReasons(handle: Handle) -> int:
    index = _enter(handle)
    if _load(index) < 0.01:
        return 0x1
    return 0x4 if _watts(index) > 0.97 * LIMIT_W else 0x0


def nvmlDeviceGetMigMode(handle: Handle) -> list[int]:
    _enter(handle)
    return [0, 0]


def nvmlDeviceGetRemappedRows(handle: Handle) -> tuple[int, int, int, int]:
    _enter(handle)
    return (0, 0, 0, 0)


def nvmlDeviceGetEccMode(handle: Handle) -> list[int]:
    _enter(handle)
    return [1, 1]


def nvmlDeviceGetTotalEccErrors(handle: Handle, kind: int, counter: int) -> int:
    _enter(handle)
    return 0


def nvmlDeviceGetPersistenceMode(handle: Handle) -> int:
    _enter(handle)
    return 1


def nvmlDeviceGetComputeMode(handle: Handle) -> int:
    _enter(handle)
    return 0


def nvmlDeviceGetFieldValues(handle: Handle, fields: list[int]) -> list[Answer]:
    _enter(handle)
    return [Answer(nvmlReturn=NVML_ERROR_NOT_SUPPORTED, value=None) for _ in fields]


def nvmlDeviceGetCurrPcieLinkGeneration(handle: Handle) -> int:
    """An idle card saves power on its link."""
    return 5 if _load(_enter(handle)) > 0.01 else 1


def nvmlDeviceGetMaxPcieLinkGeneration(handle: Handle) -> int:
    _enter(handle)
    return 5


def nvmlDeviceGetCurrPcieLinkWidth(handle: Handle) -> int:
    _enter(handle)
    return 16


nvmlDeviceGetMaxPcieLinkWidth = nvmlDeviceGetCurrPcieLinkWidth


def nvmlDeviceGetPcieReplayCounter(handle: Handle) -> int:
    _enter(handle)
    return 0


def nvmlDeviceGetTopologyCommonAncestor(a: Handle, b: Handle) -> int:
    """NODE inside one half of the box, SYS across the sockets."""
    return 40 if _enter(a) // 4 == _enter(b) // 4 else 50


def nvmlDeviceGetP2PStatus(a: Handle, b: Handle, kind: int) -> int:
    """Peer access works over PCIe; there is no NVLink."""
    _enter(a)
    _enter(b)
    return 5 if kind == 2 else 0


def nvmlDeviceGetNvLinkState(handle: Handle, link: int) -> int:
    _enter(handle)
    raise NVMLError(NVML_ERROR_NOT_SUPPORTED)


def nvmlEventSetCreate() -> Answer:
    return Answer()


def nvmlDeviceRegisterEvents(handle: Handle, types: int, events: Answer) -> None:
    _enter(handle)


def nvmlEventSetWait(events: Answer, timeout_ms: int) -> Answer:
    """The next Xid of the state that was not told yet."""
    xids = [(index, xid) for index in range(COUNT) for xid in _box.of(index, "xids", [])]
    if _box.xids_told >= len(xids):
        time.sleep(timeout_ms / 1000.0)
        raise NVMLError(NVML_ERROR_TIMEOUT)
    index, xid = xids[_box.xids_told]
    _box.xids_told += 1
    return Answer(device=_handles[index], eventType=nvmlEventTypeXidCriticalError, eventData=xid)
