"""The GPU cases of the real world, played by a C library that the real NVML binding loads."""

from __future__ import annotations

import os
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from console.events.host import (
    GpuGauges,
    GpuHealthSampled,
    GpuProcessesSampled,
    GpusIdentified,
    GpusSampled,
    GpuTopologySampled,
    XidReported,
)
from console.values import Unknown, known
from tests.support.agent import Watched, watched
from tests.support.fakes import MIB, Disks, Fleet, uuid


def gauges_of(fact: GpusSampled) -> dict[str, GpuGauges]:
    assert known(fact.gpus)
    return {gauges.uuid: gauges for gauges in fact.gpus}


def states(fact: GpusSampled) -> list[str]:
    return [gauges.state for gauges in fact.gpus] if known(fact.gpus) else []


async def sampled(box: Watched, test: Any = lambda fact: True) -> GpusSampled:
    return await box.until(GpusSampled, lambda fact: known(fact.gpus) and test(fact))


async def test_an_idle_gpu_is_read_field_by_field(tmp_path: Path) -> None:
    fleet = Fleet(tmp_path, 2)
    fleet.set(1, used=1000 * MIB, util=97, memory_util=41, power=688251, temperature=64, sm_clock=1470, reasons=4)
    async with watched(fleet.env(), nvml=True) as box:
        busy = gauges_of(await sampled(box))[uuid(1)]
        identified = await box.until(GpusIdentified)
    assert known(identified.gpus)
    first = identified.gpus[0]
    assert (first.index, first.uuid, first.pci_bus_id, first.name) == (0, uuid(0), "00000000:01:00.0", "NVIDIA H200")
    assert (first.memory_total_bytes, first.power_limit_w, first.sm_clock_max_mhz) == (150754820096, 700.0, 1980)
    assert (identified.driver_version, identified.cuda_version) == ("580.95.05", "13.0")
    assert (busy.util_pct, busy.memory_util_pct, busy.power_w, busy.temperature_c) == (97, 41, 688.3, 64)
    assert (busy.sm_clock_mhz, busy.throttle, busy.state) == (1470, ("power_cap",), "ok")
    assert (busy.memory_used_bytes, busy.memory_reserved_bytes) == (1000 * MIB, 644939776)
    assert busy.memory_free_bytes == 150754820096 - 1000 * MIB - 644939776


FAULTS = [
    ("*", 15, "lost"),
    ("nvmlDeviceGetHandleByIndex", 15, "lost"),
    ("nvmlDeviceGetPowerUsage", 15, "lost"),
    ("*", 16, "reset_required"),
    ("nvmlDeviceGetUtilizationRates", 16, "reset_required"),
    ("*", 28, "lost"),
    ("nvmlDeviceGetHandleByIndex", 999, "error"),
    ("*", 999, "error"),
    ("*", 10, "error"),
    ("nvmlDeviceGetUtilizationRates", 999, "error"),
]


async def test_a_bad_gpu_is_a_bad_row_and_no_more(tmp_path: Path) -> None:
    fleet = Fleet(tmp_path, len(FAULTS) + 1)
    for index, (call, code, _) in enumerate(FAULTS):
        fleet.call(index, call, code)
    async with watched(fleet.env(), nvml=True) as box:
        fact = await sampled(box)
    assert known(fact.gpus)
    assert states(fact) == [state for _, _, state in FAULTS] + ["ok"]
    assert all(gpu.state_reason and not known(gpu.util_pct) for gpu in fact.gpus[:-1])


async def test_a_field_that_fails_leaves_the_others(tmp_path: Path) -> None:
    fleet = Fleet(tmp_path, 1)
    fleet.call(0, "nvmlDeviceGetMemoryInfo_v2", 999)
    async with watched(fleet.env(), nvml=True) as box:
        gpu = gauges_of(await sampled(box))[uuid(0)]
    assert (gpu.state, gpu.temperature_c) == ("error", 31)
    assert "MemoryInfo" in gpu.state_reason
    assert not known(gpu.memory_used_bytes)


