"""The status of a box as plain lines, for a terminal without the console and for a paste."""

from __future__ import annotations

from console.events.host import Disk
from console.state import HostState
from console.state.host import Gpu, gpu_state
from console.values import (
    format_bytes,
    format_duration,
    format_gib,
    format_percent,
    known,
)
from console.views.disks import disk_row
from console.views.gpu_health import mig_lines
from console.views.gpus import gpu_notes, gpu_title, mark, process_text
from console.views.hub import hub_lines
from console.views.jobs import job_lines
from console.views.next import next_step
from console.views.serve import servers_lines
from console.views.topology import all_reduce_of
from console.views.xids import xid_lines

SPARKS = " ▁▂▃▄▅▆▇█"
_SIGNS = {"fail": "✗", "warn": "!", "info": "·"}


def status_lines(host: HostState, now: float) -> list[str]:
    """Twelve lines or so that a person can paste into a chat."""
    return [
        _link(host, now),
        f"NEXT  {next_step(host, now).sentence}",
        *_gpus(host, now),
        *_disks(host),
        *hub_lines(host),
        *servers_lines(host, now),
        *job_lines(host, now),
        *_machine(host),
    ]


def _link(host: HostState, now: float) -> str:
    link = host.link
    parts = [f"{host.name}: link {link.state}"]
    if link.via:
        parts.append("via " + " → ".join(link.via))
    if known(link.heard_t):
        parts.append(f"heard {format_duration(max(0.0, now - link.heard_t))} ago")
    if known(link.rtt_s):
        parts.append(f"round trip {format_duration(link.rtt_s)}")
    if link.sentence and link.state != "up":
        parts.append(link.sentence)
    return ", ".join(parts)


def _gpus(host: HostState, now: float) -> list[str]:
    gpus = host.hardware.gpus
    if not known(gpus):
        return [f"GPUs  unknown: {gpus.reason}"]
    if not gpus:
        return ["GPUs  none"]
    lines = [f"GPUs  {gpu_title(host)}, driver {host.hardware.driver_version}", *map(_gpu, gpus.values())]
    lines += [f"      {_SIGNS[note.finding.kind]} {note.who}: {note.finding.sentence}" for note in gpu_notes(host, now)]
    lines += [f"      {_SIGNS[kind]} {line}" for kind, line in xid_lines(host, now)]
    lines += [f"      {line}" for line in mig_lines(host)]
    if outlook := all_reduce_of(host):
        lines.append(f"Links {outlook.sentence}")
    return lines


def _gpu(gpu: Gpu) -> str:
    gauges = gpu.gauges
    state, reason = gpu_state(gpu)
    if gauges is None or state in ("missing", "lost"):
        return f"  {gpu.identity.index}  {state.upper() if state != 'ok' else state}  {reason}".rstrip()
    used = format_gib(gauges.memory_used_bytes)
    total = format_gib(gpu.identity.memory_total_bytes)
    power = f"{gauges.power_w:.0f} W" if known(gauges.power_w) else f"{mark(gauges.power_w)} W"
    heat = f"{gauges.temperature_c} °C" if known(gauges.temperature_c) else f"{mark(gauges.temperature_c)} °C"
    util = format_percent(gauges.util_pct) if known(gauges.util_pct) else mark(gauges.util_pct)
    util = "n/a (MIG)" if gpu.identity.mig_enabled is True else util
    line = f"  {gpu.identity.index}  {util:>7}  {used:>9} of {total}  {heat:>5}  {power:>6}"
    return f"{line}  {state}{': ' + reason if reason else ''}  {sparkline(gpu)}  {_owners(gpu)}".rstrip()


def sparkline(gpu: Gpu, width: int = 20) -> str:
    """The last readings of a GPU's utilisation; a gap where it was unknown."""
    recent = list(gpu.util_ring)[-width:]
    return "".join(SPARKS[min(8, (value * 8 + 99) // 100)] if known(value) else "·" for value in recent)


def _owners(gpu: Gpu) -> str:
    if not known(gpu.processes):
        return ""
    return ", ".join(map(process_text, gpu.processes))


def _disks(host: HostState) -> list[str]:
    disks = host.hardware.disks
    if not known(disks):
        return [f"Disks unknown: {disks.reason}"]
    return ["Disks", *(_disk(host, disk) for disk in disks)]


def _disk(host: HostState, disk: Disk) -> str:
    left = f"{format_bytes(disk.available_bytes)} left of {format_bytes(disk.total_bytes)}"
    row = disk_row(host, disk)
    return f"  {disk.mount}  {left}  {row.word}  {row.detail}"


def _machine(host: HostState) -> list[str]:
    identity, sample = host.hardware.identity, host.hardware.machine
    if identity is None:
        return []
    line = f"Host  {identity.hostname}, {identity.os}, Linux {identity.kernel}, Python {identity.python_version}"
    if sample is None:
        return [line]
    memory = f"{format_bytes(sample.memory_available_bytes)} of {format_bytes(sample.memory_total_bytes)} RAM free"
    return [line, f"      CPU {format_percent(sample.cpu_pct)}, {memory}"]
