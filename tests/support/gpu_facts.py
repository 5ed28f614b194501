"""Facts about GPUs with sensible fields, and the state that they fold to."""

from __future__ import annotations

from typing import Any

import msgspec

from console.events import HostEvent, Stamped
from console.events.host import (
    GpuGauges,
    GpuHealth,
    GpuHealthSampled,
    GpuIdentity,
    GpuPair,
    GpuProcess,
    GpuProcesses,
    GpuProcessesSampled,
    GpusIdentified,
    GpusSampled,
    GpuTopologySampled,
)
from console.state import State, reduce
from console.state.host import Gpu, Hardware
from console.values import CleanText, Unknown, known

GIB = 1 << 30


def name_of(index: int) -> CleanText:
    return CleanText(f"GPU-{index}")


def identity(index: int, **fields: Any) -> GpuIdentity:
    base = GpuIdentity(
        index=index, uuid=name_of(index), pci_bus_id=CleanText(f"00000000:0{index}:00.0"), name=CleanText("H200"),
        memory_total_bytes=100 * GIB, power_limit_w=700.0, power_limit_default_w=700.0, temperature_slowdown_c=92,
        mig_enabled=False,
    )  # fmt: skip
    return msgspec.structs.replace(base, **fields)


def gauges(index: int, **fields: Any) -> GpuGauges:
    base = GpuGauges(
        uuid=name_of(index), state="ok", memory_used_bytes=0, memory_reserved_bytes=GIB, memory_free_bytes=99 * GIB,
        util_pct=0, memory_util_pct=0, power_w=80.0, temperature_c=40, sm_clock_mhz=345, throttle=("idle",),
    )  # fmt: skip
    return msgspec.structs.replace(base, **fields)


def health(index: int, **fields: Any) -> GpuHealth:
    base = GpuHealth(
        uuid=name_of(index), persistence=True, ecc_enabled=True, ecc_corrected=0, ecc_uncorrected=0,
        remapped_corrected=0, remapped_uncorrected=0, remap_pending=False, remap_failed=False,
        recovery_action=CleanText("none"), compute_mode=CleanText("default"), pcie_gen=5, pcie_gen_max=5,
        pcie_width=16, pcie_width_max=16, pcie_replays=0,
    )  # fmt: skip
    return msgspec.structs.replace(base, **fields)


def identified(*gpus: GpuIdentity) -> GpusIdentified:
    return GpusIdentified(host="box", gpus=gpus, driver_version=CleanText("580"), cuda_version=CleanText("13.0"))


def sampled(*gpus: GpuGauges) -> GpusSampled:
    return GpusSampled(host="box", gpus=gpus)


def healthy(*gpus: GpuHealth) -> GpuHealthSampled:
    return GpuHealthSampled(host="box", gpus=gpus)


def held(index: int, *sizes: int | Unknown) -> GpuProcessesSampled:
    processes = tuple(
        GpuProcess(pid=number, user=CleanText("u"), command=CleanText("c"), memory_bytes=size)
        for number, size in enumerate(sizes, 100)
    )
    return GpuProcessesSampled(host="box", gpus=(GpuProcesses(uuid=name_of(index), processes=processes),))


def topology(count: int, **fields: Any) -> GpuTopologySampled:
    nvlink, path, p2p = fields.get("nvlink", True), fields.get("path", "SYS"), fields.get("p2p", "ok")
    pairs = tuple(
        GpuPair(a=name_of(a), b=name_of(b), path=path, nvlink=nvlink, p2p=p2p)
        for a in range(count)
        for b in range(a + 1, count)
    )
    return GpuTopologySampled(host="box", pairs=pairs, nvlinks={}, iommu=fields.get("iommu", CleanText("off")))


def folded(*events: tuple[float, HostEvent]) -> Hardware:
    state = State()
    for number, (t, event) in enumerate(events, 1):
        reduce(state, Stamped(number, t, event))
    return state.hosts["box"].hardware


def gpu_of(hardware: Hardware, index: int = 0) -> Gpu:
    assert known(hardware.gpus)
    return hardware.gpus[name_of(index)]