async def test_a_gpu_is_lost_while_the_agent_runs_and_comes_back(tmp_path: Path) -> None:
    fleet = Fleet(tmp_path, 2)
    async with watched(fleet.env(), nvml=True) as box:
        await sampled(box, lambda fact: states(fact) == ["ok", "ok"])
        fleet.call(1, "*", 15)
        lost = await sampled(box, lambda fact: states(fact) == ["ok", "lost"])
        fleet.call(1, "*", None)
        await sampled(box, lambda fact: states(fact) == ["ok", "ok"] and fact is not lost)
    assert list(gauges_of(lost)) == [uuid(0), uuid(1)]


@pytest.mark.slow
async def test_a_gpu_that_hangs_keeps_none_of_the_others(tmp_path: Path) -> None:
    fleet = Fleet(tmp_path, 8)
    async with watched(fleet.env(), nvml=True) as box:
        await sampled(box, lambda fact: states(fact) == ["ok"] * 8)
        fleet.call(3, "*", "hang")
        wanted = ["ok"] * 3 + ["hung"] + ["ok"] * 4
        hung = await sampled(box, lambda fact: states(fact) == wanted)
        box.forget()
        fleet.set(7, temperature=77)
        await sampled(box, lambda fact: gauges_of(fact)[uuid(7)].temperature_c == 77)
        await sampled(box, lambda fact: gauges_of(fact)[uuid(3)].state_reason != gauges_of(hung)[uuid(3)].state_reason)
        times = [at for at, _ in box.of(GpusSampled)]
    assert "no answer for" in gauges_of(hung)[uuid(3)].state_reason
    assert all(later - earlier < 1.4 for earlier, later in pairwise(times))


@pytest.mark.slow
async def test_a_gpu_that_hung_answers_again(tmp_path: Path) -> None:
    fleet = Fleet(tmp_path, 2)
    async with watched(fleet.env(), nvml=True) as box:
        await sampled(box)
        fleet.call(0, "nvmlDeviceGetPowerUsage", "hang_while")
        hung = await sampled(box, lambda fact: states(fact) == ["hung", "ok"])
        fleet.call(0, "nvmlDeviceGetPowerUsage", None)
        box.forget()
        await sampled(box, lambda fact: states(fact) == ["ok", "ok"])
    assert not known(gauges_of(hung)[uuid(0)].power_w)


async def test_a_gpu_that_hangs_from_the_start_is_a_row(tmp_path: Path) -> None:
    fleet = Fleet(tmp_path, 3)
    fleet.call(0, "*", "hang")
    async with watched(fleet.env(), nvml=True) as box:
        fact = await sampled(box, lambda fact: states(fact) == ["hung", "ok", "ok"])
        identified = await box.until(GpusIdentified, lambda fact: known(fact.gpus) and known(fact.gpus[2].name))
        topology = await box.until(GpuTopologySampled)
    assert known(fact.gpus)
    assert known(identified.gpus)
    assert known(topology.pairs)
    assert fact.gpus[0].uuid == identified.gpus[0].uuid == "index:0"
    assert [pair.a for pair in topology.pairs] == [uuid(1)]


async def test_the_kernel_module_names_a_gpu_that_hangs_from_the_start(tmp_path: Path, disks: Disks) -> None:
    fleet = Fleet(tmp_path, 2)
    fleet.call(1, "*", "hang")
    for index in range(2):
        bus = f"0000:{index + 1:02x}:00.0"
        disks.file(
            f"/proc/driver/nvidia/gpus/{bus}/information",
            f"Model: \t\t NVIDIA H200\nIRQ:   \t\t 90\nGPU UUID: \t {uuid(index)}\nBus Location: \t {bus}\n",
        )
    async with watched({**disks.env(), **fleet.env()}, nvml=True) as box:
        fact = await sampled(box, lambda fact: states(fact) == ["ok", "hung"])
        identified = await box.until(GpusIdentified)
    assert known(identified.gpus)
    hung = identified.gpus[1]
    assert gauges_of(fact)[uuid(1)].state == "hung"
    assert (hung.uuid, hung.name, hung.pci_bus_id) == (uuid(1), "NVIDIA H200", "00000000:02:00.0")
    assert not known(hung.memory_total_bytes)


