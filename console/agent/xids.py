"""Xid errors: from the driver's event set, and from the kernel log, which tells some that the events leave out."""

from __future__ import annotations

import ctypes
import os
import re
import time
from typing import Any, Iterator

from .nvml import TIMEOUT, XID_EVENT, code_of
from .wire import is_unknown, unknown

KERNEL_LOG = "/dev/kmsg"
SAME_S = 10.0  # both sources tell one error within this time
MOST = 200  # of the kernel log's backlog
_LINE = re.compile(r"NVRM: Xid \(PCI:([0-9a-fA-F:.]+)\): (\d+),? ?(.*)")


class Xids:
    period_s = 1.0

    def __init__(self, agent: Any) -> None:
        self._outlet = agent.outlet
        self._gpus = agent.probes["gpus"]
        self._log: int | None = None
        self._started = False
        self._last: dict[tuple[str, int], tuple[str, float]] = {}

    def sample(self) -> None:
        if not self._gpus.settled:
            return  # the kernel's log names GPUs by their addresses
        if not self._started:
            self._started = True
            self._open_log()
        if self._log is not None:
            self._read_log(self._log)
        self._read_events()

    def _open_log(self) -> None:
        try:
            self._log = os.open(KERNEL_LOG, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:
            self._log = None  # needs privilege on most boxes; the events remain

    def _read_log(self, log: int) -> None:
        """Records since the boot, then news. A record: `level,seq,microseconds since boot,flags;text`."""
        boot = time.time() - time.monotonic()
        found = []
        for record in _records(log):
            head, _, text = record.partition(";")
            match = _LINE.match(text)
            if match:
                bus, xid, detail = match.groups()
                found.append((boot + int(head.split(",")[2]) / 1e6, bus, int(xid), detail))
        for at, bus, xid, detail in found[-MOST:]:
            self._tell("kernel", at, xid, *self._by_bus(bus), detail)

    def _by_bus(self, bus: str) -> tuple[Any, Any]:
        """(uuid, PCI bus id) of the log's `0000:01:00`."""
        wanted = bus.lower().split(".")[0]
        for device in self._gpus.devices:
            known = device.identity.get("pci_bus_id")
            if isinstance(known, str) and known.lower().split(".")[0].endswith(wanted):
                return device.uuid, known
        return unknown("no GPU is listed at this address"), bus

    def _read_events(self) -> None:
        library = self._gpus.library
        if library is None or is_unknown(library.events):
            return
        while True:
            try:
                event = library.nvml.nvmlEventSetWait(library.events, 0)
            except Exception as error:
                if code_of(error) != TIMEOUT:
                    library.events = unknown(str(error))
                return
            if event.eventType == XID_EVENT:
                uuid, bus = self._by_handle(library.nvml, event.device)
                self._tell("nvml", time.time(), int(event.eventData), uuid, bus, "")

    def _by_handle(self, nvml: Any, handle: Any) -> tuple[Any, Any]:
        """(uuid, PCI bus id). A GPU in trouble may hang when asked, so the handle itself is compared first."""
        for device in self._gpus.devices:
            if device.handle is not None and _address(device.handle) == _address(handle):
                return device.uuid, device.identity.get("pci_bus_id", unknown("the GPU does not answer"))
        try:
            uuid = nvml.nvmlDeviceGetUUID(handle)
        except Exception as error:
            return unknown(str(error)), unknown(str(error))
        uuid = uuid.decode("utf-8", "replace") if isinstance(uuid, bytes) else uuid
        found = [device.identity.get("pci_bus_id") for device in self._gpus.devices if device.uuid == uuid]
        return uuid, found[0] if found and found[0] else unknown("no such GPU is listed")

    def _tell(self, source: str, at: float, xid: int, uuid: Any, bus: Any, detail: str) -> None:
        key = (str(uuid), xid)
        before, when = self._last.get(key, (source, 0.0))
        if before != source and abs(at - when) < SAME_S:
            return
        self._last[key] = (source, at)
        self._outlet.sample(
            "XidReported",
            {
                "uuid": uuid,
                "pci_bus_id": bus,
                "xid": xid,
                "at": round(at, 3),
                "age_s": round(max(0.0, time.time() - at), 3),
                "source": source,
                "detail": detail[:300],
            },
        )


def _records(log: int) -> Iterator[str]:
    """What the kernel's log has now, line by line."""
    while True:
        try:
            data = os.read(log, 8192)
        except BlockingIOError:
            return
        except BrokenPipeError:
            continue  # the ring moved on under us
        if not data:
            return
        yield from data.decode("utf-8", "replace").splitlines()


def _address(handle: Any) -> int | None:
    try:
        return ctypes.cast(handle, ctypes.c_void_p).value
    except ctypes.ArgumentError:
        return id(handle)
