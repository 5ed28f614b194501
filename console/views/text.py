"""The status of a box as plain lines, for a terminal without the console and for a paste."""

from __future__ import annotations

from console.events.host import Disk
from console.state import HostState
from console.state.host import Gpu
from console.values import (
    CleanText,
    Unknown,
    format_bytes,
    format_duration,
    format_gib,
    format_percent,
    known,
)
from console.views.hub import hub_lines
from console.views.jobs import job_lines
from console.views.next import next_step
from console.views.serve import servers_lines
from console.views.status import gpu_state

SPARKS = " ▁▂▃▄▅▆▇█"


def status_lines(host: HostState, now: float) -> list[str]:
    """Twelve lines or so that a person can paste into a chat."""
    return [
        _link(host, now),
        f"NEXT  {next_step(host, now).sentence}",
        *_gpus(host),
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


def _gpus(host: HostState) -> list[str]:
    gpus = host.hardware.gpus
    if not known(gpus):
        return [f"GPUs  unknown: {gpus.reason}"]
    if not gpus:
        return ["GPUs  none"]
    expected = host.hardware.gpus_expected
    count = f"{len(gpus)} of {expected}" if known(expected) and expected != len(gpus) else str(len(gpus))
    names = sorted({str(gpu.identity.name) for gpu in gpus.values()})
    driver = host.hardware.driver_version
    return [f"GPUs  {count} × {', '.join(names)}, driver {driver}", *map(_gpu, gpus.values())]


def _gpu(gpu: Gpu) -> str:
    gauges = gpu.gauges
    state, reason = gpu_state(gpu)
    if gauges is None or state in ("missing", "lost"):
        return f"  {gpu.identity.index}  {state.upper() if state != 'ok' else state}  {reason}".rstrip()
    used = format_gib(gauges.memory_used_bytes)
    total = format_gib(gpu.identity.memory_total_bytes)
    power = f"{gauges.power_w:.0f} W" if known(gauges.power_w) else "unknown W"
    heat = f"{gauges.temperature_c} °C" if known(gauges.temperature_c) else "unknown °C"
    line = f"  {gpu.identity.index}  {format_percent(gauges.util_pct):>7}  {used:>9} of {total}  {heat:>5}  {power:>6}"
    return f"{line}  {state}{': ' + reason if reason else ''}  {sparkline(gpu)}  {_owners(gpu)}".rstrip()


def sparkline(gpu: Gpu, width: int = 20) -> str:
    """The last readings of a GPU's utilisation; a gap where it was unknown."""
    recent = list(gpu.util_ring)[-width:]
    return "".join(SPARKS[min(8, (value * 8 + 99) // 100)] if known(value) else "·" for value in recent)


def _owners(gpu: Gpu) -> str:
    if not known(gpu.processes):
        return ""
    return ", ".join(f"{_text(one.user)}:{_text(one.command)}" for one in gpu.processes)


def _text(value: CleanText | Unknown) -> str:
    return str(value) if known(value) else "?"


def _disks(host: HostState) -> list[str]:
    disks = host.hardware.disks
    if not known(disks):
        return [f"Disks unknown: {disks.reason}"]
    return ["Disks", *map(_disk, disks)]


def _disk(disk: Disk) -> str:
    left = f"{format_bytes(disk.available_bytes)} left of {format_bytes(disk.total_bytes)}"
    notes = [disk.fstype] + ["RAM"] * disk.is_ram + ["read-only"] * disk.read_only
    state = disk.state.replace("_", " ") + (f": {disk.state_reason}" if disk.state_reason else "")
    return f"  {disk.mount}  {left}  {' '.join(notes)}  {state}"


def _machine(host: HostState) -> list[str]:
    identity, sample = host.hardware.identity, host.hardware.machine
    if identity is None:
        return []
    line = f"Host  {identity.hostname}, {identity.os}, Linux {identity.kernel}, Python {identity.python_version}"
    if sample is None:
        return [line]
    memory = f"{format_bytes(sample.memory_available_bytes)} of {format_bytes(sample.memory_total_bytes)} RAM free"
    return [line, f"      CPU {format_percent(sample.cpu_pct)}, {memory}"]
