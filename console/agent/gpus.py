"""The GPUs of this box, each second: identity on change, gauges always, processes and health on change.

This thread never calls NVML itself: the library and the devices are walked (see `walk`), so a call that hangs makes
one GPU `hung`, or the whole list unknown with the reason, and never stops the rest.
"""

from __future__ import annotations

import os
import time
from typing import Any

from .device import Device, silent
from .machine import text_of
from .nvml import Library, load
from .walk import Walk
from .wire import is_unknown, unknown

DEADLINE_S = 1.5
COUNT_S = 5.0
KERNEL_GPUS = "/proc/driver/nvidia/gpus"
REPEAT_S = {"GpuProcessesSampled": 30.0, "GpuHealthSampled": 60.0, "GpuEnergySampled": 5.0}


class Gpus:
    period_s = 1.0

    def __init__(self, agent: Any) -> None:
        self._outlet = agent.outlet
        self.library: Library | None = None
        self.devices: list[Device] = []
        self._library_walk = Walk("nvml", DEADLINE_S)
        self._walk = Walk("gpu", DEADLINE_S)
        self._enumerated = (0, 0)
        self._count_at = 0.0
        self._seen: dict[str, None] = {}  # the UUIDs that this agent has met, in their order
        self.settled = False  # whether it is known which GPUs there are
        self._sent: dict[str, tuple[float, Any]] = {}

    def load(self, module: str, source: str) -> None:
        """Take the binding that the console sent; once."""
        if self.library is None:
            self.library = Library(load(module, source))

    def refresh(self) -> None:
        """Count again, and read the slow tiers with the next sample."""
        self._count_at = 0.0
        for device in self.devices:
            device.hurry()

    def sample(self) -> None:
        if self.library is None:
            return
        trouble = self._enumerate(self.library)
        if trouble is not None:
            self._identities(trouble)
            self._outlet.sample("GpusSampled", {"gpus": trouble})
            self.settled = True
            return
        self._walk.round(self.devices)
        gauges = [self._gauges(device) for device in self.devices]
        self._identities([_identity(device) for device in self.devices])
        self._outlet.sample("GpusSampled", {"gpus": gauges + self._missing()})
        self._slow()
        self.settled = self.able() is not None

    def able(self) -> list[Device] | None:
        """The GPUs that other threads may ask safely; None until each has answered once, or hangs."""
        stuck = [device for device in self.devices if self._walk.stuck_s(device) is not None]
        if not all(device.gauges or device in stuck for device in self.devices):
            return None
        return [device for device in self.devices if device.handle is not None and device not in stuck]

    def _enumerate(self, library: Library) -> Any:
        """Count, and make new devices when the count changed; why nothing can be listed, or None."""
        now = time.monotonic()
        if now >= self._count_at or is_unknown(library.count):
            self._count_at = now + COUNT_S
            self._library_walk.round([library])
        stuck_s = self._library_walk.stuck_s(library)
        if stuck_s is not None and not self.devices:
            return unknown(f"NVML has not answered for {stuck_s:.0f} s")
        if is_unknown(library.count):
            return None if self.devices else library.count
        now_listed = (library.generation, library.count)
        if now_listed != self._enumerated:
            self._enumerated = now_listed
            self.devices = [Device(library, index) for index in range(library.count)]
            _hint(self.devices)
        return None

    def _gauges(self, device: Device) -> dict[str, Any]:
        stuck_s = self._walk.stuck_s(device)
        if stuck_s is not None:
            return silent(device.uuid, "hung", f"no answer for {stuck_s:.0f} s")
        return device.gauges or silent(device.uuid, "error", "not sampled yet")

    def _missing(self) -> list[dict[str, Any]]:
        """Gauges of GPUs that were here and that the driver lists no more."""
        if any(device.uuid.startswith("index:") for device in self.devices):
            return []  # it may be the one that has no name
        present = {device.uuid for device in self.devices}
        gone = [uuid for uuid in self._seen if uuid not in present]
        return [silent(uuid, "missing", "the driver lists it no more") for uuid in gone]

    def _identities(self, gpus: Any) -> None:
        if not is_unknown(gpus):
            self._seen.update((gpu["uuid"], None) for gpu in gpus if not gpu["uuid"].startswith("index:"))
        library = self.library
        assert library is not None
        self._on_change(
            "GpusIdentified",
            {"gpus": gpus, "driver_version": library.driver_version, "cuda_version": library.cuda_version},
        )

    def _slow(self) -> None:
        awake = [device for device in self.devices if self._walk.stuck_s(device) is None]
        listed = [{"uuid": d.uuid, "processes": _of(d, d.processes.value)} for d in self.devices]
        self._on_change("GpuProcessesSampled", {"gpus": listed})
        well = [d for d in awake if d.health.value is not None and d.pcie.value is not None]
        self._on_change("GpuHealthSampled", {"gpus": [dict(d.health.value, uuid=d.uuid, **d.pcie.value) for d in well]})
        if time.monotonic() - self._sent.get("GpuEnergySampled", (-1e9, None))[0] >= REPEAT_S["GpuEnergySampled"]:
            spent = [{"uuid": d.uuid, "energy_j": d.energy.value} for d in awake if d.energy.value is not None]
            self._send("GpuEnergySampled", {"gpus": spent})

    def _on_change(self, kind: str, data: dict[str, Any]) -> None:
        """Send what is new, and what has not been sent for long."""
        at, before = self._sent.get(kind, (-1e9, None))
        if data != before or time.monotonic() - at >= REPEAT_S.get(kind, float("inf")):
            self._send(kind, data)

    def _send(self, kind: str, data: dict[str, Any]) -> None:
        self._sent[kind] = (time.monotonic(), data)
        self._outlet.sample(kind, data)


def _of(device: Device, processes: Any) -> Any:
    state = device.gauges.get("state")
    if processes is None or (state is not None and state not in ("ok", "error")):
        return unknown(state or "not sampled yet")
    return processes


def _identity(device: Device) -> dict[str, Any]:
    """Who the GPU is, as far as it told."""
    if "memory_total_bytes" in device.identity:
        return device.identity
    nothing = unknown("the GPU does not answer")
    names = ("pci_bus_id", "name", "memory_total_bytes", "power_limit_w")
    told = dict(dict.fromkeys(names, nothing), index=device.index, uuid=device.uuid)
    return dict(told, **device.identity)


def _hint(devices: list[Device]) -> None:
    """Names from the kernel module, for GPUs whose handle is never got. Both lists are in PCI order."""
    try:
        buses = sorted(os.listdir(KERNEL_GPUS))
    except OSError:
        return
    if len(buses) != len(devices):
        return
    for device, bus in zip(devices, buses):
        lines = (text_of(f"{KERNEL_GPUS}/{bus}/information") or "").splitlines()
        told = {name.strip(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        uuid = told.get("GPU UUID", "?")
        if "?" not in uuid:  # question marks until the GPU was initialised once
            device.uuid = uuid
            device.identity = {"name": told.get("Model", ""), "pci_bus_id": "0000" + bus}