@pytest.mark.parametrize("call", ["nvmlInitWithFlags", "nvmlDeviceGetCount"])
async def test_a_library_that_hangs_hides_only_the_gpus(tmp_path: Path, call: str) -> None:
    fleet = Fleet(tmp_path, 2)
    fleet.call(None, call, "hang")
    async with watched(fleet.env(), nvml=True) as box:
        fact = await box.until(GpusSampled, lambda fact: not known(fact.gpus))
        assert isinstance(fact.gpus, Unknown)
        assert "has not answered" in fact.gpus.reason
        await box.agent.request("probe", name="disks", now=True)
        assert len(box.beats) >= 1


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (12, "libnvidia-ml.so.1 is missing"),
        (9, "kernel module is not loaded"),
        (18, "reboot before the next launch"),
        (4, "no permission"),
        (999, "container that lost its GPU access"),
        (17, "code 17"),
    ],
)
async def test_an_init_that_fails_is_a_sentence(tmp_path: Path, code: int, words: str) -> None:
    fleet = Fleet(tmp_path, 2)
    fleet.call(None, "nvmlInitWithFlags", code)
    async with watched(fleet.env(), nvml=True) as box:
        fact = await box.until(GpusSampled)
        identified = await box.until(GpusIdentified)
    assert isinstance(fact.gpus, Unknown)
    assert words in fact.gpus.reason
    assert identified.gpus == fact.gpus


async def test_a_missing_library_is_a_sentence() -> None:
    async with watched({}, nvml=True) as box:
        fact = await box.until(GpusSampled)
    assert isinstance(fact.gpus, Unknown)
    assert "libnvidia-ml.so.1 is missing" in fact.gpus.reason


async def test_no_gpus_at_all_are_none_found(tmp_path: Path) -> None:
    fleet = Fleet(tmp_path, 0)
    async with watched(fleet.env(), nvml=True) as box:
        fact = await sampled(box)
    assert fact.gpus == ()


async def test_a_gpu_that_the_driver_lists_no_more_is_missing(tmp_path: Path) -> None:
    fleet = Fleet(tmp_path, 3)
    async with watched(fleet.env(), nvml=True) as box:
        await sampled(box, lambda fact: states(fact) == ["ok"] * 3)
        gone = fleet.gpus.pop(1)
        fleet.write()
        await box.agent.request("probe", name="gpus", now=True)
        fact = await sampled(box, lambda fact: "missing" in states(fact))
        identified = await box.until(GpusIdentified, lambda fact: known(fact.gpus) and len(fact.gpus) == 2)
    assert [(gauges.uuid, gauges.state) for gauges in gauges_of(fact).values()] == [
        (uuid(0), "ok"),
        (uuid(2), "ok"),
        (gone["uuid"], "missing"),
    ]
    assert known(identified.gpus)
    assert [gpu.index for gpu in identified.gpus] == [0, 1]


async def test_what_a_gpu_cannot_tell_is_asked_once(tmp_path: Path) -> None:
    fleet = Fleet(tmp_path, 1)
    fleet.set(0, power=None, util=None, remapped=None)
    async with watched(fleet.env(), nvml=True) as box:
        gpu = gauges_of(await sampled(box))[uuid(0)]
        for temperature in (40, 41):
            fleet.set(0, temperature=temperature)
            await sampled(box, lambda fact, t=temperature: gauges_of(fact)[uuid(0)].temperature_c == t)
    assert isinstance(gpu.power_w, Unknown)
    assert gpu.power_w.reason.startswith("n/a")
    assert not known(gpu.util_pct)
    assert gpu.state == "ok"
    calls = fleet.calls(0)
    assert calls.count("nvmlDeviceGetTemperature") >= 3
    once = ("PowerUsage", "UtilizationRates", "RemappedRows", "Name", "UUID", "PciInfo", "MaxClockInfo", "MigMode")
    assert {name: calls.count(f"nvmlDeviceGet{name}") for name in once} == dict.fromkeys(once, 1)
    assert "nvmlDeviceGetPcieThroughput" not in calls


