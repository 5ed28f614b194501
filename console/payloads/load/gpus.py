"""GPU power and throttle reasons on the worker's own clock, through the box's or the shipped `pynvml`."""

from __future__ import annotations

import ctypes
import os
import threading
from time import monotonic
from typing import Any

PERIOD_S = 1.0
IDLE, APPLICATION_CLOCKS, POWER_CAP, HW_SLOWDOWN = 0x1, 0x2, 0x4, 0x8
SYNC, SW_THERMAL, HW_THERMAL, POWER_BRAKE = 0x10, 0x20, 0x40, 0x80
NAMES = (
    (IDLE, "idle"),
    (POWER_CAP, "power_cap"),
    (HW_SLOWDOWN | POWER_BRAKE, "hw_slowdown"),
    (SYNC, "sync"),
    (SW_THERMAL | HW_THERMAL, "thermal"),
)
KNOWN = 0x1FF  # application clocks and display clocks are settings, no throttling


def reasons(bits: int) -> list[str]:
    """The names of the contracts for NVML's clock event bits."""
    named = [name for mask, name in NAMES if bits & mask]
    return named + (["other"] if bits & ~KNOWN else [])


class Sampler:
    """One thread, one sample a second: `(t, [watts or None], {reasons})` for the GPUs with these UUIDs."""

    def __init__(self, uuids: list[str]) -> None:
        self.uuids = uuids
        self.error = "" if uuids else "the GPUs of the server are not known"
        self._samples: list[tuple[float, list[float | None], list[str]]] = []
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        if self.uuids:
            self._thread.start()

    def stop(self) -> None:
        self._stop.set()

    def between(self, a: float, b: float) -> list[tuple[float, list[float | None], list[str]]]:
        """The samples of the window and one more on each side."""
        samples = list(self._samples)
        inside = [i for i, sample in enumerate(samples) if a <= sample[0] <= b]
        return samples[max(0, inside[0] - 1) : inside[-1] + 2] if inside else []

    def reaches(self, t: float) -> bool:
        """A sample behind `t` is there, or none will come."""
        return not self.uuids or bool(self.error) or (bool(self._samples) and self._samples[-1][0] >= t)

    def last(self) -> list[float | None]:
        return self._samples[-1][1] if self._samples else []

    def _run(self) -> None:
        try:
            nvml = load()
            handles = [nvml.nvmlDeviceGetHandleByUUID(uuid) for uuid in self.uuids]
        except Exception as error:
            self.error = f"NVML: {error}"
            return
        while not self._stop.is_set():
            watts = [quiet(lambda h=handle: nvml.nvmlDeviceGetPowerUsage(h) / 1000) for handle in handles]
            bits = [quiet(lambda h=handle: nvml.nvmlDeviceGetCurrentClocksThrottleReasons(h)) for handle in handles]
            names = sorted({name for value in bits if value is not None for name in reasons(int(value))})
            self._samples.append((monotonic(), watts, names))
            self._stop.wait(PERIOD_S)


def load() -> Any:
    import pynvml  # type: ignore[import-untyped, unused-ignore]

    path = os.environ.get("GPUDECK_NVML_LIBRARY")
    if path:
        pynvml.nvmlLib = ctypes.CDLL(path)
    pynvml.nvmlInit()
    return pynvml


def quiet(call: Any) -> Any:
    """A call that a GPU refuses is a missing value, never the end of the sampler."""
    try:
        return call()
    except Exception:
        return None
