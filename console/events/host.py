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


NOT_READ = Unknown("not read")


class MigDevice(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A part of a GPU in MIG mode: a device of its own for CUDA."""

    uuid: CleanText
    name: CleanText | Unknown
    memory_total_bytes: int | Unknown
    memory_used_bytes: int | Unknown


class GpuIdentity(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """What does not change while the driver is loaded. `index` is NVML's, `uuid` is the key.

    A GPU whose handle was never got has the uuid `index:N`, unless the kernel module tells its real one.
    `unified_memory`: it has none of its own, the numbers are the machine's.
    """

    index: int
    uuid: CleanText
    pci_bus_id: CleanText | Unknown
    name: CleanText | Unknown
    memory_total_bytes: int | Unknown
    power_limit_w: float | Unknown
    power_limit_default_w: float | Unknown = NOT_READ
    temperature_slowdown_c: int | Unknown = NOT_READ
    temperature_shutdown_c: int | Unknown = NOT_READ
    sm_clock_max_mhz: int | Unknown = NOT_READ
    unified_memory: bool = False
    mig_enabled: bool | Unknown = NOT_READ
    mig_devices: tuple[MigDevice, ...] = ()


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
    memory_util_pct: int | Unknown = NOT_READ


class GpuProcess(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A process that holds memory of a GPU; `pid` is the host's, even inside a container. `job` is the job of ours
    that started it, or `exec of user@laptop`; empty when neither did."""

    pid: int
    user: CleanText | Unknown
    command: CleanText | Unknown
    memory_bytes: int | Unknown
    job: CleanText = CleanText("")


class GpuProcesses(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """The processes on one GPU."""

    uuid: CleanText
    processes: tuple[GpuProcess, ...] | Unknown


class GpuRemembered(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """Who a GPU was at an earlier visit."""

    index: int
    uuid: CleanText
    pci_bus_id: CleanText | Unknown
    name: CleanText | Unknown


class GpusExpected(HostEvent, frozen=True, gc=False, kw_only=True):
    """The highest GPU count that the laptop remembers of this box, and the GPUs of that visit."""

    count: int
    gpus: tuple[GpuRemembered, ...] = ()


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


class GpuHealth(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """What wears out or is set wrong. ECC counts since the driver was loaded, remapped rows for life.

    `recovery_action` is the driver's advice (`none` when it has none). The PCIe generation means something only
    under load, because an idle card saves power; the width always does.
    """

    uuid: CleanText
    persistence: bool | Unknown
    ecc_enabled: bool | Unknown
    ecc_corrected: int | Unknown
    ecc_uncorrected: int | Unknown
    remapped_corrected: int | Unknown
    remapped_uncorrected: int | Unknown
    remap_pending: bool | Unknown
    remap_failed: bool | Unknown
    recovery_action: CleanText | Unknown
    compute_mode: CleanText | Unknown
    pcie_gen: int | Unknown
    pcie_gen_max: int | Unknown
    pcie_width: int | Unknown
    pcie_width_max: int | Unknown
    pcie_replays: int | Unknown


class GpuHealthSampled(HostEvent, frozen=True, gc=False, kw_only=True):
    """Once a minute, or on change."""

    gpus: tuple[GpuHealth, ...] | Unknown


class GpuEnergy(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """The GPU's own energy counter: joules since the driver was loaded."""

    uuid: CleanText
    energy_j: float | Unknown


class GpuEnergySampled(HostEvent, frozen=True, gc=False, kw_only=True):
    """Every five seconds; the difference over a window is exact, a sum of power samples is not."""

    gpus: tuple[GpuEnergy, ...] | Unknown


class GpuPair(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """How two GPUs reach each other: the path (`PIX` … `SYS`), and what the driver says of peer access."""

    a: CleanText
    b: CleanText
    path: CleanText | Unknown
    nvlink: bool | Unknown
    p2p: CleanText | Unknown


class GpuTopologySampled(HostEvent, frozen=True, gc=False, kw_only=True):
    """Once, when all GPUs are known. `nvlinks` counts active links a GPU; `iommu`: off, on, passthrough."""

    pairs: tuple[GpuPair, ...] | Unknown
    nvlinks: dict[CleanText, int | Unknown]
    iommu: CleanText | Unknown


class XidReported(HostEvent, frozen=True, gc=False, kw_only=True):
    """The driver reported an error of a GPU. `at` is the box's wall clock (Unix seconds) of its occurrence.

    `age_s`: how long before this report it happened; the kernel log tells old ones.
    """

    uuid: CleanText | Unknown
    pci_bus_id: CleanText | Unknown
    xid: int
    at: float
    source: Literal["nvml", "kernel"]
    detail: CleanText = CleanText("")
    age_s: float = 0.0


class Disk(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """One file system, at one of its mounts. `available_bytes` is what this user may use: f_bavail, or less.

    `limited_by` names what makes it less (`quota`, `MemAvailable`, `memory cgroup`). `device_id` is equal for mounts
    that share their space (major:minor, or `zfs:<pool>`); `other_mounts` are the same device's other places.
    """

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
    device_id: CleanText = CleanText("")
    limited_by: CleanText = CleanText("")
    is_network: bool = False
    other_mounts: tuple[CleanText, ...] = ()


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
    GpuHealthSampled,
    GpuEnergySampled,
    GpuTopologySampled,
    XidReported,
    DisksSampled,
    MachineIdentified,
    MachineSampled,
    ProbeStuck,
    ProbeFailed,
)