async def test_no_permission_is_told_with_its_way_out(tmp_path: Path) -> None:
    fleet = Fleet(tmp_path, 1)
    fleet.call(0, "nvmlDeviceGetMemoryInfo_v2", 4)
    fleet.call(0, "nvmlDeviceGetMemoryInfo", 4)
    async with watched(fleet.env(), nvml=True) as box:
        gpu = gauges_of(await sampled(box))[uuid(0)]
    assert isinstance(gpu.memory_used_bytes, Unknown)
    assert "NVIDIA_MIG_MONITOR_DEVICES" in gpu.memory_used_bytes.reason
    assert gpu.state == "ok"


async def test_an_old_driver_counts_reserved_memory_as_used(tmp_path: Path) -> None:
    fleet = Fleet(tmp_path, 1, old_driver=True)
    fleet.set(0, used=5 * MIB, reasons=0x80, proc=f"{os.getpid()} {5 * MIB}")
    async with watched(fleet.env(), nvml=True) as box:
        gpu = gauges_of(await sampled(box))[uuid(0)]
        listed = await box.until(GpuProcessesSampled)
    assert gpu.memory_used_bytes == 5 * MIB + 644939776
    assert isinstance(gpu.memory_reserved_bytes, Unknown)
    assert "counts reserved memory as used" in gpu.memory_reserved_bytes.reason
    assert gpu.throttle == ("hw_slowdown",)
    assert known(listed.gpus)
    assert known(listed.gpus[0].processes)
    assert listed.gpus[0].processes[0].pid == os.getpid()


THROTTLE: dict[int, tuple[str, ...]] = {
    0x0: (),
    0x1: ("idle",),
    0x4: ("power_cap",),
    0x8: ("hw_slowdown",),
    0x20: ("thermal",),
    0x40: ("thermal", "hw_slowdown"),
    0x80: ("hw_slowdown",),
    0x10: ("sync",),
    0x2: ("other",),
    0x104: ("power_cap", "other"),
}


async def test_throttle_reasons(tmp_path: Path) -> None:
    fleet = Fleet(tmp_path, len(THROTTLE))
    for index, bits in enumerate(THROTTLE):
        fleet.set(index, reasons=bits)
    async with watched(fleet.env(), nvml=True) as box:
        fact = await sampled(box)
    assert known(fact.gpus)
    assert [gpu.throttle for gpu in fact.gpus] == list(THROTTLE.values())


async def test_unified_memory_is_the_machines(tmp_path: Path) -> None:
    fleet = Fleet(tmp_path, 2)
    fleet.set(0, name="NVIDIA GB10", total=None, used=None, reserved=None)
    fleet.set(1, total=None, used=None, reserved=None)  # no such chip: not supported is just that
    async with watched(fleet.env(), nvml=True) as box:
        gpus = gauges_of(await sampled(box))
        identified = await box.until(GpusIdentified)
        health = await box.until(GpuHealthSampled)
    assert known(identified.gpus)
    assert known(health.gpus)
    assert [gpu.unified_memory for gpu in identified.gpus] == [True, False]
    assert known(gpus[uuid(0)].memory_free_bytes)
    assert known(identified.gpus[0].memory_total_bytes)
    assert not known(gpus[uuid(1)].memory_free_bytes)
    assert not known(health.gpus[0].pcie_gen)


