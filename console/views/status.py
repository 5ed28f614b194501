"""`gpudeck.status/1`: everything true of one box, as data."""

from __future__ import annotations

from typing import Any

from console.events.host import Disk, GpuGauges, GpuHealth, GpuProcess
from console.state import HostState
from console.state.host import Gpu, gpu_state
from console.values import Unknown, known
from console.views.disks import disk_state, full_in_s
from console.views.gpu_findings import gpu_findings, orphan_bytes
from console.views.hub import repos_value, token_value
from console.views.jobs import jobs_value
from console.views.serve import server_objects
from console.views.topology import topology_value
from console.views.xids import xids_value

SCHEMA = "gpudeck.status/1"
_NO_GAUGES = Unknown("not sampled yet")
_NO_HEALTH = Unknown("not read yet")


def status(host: HostState, now: float) -> dict[str, Any]:
    """The status object without `schema` and `ts`; `now` is seconds since the session started."""
    link, hardware = host.link, host.hardware
    gpus = hardware.gpus
    return {
        "host": host.name,
        "link": {
            "state": link.state,
            "age_s": round(max(0.0, now - link.heard_t), 3) if known(link.heard_t) else link.heard_t,
            "rtt_s": link.rtt_s,
            "via": list(link.via),
            "sentence": link.sentence,
        },
        "machine": _machine(host),
        "gpus_expected": host.hardware.gpus_expected,
        "gpus": [_gpu(gpu, now) for gpu in gpus.values()] if known(gpus) else gpus,
        "topology": topology_value(host),
        "xid": xids_value(host),
        "disks": [_disk(host, disk) for disk in hardware.disks] if known(hardware.disks) else hardware.disks,
        "token": token_value(host),
        "repos": repos_value(host),
        "servers": server_objects(host, now),
        "jobs": jobs_value(host),
    }


def _machine(host: HostState) -> dict[str, Any]:
    identity, sample = host.hardware.identity, host.hardware.machine
    record: dict[str, Any] = {
        "driver_version": host.hardware.driver_version,
        "cuda_version": host.hardware.cuda_version,
    }
    for part in (identity, sample):
        if part is not None:
            record |= {name: getattr(part, name) for name in part.__struct_fields__ if name != "host"}
    return record


def _gpu(gpu: Gpu, now: float) -> dict[str, Any]:
    identity, gauges = gpu.identity, gpu.gauges
    state, reason = gpu_state(gpu)
    live = gauges if state != "missing" else None
    return {
        "index": identity.index,
        "uuid": identity.uuid,
        "pci_bus_id": identity.pci_bus_id,
        "name": identity.name,
        "state": state,
        "state_reason": reason,
        "memory_total_bytes": identity.memory_total_bytes,
        **{name: getattr(live, name) if live else _NO_GAUGES for name in _GAUGES},
        "power_limit_w": identity.power_limit_w,
        "processes": [_process(one) for one in gpu.processes] if known(gpu.processes) else gpu.processes,
        "orphan_bytes": orphan_bytes(gpu),
        "energy_j": gpu.energy_j,
        "unified_memory": identity.unified_memory,
        "mig_enabled": identity.mig_enabled,
        "mig_devices": identity.mig_devices,
        "health": _health(gpu.health),
        "findings": [{"severity": one.kind, "sentence": one.sentence} for one in gpu_findings(gpu, now)],
    }


def _health(health: GpuHealth | None) -> dict[str, Any] | Unknown:
    if health is None:
        return _NO_HEALTH
    return {name: getattr(health, name) for name in health.__struct_fields__ if name != "uuid"}


_GAUGES = tuple(name for name in GpuGauges.__struct_fields__ if name not in ("uuid", "state", "state_reason"))


def _process(process: GpuProcess) -> dict[str, Any]:
    return {name: getattr(process, name) for name in process.__struct_fields__}


def _disk(host: HostState, disk: Disk) -> dict[str, Any]:
    state, reason = disk_state(disk)
    fields = {name: getattr(disk, name) for name in disk.__struct_fields__}
    left_s = full_in_s(host, disk)
    return fields | {"state": state, "state_reason": reason, "full_in_s": round(left_s, 1) if known(left_s) else left_s}
