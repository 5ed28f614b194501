"""Which facts are worth stopping at in a replay."""

from __future__ import annotations

from console.events import Stamped
from console.events.bench import BenchEnded, PointFailed, PointMeasured
from console.events.host import DisksSampled, GpusIdentified, GpusSampled, ProbeFailed, ProbeStuck, XidReported
from console.events.hub import DownloadFellShort, RepoVerified
from console.events.link import HostKeyAsked, HostKeyChanged, LinkChanged, NoteWritten, RecorderFailed, WorkerFailed
from console.events.plan import PlanChecked
from console.events.serve import ServerEnded, ServerProved, ServerRequestFailed, ServerUnproved
from console.state import HostState, State
from console.values import known

_ALWAYS = (
    HostKeyAsked, HostKeyChanged, NoteWritten, RecorderFailed, WorkerFailed, ProbeFailed, XidReported,
    PlanChecked, RepoVerified, DownloadFellShort, ServerProved, ServerUnproved, ServerEnded, ServerRequestFailed,
    PointMeasured, PointFailed, BenchEnded,
)  # fmt: skip


def notable(state: State, stamped: Stamped) -> bool:
    """True when the fact changes what a person would act on; `state` is the one before it."""
    event = stamped.event
    if isinstance(event, _ALWAYS):
        return True
    host = state.hosts.get(getattr(event, "host", ""))
    if isinstance(event, LinkChanged):
        return host is None or event.state != host.link.state
    if host is None:
        return False
    if isinstance(event, ProbeStuck):
        return (event.stuck_s > 0) != (event.probe in host.hardware.stuck)
    return _hardware(host, stamped)


def _hardware(host: HostState, stamped: Stamped) -> bool:
    event, hardware = stamped.event, host.hardware
    if isinstance(event, GpusSampled) and known(event.gpus) and known(hardware.gpus):
        before = {uuid: gpu.gauges.state if gpu.gauges else "ok" for uuid, gpu in hardware.gpus.items()}
        return any(gauges.state != before.get(gauges.uuid, "ok") for gauges in event.gpus)
    if isinstance(event, GpusIdentified):
        here = {gpu.uuid for gpu in event.gpus} if known(event.gpus) else None
        return known(hardware.gpus) and here != set(hardware.gpus)
    if isinstance(event, DisksSampled) and known(event.disks) and known(hardware.disks):
        states = {disk.mount: disk.state for disk in hardware.disks}
        return any(disk.state != states.get(disk.mount, "ok") for disk in event.disks)
    return False