async def test_mig_is_shown(tmp_path: Path) -> None:
    fleet = Fleet(tmp_path, 1, mig_mode=1, mig_max=7, util=None)
    parts = [f"MIG-{n} NVIDIA_H200_MIG_3g.71gb 76000000000 {n}000000000" for n in (1, 2)]
    fleet.set(0, mig=parts)
    async with watched(fleet.env(), nvml=True) as box:
        gpu = gauges_of(await sampled(box))[uuid(0)]
        identified = await box.until(GpusIdentified)
    assert known(identified.gpus)
    assert identified.gpus[0].mig_enabled is True
    assert [(part.uuid, part.memory_used_bytes) for part in identified.gpus[0].mig_devices] == [
        ("MIG-1", 1000000000),
        ("MIG-2", 2000000000),
    ]
    assert gpu.util_pct == Unknown("n/a: MIG is on")


async def test_health_and_a_change_of_it(tmp_path: Path) -> None:
    fleet = Fleet(tmp_path, 1, remapped="0 1 1 0", field_230=1, persistence=0, pcie_width=8, compute_mode=3)
    async with watched(fleet.env(), nvml=True) as box:
        fact = await box.until(GpuHealthSampled)
    assert known(fact.gpus)
    health = fact.gpus[0]
    assert (health.remapped_uncorrected, health.remap_pending, health.remap_failed) == (1, True, False)
    assert (health.recovery_action, health.persistence, health.ecc_enabled) == ("reset the GPU", False, True)
    assert (health.pcie_width, health.pcie_width_max, health.compute_mode) == (8, 16, "exclusive process")


async def test_topology_and_nvlink(tmp_path: Path) -> None:
    fleet = Fleet(tmp_path, 2, path=40, p2p_nvlink=5, nvlink=None)
    async with watched(fleet.env(), nvml=True) as box:
        fact = await box.until(GpuTopologySampled)
    assert known(fact.pairs)
    assert [(p.a, p.b, p.path, p.nvlink, p.p2p) for p in fact.pairs] == [(uuid(0), uuid(1), "NODE", False, "ok")]
    assert fact.nvlinks == {uuid(0): 0, uuid(1): 0}


async def test_xids_of_the_kernel_log(tmp_path: Path, disks: Disks) -> None:
    fleet = Fleet(tmp_path, 2)
    disks.file(
        "/dev/kmsg",
        "6,1,100,-;Linux version 6.1\n"
        "4,2,2000000,-;NVRM: Xid (PCI:0000:02:00): 79, pid=1234, GPU has fallen off the bus.\n SUBSYSTEM=pci\n"
        "4,3,3000000,-;NVRM: Xid (PCI:0000:77:00): 119, Timeout waiting for RPC from GSP!\n",
    )
    async with watched({**disks.env(), **fleet.env()}, nvml=True) as box:
        known_one = await box.until(XidReported, lambda fact: fact.xid == 79)
        other = await box.until(XidReported, lambda fact: fact.xid == 119)
    assert (known_one.uuid, known_one.source) == (uuid(1), "kernel")
    assert known_one.detail == "pid=1234, GPU has fallen off the bus."
    assert (other.at - known_one.at) == pytest.approx(1.0, abs=0.01)
    assert not known(other.uuid)
    assert other.pci_bus_id == "0000:77:00"


async def test_an_xid_is_reported_once(tmp_path: Path) -> None:
    fleet = Fleet(tmp_path, 2)
    async with watched(fleet.env(), nvml=True) as box:
        await sampled(box)
        fleet.set(1, xid=79)
        fact = await box.until(XidReported)
        fleet.set(1, xid=[79, 31])
        await box.until(XidReported, lambda fact: fact.xid == 31)
        told = [fact.xid for _, fact in box.of(XidReported)]
    assert (fact.uuid, fact.pci_bus_id, fact.source) == (uuid(1), "00000000:02:00.0", "nvml")
    assert told == [79, 31]
