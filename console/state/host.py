"""The slice of a box's hardware: GPUs, disks, the machine itself."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from console.events import host as facts
from console.state.reducer import HostReducers
from console.values import CleanText, Unknown, known

if TYPE_CHECKING:
    from console.state.model import HostState

RING = 300  # five minutes at one sample a second

_NOT_YET = Unknown("not sampled yet")


@dataclass
class Gpu:
    """One GPU, keyed by UUID: who it is, its last reading, who holds it, and its recent utilisation."""

    identity: facts.GpuIdentity
    gauges: facts.GpuGauges | None = None
    processes: tuple[facts.GpuProcess, ...] | Unknown = _NOT_YET
    health: facts.GpuHealth | None = None
    energy_j: float | Unknown = _NOT_YET
    missing_since_t: float | None = None
    util_ring: deque[int | Unknown] = field(default_factory=lambda: deque(maxlen=RING))


@dataclass
class Hardware:
    """What the probes say. `gpus` is Unknown while they cannot be listed; a GPU that vanished stays, missing."""

    gpus: dict[str, Gpu] | Unknown = _NOT_YET
    gpus_t: float | Unknown = _NOT_YET
    gpus_expected: int | Unknown = Unknown("first visit to this box")
    driver_version: CleanText | Unknown = _NOT_YET
    cuda_version: CleanText | Unknown = _NOT_YET
    topology: facts.GpuTopologySampled | None = None
    xids: deque[facts.XidReported] = field(default_factory=lambda: deque(maxlen=RING))
    disks: tuple[facts.Disk, ...] | Unknown = _NOT_YET
    disks_t: float | Unknown = _NOT_YET
    identity: facts.MachineIdentified | None = None
    machine: facts.MachineSampled | None = None
    stuck: dict[str, float] = field(default_factory=dict)
    failed: dict[str, CleanText] = field(default_factory=dict)


def _expected(host: HostState, event: facts.GpusExpected, _t: float) -> None:
    host.hardware.gpus_expected = event.count


def _identified(host: HostState, event: facts.GpusIdentified, t: float) -> None:
    hardware = host.hardware
    hardware.driver_version, hardware.cuda_version = event.driver_version, event.cuda_version
    if not known(event.gpus):
        if not known(hardware.gpus):
            hardware.gpus = event.gpus
        return
    before = hardware.gpus if known(hardware.gpus) else {}
    after: dict[str, Gpu] = {}
    for identity in event.gpus:
        gpu = before.get(identity.uuid) or Gpu(identity)
        gpu.identity, gpu.missing_since_t = identity, None
        after[identity.uuid] = gpu
    for uuid, gpu in before.items():
        if uuid not in after:
            _miss(gpu, t)
            after[uuid] = gpu
    hardware.gpus = dict(sorted(after.items(), key=lambda item: item[1].identity.index))


def _miss(gpu: Gpu, t: float) -> None:
    """Keep the last row of a GPU that the driver no longer lists."""
    if gpu.missing_since_t is None:
        gpu.missing_since_t = t


def _sampled(host: HostState, event: facts.GpusSampled, t: float) -> None:
    hardware = host.hardware
    hardware.gpus_t = t
    if not known(event.gpus):
        hardware.gpus = event.gpus
        return
    if not known(hardware.gpus):
        return  # gauges before the identity: the next second brings both
    for gauges in event.gpus:
        if gpu := hardware.gpus.get(gauges.uuid):
            gpu.gauges = gauges
            gpu.util_ring.append(gauges.util_pct)


def _processes(host: HostState, event: facts.GpuProcessesSampled, _t: float) -> None:
    if not known(host.hardware.gpus) or not known(event.gpus):
        return
    for listed in event.gpus:
        if gpu := host.hardware.gpus.get(listed.uuid):
            gpu.processes = listed.processes


def _health(host: HostState, event: facts.GpuHealthSampled, _t: float) -> None:
    if known(host.hardware.gpus) and known(event.gpus):
        for health in event.gpus:
            if gpu := host.hardware.gpus.get(health.uuid):
                gpu.health = health


def _energy(host: HostState, event: facts.GpuEnergySampled, _t: float) -> None:
    if known(host.hardware.gpus) and known(event.gpus):
        for energy in event.gpus:
            if gpu := host.hardware.gpus.get(energy.uuid):
                gpu.energy_j = energy.energy_j


def _topology(host: HostState, event: facts.GpuTopologySampled, _t: float) -> None:
    host.hardware.topology = event


def _xid(host: HostState, event: facts.XidReported, _t: float) -> None:
    host.hardware.xids.append(event)


def _disks(host: HostState, event: facts.DisksSampled, t: float) -> None:
    host.hardware.disks, host.hardware.disks_t = event.disks, t


def _machine(host: HostState, event: facts.MachineIdentified, _t: float) -> None:
    host.hardware.identity = event


def _machine_sampled(host: HostState, event: facts.MachineSampled, _t: float) -> None:
    host.hardware.machine = event


def _stuck(host: HostState, event: facts.ProbeStuck, _t: float) -> None:
    if event.stuck_s > 0:
        host.hardware.stuck[event.probe] = event.stuck_s
    else:
        host.hardware.stuck.pop(event.probe, None)


def _failed(host: HostState, event: facts.ProbeFailed, _t: float) -> None:
    host.hardware.failed[event.probe] = event.reason


REDUCERS: HostReducers = {
    facts.GpusExpected: _expected,
    facts.GpusIdentified: _identified,
    facts.GpusSampled: _sampled,
    facts.GpuProcessesSampled: _processes,
    facts.GpuHealthSampled: _health,
    facts.GpuEnergySampled: _energy,
    facts.GpuTopologySampled: _topology,
    facts.XidReported: _xid,
    facts.DisksSampled: _disks,
    facts.MachineIdentified: _machine,
    facts.MachineSampled: _machine_sampled,
    facts.ProbeStuck: _stuck,
    facts.ProbeFailed: _failed,
}
