"""The slice of a box's hardware: GPUs, disks, the machine itself."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from console.events import host as facts
from console.events.doctor import BoxExamined
from console.state.reducer import HostReducers
from console.values import CleanText, Unknown, known

if TYPE_CHECKING:
    from console.state.model import HostState

RING = 300  # five minutes at one sample a second
DISK_RING = 60  # five minutes at one sample in five seconds
BUSY_PCT = 50
SAME_XID_S = 2.0  # the box's boot time, and with it the kernel log's, is computed anew by each agent
SPIN_GRACE_S = 5.0  # a suspicion outlives this much of other readings, so that one sample neither raises nor clears it
NAMELESS = "index:"  # the name of a GPU that does not tell its UUID

_NOT_YET = Unknown("not sampled yet")


class Xid(NamedTuple):
    """An Xid and when it happened, in seconds since the session started; before that it is negative."""

    t: float
    fact: facts.XidReported


@dataclass
class Gpu:
    """One GPU, keyed by UUID: who it is, its last reading, who holds it, and its recent utilisation.

    `spinning_since_t` to `spinning_seen_t`: all kernels resident at idle watts, see `looks_spinning`;
    `busy_since_t`: more than half utilised, when the PCIe generation means something; `pcie_replayed_t`: the last
    growth of the replay counter.
    """

    identity: facts.GpuIdentity
    gauges: facts.GpuGauges | None = None
    processes: tuple[facts.GpuProcess, ...] | Unknown = _NOT_YET
    health: facts.GpuHealth | None = None
    energy_j: float | Unknown = _NOT_YET
    missing_since_t: float | None = None
    spinning_since_t: float | None = None
    spinning_seen_t: float = 0.0
    busy_since_t: float | None = None
    pcie_replayed_t: float | None = None
    util_ring: deque[int | Unknown] = field(default_factory=lambda: deque(maxlen=RING))


@dataclass
class Hardware:
    """What the probes say. `gpus` is Unknown while they cannot be listed; a GPU that vanished stays, missing.

    `nameless` leads from the `index:N` of a GPU that does not tell its UUID to the UUID that had this number before.
    `disk_rings` holds (t, available bytes) by device id.
    """

    gpus: dict[str, Gpu] | Unknown = _NOT_YET
    gpus_t: float | Unknown = _NOT_YET
    nameless: dict[str, str] = field(default_factory=dict)
    gpus_expected: int | Unknown = Unknown("first visit to this box")
    gpus_before: tuple[facts.GpuRemembered, ...] = ()
    driver_version: CleanText | Unknown = _NOT_YET
    cuda_version: CleanText | Unknown = _NOT_YET
    topology: facts.GpuTopologySampled | None = None
    xids: deque[Xid] = field(default_factory=lambda: deque(maxlen=RING))
    disks: tuple[facts.Disk, ...] | Unknown = _NOT_YET
    disks_t: float | Unknown = _NOT_YET
    disk_rings: dict[str, deque[tuple[float, int]]] = field(default_factory=dict)
    identity: facts.MachineIdentified | None = None
    machine: facts.MachineSampled | None = None
    examined: BoxExamined | None = None
    stuck: dict[str, float] = field(default_factory=dict)
    failed: dict[str, CleanText] = field(default_factory=dict)

    def gpu(self, uuid: str) -> Gpu | None:
        """The GPU that a fact is about."""
        return self.gpus.get(self.nameless.get(uuid, uuid)) if known(self.gpus) else None


def gpu_state(gpu: Gpu) -> tuple[facts.GpuState, str]:
    """The state word of a GPU and the reason for it."""
    if gpu.missing_since_t is not None:
        return "missing", "the driver no longer lists it" if gpu.gauges else "it was here at an earlier visit"
    return (gpu.gauges.state, gpu.gauges.state_reason) if gpu.gauges else ("ok", "not sampled yet")


def _expected(host: HostState, event: facts.GpusExpected, _t: float) -> None:
    host.hardware.gpus_expected, host.hardware.gpus_before = event.count, event.gpus


def _identified(host: HostState, event: facts.GpusIdentified, t: float) -> None:
    hardware = host.hardware
    hardware.driver_version, hardware.cuda_version = event.driver_version, event.cuda_version
    if not known(event.gpus):
        if not known(hardware.gpus):
            hardware.gpus = event.gpus
        return
    before = hardware.gpus if known(hardware.gpus) else {}
    after: dict[str, Gpu] = {}
    hardware.nameless = _nameless(before, event.gpus)
    for identity in event.gpus:
        gpu = before.get(hardware.nameless.get(identity.uuid, identity.uuid)) or Gpu(identity)
        if identity.uuid not in hardware.nameless:
            gpu.identity = identity
        gpu.missing_since_t = None
        after[gpu.identity.uuid] = gpu
    for uuid, gpu in before.items():
        if uuid not in after and not uuid.startswith(NAMELESS):
            _miss(gpu, t)
            after[uuid] = gpu
    for gpu in _remembered(hardware, after, t):
        after[gpu.identity.uuid] = gpu
    hardware.gpus = dict(sorted(after.items(), key=lambda item: item[1].identity.index))


def _remembered(hardware: Hardware, here: dict[str, Gpu], t: float) -> list[Gpu]:
    """Rows of what an earlier visit saw and this one does not: as many as are missing, a card may be another now."""
    count = hardware.gpus_expected
    if not known(count):
        return []
    gone = [one for one in hardware.gpus_before if one.uuid not in here]
    return [Gpu(_as_remembered(one), missing_since_t=t) for one in gone[: max(0, count - len(here))]]


def _as_remembered(one: facts.GpuRemembered) -> facts.GpuIdentity:
    gone = Unknown("the driver does not list it")
    return facts.GpuIdentity(
        index=one.index, uuid=one.uuid, pci_bus_id=one.pci_bus_id, name=one.name, memory_total_bytes=gone,
        power_limit_w=gone,
    )  # fmt: skip


def _nameless(before: dict[str, Gpu], listed: tuple[facts.GpuIdentity, ...]) -> dict[str, str]:
    """Which known GPU each one without a UUID is: the one of the same number that is not listed otherwise."""
    named = {identity.uuid for identity in listed}
    absent = {gpu.identity.index: uuid for uuid, gpu in before.items() if uuid not in named}
    return {
        identity.uuid: absent[identity.index]
        for identity in listed
        if identity.uuid.startswith(NAMELESS) and identity.index in absent
    }


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
        if gpu := hardware.gpu(gauges.uuid):
            gpu.gauges = gauges
            gpu.util_ring.append(gauges.util_pct)
            _spin(gpu, looks_spinning(gpu.identity, gauges), t)
            gpu.busy_since_t = _since(gpu.busy_since_t, known(gauges.util_pct) and gauges.util_pct > BUSY_PCT, t)


def looks_spinning(identity: facts.GpuIdentity, gauges: facts.GpuGauges) -> bool:
    """Kernels always resident, hardly any power, hardly any memory traffic: a collective that waits for ever.

    Seen with NCCL on PCIe-only boxes: 100 % at 85 to 98 W. False when something of it is unknown.
    """
    util, power, limit, memory = gauges.util_pct, gauges.power_w, identity.power_limit_w, gauges.memory_util_pct
    if not known(util) or not known(power) or not known(limit) or not known(memory):
        return False
    return util >= 98 and power < 0.3 * limit and memory < 3


def _spin(gpu: Gpu, spins: bool, t: float) -> None:
    """Begin, go on with, or after a while of other readings end the suspicion."""
    if t - gpu.spinning_seen_t > SPIN_GRACE_S:
        gpu.spinning_since_t = None
    if spins:
        gpu.spinning_since_t = _since(gpu.spinning_since_t, True, t)
        gpu.spinning_seen_t = t


def _since(before: float | None, holds: bool, t: float) -> float | None:
    if not holds:
        return None
    return t if before is None else before


def _processes(host: HostState, event: facts.GpuProcessesSampled, _t: float) -> None:
    for listed in event.gpus if known(event.gpus) else ():
        if gpu := host.hardware.gpu(listed.uuid):
            gpu.processes = listed.processes


def _health(host: HostState, event: facts.GpuHealthSampled, t: float) -> None:
    for health in event.gpus if known(event.gpus) else ():
        if gpu := host.hardware.gpu(health.uuid):
            before = gpu.health.pcie_replays if gpu.health else Unknown("first reading")
            if known(before) and known(health.pcie_replays) and health.pcie_replays > before:
                gpu.pcie_replayed_t = t
            gpu.health = health


def _energy(host: HostState, event: facts.GpuEnergySampled, _t: float) -> None:
    for energy in event.gpus if known(event.gpus) else ():
        if gpu := host.hardware.gpu(energy.uuid):
            gpu.energy_j = energy.energy_j


def _topology(host: HostState, event: facts.GpuTopologySampled, _t: float) -> None:
    host.hardware.topology = event


def _xid(host: HostState, event: facts.XidReported, t: float) -> None:
    """A new agent reads the kernel's log from the boot on again: what is known is not told twice."""
    known_ones = [one.fact for one in host.hardware.xids if one.fact.xid == event.xid and one.fact.uuid == event.uuid]
    if not any(abs(one.at - event.at) < SAME_XID_S for one in known_ones):
        host.hardware.xids.append(Xid(t - event.age_s, event))


def _disks(host: HostState, event: facts.DisksSampled, t: float) -> None:
    host.hardware.disks, host.hardware.disks_t = event.disks, t
    for disk in event.disks if known(event.disks) else ():
        if known(disk.available_bytes):
            ring = host.hardware.disk_rings.setdefault(disk.device_id or disk.mount, deque(maxlen=DISK_RING))
            ring.append((t, disk.available_bytes))


def _machine(host: HostState, event: facts.MachineIdentified, _t: float) -> None:
    host.hardware.identity = event


def _machine_sampled(host: HostState, event: facts.MachineSampled, _t: float) -> None:
    host.hardware.machine = event


def _examined(host: HostState, event: BoxExamined, _t: float) -> None:
    host.hardware.examined = event
    host.hardware.failed.pop("doctor", None)


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
    BoxExamined: _examined,
    facts.ProbeStuck: _stuck,
    facts.ProbeFailed: _failed,
}
