"""Facts of a box's hardware and system, one a poll, never one a GPU.

The agent's frames carry exactly these fields (without `host`), so a frame becomes a fact by one conversion.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from console.events.base import HostEvent
from console.values import CleanText, Unknown

GpuState = Literal["ok", "lost", "hung", "reset_required", "error", "missing"]
Throttle = Literal["power_cap", "thermal", "hw_slowdown", "sync", "idle", "other"]
DiskState = Literal["ok", "full", "read_only", "stuck", "error"]


class GpuIdentity(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """What does not change while the driver is loaded. `index` is NVML's, `uuid` is the key."""

    index: int
    uuid: CleanText
    pci_bus_id: CleanText | Unknown
    name: CleanText | Unknown
    memory_total_bytes: int | Unknown
    power_limit_w: float | Unknown


class GpuGauges(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """One reading of one GPU. Memory is NVML's v2: used + reserved + free = total."""

    uuid: CleanText
    state: GpuState
    state_reason: CleanText = CleanText("")
    memory_used_bytes: int | Unknown
    memory_reserved_bytes: int | Unknown
    memory_free_bytes: int | Unknown
    util_pct: int | Unknown
    power_w: float | Unknown
    temperature_c: int | Unknown
    sm_clock_mhz: int | Unknown
    throttle: tuple[Throttle, ...] | Unknown


class GpuProcess(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A process that holds memory of a GPU; `pid` is the host's, even inside a container."""

    pid: int
    user: CleanText | Unknown
    command: CleanText | Unknown
    memory_bytes: int | Unknown


class GpuProcesses(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """The processes on one GPU."""

    uuid: CleanText
    processes: tuple[GpuProcess, ...] | Unknown


class GpusExpected(HostEvent, frozen=True, gc=False, kw_only=True):
    """The highest GPU count that the laptop remembers of this box."""

    count: int


class GpusIdentified(HostEvent, frozen=True, gc=False, kw_only=True):
    """The GPUs that NVML lists; Unknown says why they cannot be listed at all."""

    gpus: tuple[GpuIdentity, ...] | Unknown
    driver_version: CleanText | Unknown
    cuda_version: CleanText | Unknown


class GpusSampled(HostEvent, frozen=True, gc=False, kw_only=True):
    """One second's gauges."""

    gpus: tuple[GpuGauges, ...] | Unknown


class GpuProcessesSampled(HostEvent, frozen=True, gc=False, kw_only=True):
    """Who holds the GPUs: every five seconds, or on change."""

    gpus: tuple[GpuProcesses, ...] | Unknown


class Disk(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """One file system, at one of its mounts. `available_bytes` is f_bavail, what a user may use."""

    mount: CleanText
    device: CleanText
    fstype: CleanText
    total_bytes: int | Unknown
    available_bytes: int | Unknown
    reserved_bytes: int | Unknown
    inodes_free: int | Unknown
    read_only: bool
    is_ram: bool
    state: DiskState
    state_reason: CleanText = CleanText("")


class DisksSampled(HostEvent, frozen=True, gc=False, kw_only=True):
    """The disks; Unknown says why the mounts cannot be listed."""

    disks: tuple[Disk, ...] | Unknown


class MachineIdentified(HostEvent, frozen=True, gc=False, kw_only=True):
    """What the agent's hello says of the box."""

    hostname: CleanText
    boot_id: CleanText | Unknown
    kernel: CleanText | Unknown
    os: CleanText | Unknown
    python_version: CleanText
    cpu_count: int | Unknown


class MachineSampled(HostEvent, frozen=True, gc=False, kw_only=True):
    """CPU, memory and swap of the box."""

    cpu_pct: float | Unknown
    load1: float | Unknown
    memory_total_bytes: int | Unknown
    memory_available_bytes: int | Unknown
    swap_total_bytes: int | Unknown
    swap_used_bytes: int | Unknown


class ProbeStuck(HostEvent, frozen=True, gc=False, kw_only=True):
    """A probe has not answered for `stuck_s` seconds; 0.0 says that it answers again."""

    probe: CleanText
    stuck_s: float


class ProbeFailed(HostEvent, frozen=True, gc=False, kw_only=True):
    """A probe ended with an error that it does not explain in its own fact."""

    probe: CleanText
    reason: CleanText


EVENTS = (
    GpusExpected,
    GpusIdentified,
    GpusSampled,
    GpuProcessesSampled,
    DisksSampled,
    MachineIdentified,
    MachineSampled,
    ProbeStuck,
    ProbeFailed,
)
