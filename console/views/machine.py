"""The machine as named facts."""

from __future__ import annotations

from console.state import HostState
from console.values import format_bytes, format_duration, format_percent, known

Fact = tuple[str, str, str]  # name, text, kind of state ("" is plain)


def machine_facts(host: HostState) -> list[Fact]:
    """Name, text and kind of each fact that is there."""
    return [*_identity(host), *_sample(host), *_link(host), *_probes(host)]


def _identity(host: HostState) -> list[Fact]:
    identity = host.hardware.identity
    if identity is None:
        return []
    return [
        ("host", str(identity.hostname), ""),
        ("system", f"{identity.os}, Linux {identity.kernel}", ""),
        _driver(host),
        ("python", str(identity.python_version), ""),
        ("boot", str(identity.boot_id), ""),
    ]


def _driver(host: HostState) -> Fact:
    hardware = host.hardware
    if not known(hardware.driver_version):
        reason = hardware.gpus.reason if not known(hardware.gpus) else hardware.driver_version.reason
        return "driver", f"unknown: {reason}", "warn"
    return "driver", f"{hardware.driver_version}, CUDA {hardware.cuda_version}", ""


def _sample(host: HostState) -> list[Fact]:
    identity, sample = host.hardware.identity, host.hardware.machine
    if sample is None:
        return []
    cores = f" of {identity.cpu_count} cores" if identity and known(identity.cpu_count) else ""
    swap = f"{format_bytes(sample.swap_used_bytes)} of {format_bytes(sample.swap_total_bytes)}"
    return [
        ("CPU", f"{format_percent(sample.cpu_pct)}{cores}, load {sample.load1}", ""),
        ("RAM free", f"{format_bytes(sample.memory_available_bytes)} of {format_bytes(sample.memory_total_bytes)}", ""),
        ("swap used", swap if not known(sample.swap_total_bytes) or sample.swap_total_bytes else "none", ""),
    ]


def _link(host: HostState) -> list[Fact]:
    link = host.link
    facts: list[Fact] = [("way", " → ".join(link.via) or "direct", "")]
    if known(link.rtt_s):
        facts.append(("round trip", format_duration(link.rtt_s), ""))
    if known(link.skew_s) and abs(link.skew_s) > 2:
        facts.append(("clock", f"{format_duration(link.skew_s)} off the laptop's", "warn"))
    if link.dropped or link.malformed:
        facts.append(("frames", f"{link.dropped} dropped, {link.malformed} malformed", "warn"))
    if link.noise:
        facts.append(("it said", " / ".join(list(link.noise)[-3:]), "dim"))
    return facts


def _probes(host: HostState) -> list[Fact]:
    hardware = host.hardware
    stuck: list[Fact] = [
        ("probe", f"{name} stuck {format_duration(seconds)}", "warn") for name, seconds in hardware.stuck.items()
    ]
    return stuck + [("probe", f"{name} failed: {reason}", "warn") for name, reason in hardware.failed.items()]
