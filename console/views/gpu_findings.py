"""What deserves attention about a GPU beyond its state, as sentences with their reasons."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple

from console.events.host import GpuHealth
from console.state.host import Gpu
from console.values import Unknown, format_bytes, format_duration, known

SPIN_WARN_S, SPIN_FAIL_S = 20.0, 60.0
BUSY_S = 10.0
REPLAY_S = 60.0
ORPHAN_BYTES = 500 * 1024 * 1024
WARM_C, HOT_C = 83, 90  # where the driver tells no limit


class Finding(NamedTuple):
    """`kind`: info is worth knowing, warn costs speed or will cost more, fail must be dealt with.

    `word` is its short name in the GPU's row; a matter of settings has none.
    """

    kind: Literal["info", "warn", "fail"]
    sentence: str
    word: str = ""


def gpu_findings(gpu: Gpu, now_t: float) -> list[Finding]:
    """All that is wrong or unusual, the worst first. `now_t` is the session's time."""
    findings = [*_spinning(gpu, now_t), *_slowed(gpu), *_heat(gpu), *_orphan(gpu), *_power_limit(gpu), *_memory(gpu)]
    if gpu.health is not None:
        findings += [*_pcie(gpu, gpu.health, now_t), *_memory_health(gpu.health), *_settings(gpu.health)]
    if gpu.identity.mig_enabled is True:
        devices = len(gpu.identity.mig_devices)
        findings.append(Finding("info", f"MIG is on: {devices} devices inside; utilisation n/a (MIG)"))
    return sorted(findings, key=lambda finding: ("fail", "warn", "info").index(finding.kind))


def _spinning(gpu: Gpu, now_t: float) -> Iterator[Finding]:
    if gpu.spinning_since_t is None or now_t - gpu.spinning_since_t < SPIN_WARN_S or gpu.gauges is None:
        return
    lasts = now_t - gpu.spinning_since_t
    watts = f"{gpu.gauges.power_w:.0f} W" if known(gpu.gauges.power_w) else "idle watts"
    yield Finding(
        "fail" if lasts >= SPIN_FAIL_S else "warn",
        f"spin-hang suspected: {gpu.gauges.util_pct}% utilised at {watts} for {format_duration(lasts)}, "
        "a collective that never completes looks like this",
        "SPIN?",
    )


def _slowed(gpu: Gpu) -> Iterator[Finding]:
    """A power cap is normal under load; heat costs speed; a hardware slowdown or power brake is a fault."""
    throttle = gpu.gauges.throttle if gpu.gauges else ()
    if not known(throttle):
        return
    if "hw_slowdown" in throttle:
        yield Finding("fail", "slowed by the hardware: heat at its limit, or a power brake from the supply", "SLOW")
    elif "thermal" in throttle:
        yield Finding("warn", "clocks are lowered because of heat: look at the air flow", "HOT")


def _heat(gpu: Gpu) -> Iterator[Finding]:
    """Against the GPU's own limit, else against what is hot for any."""
    if gpu.gauges is None or not known(gpu.gauges.temperature_c):
        return
    heat, limit = gpu.gauges.temperature_c, gpu.identity.temperature_slowdown_c
    warn, fail = (limit - 10, limit - 3) if known(limit) else (WARM_C, HOT_C)
    if heat >= warn:
        below = f", {max(limit - heat, 0)} °C below the slowdown" if known(limit) else ""
        yield Finding("fail" if heat >= fail else "warn", f"{heat} °C{below}", "HOT")


def orphan_bytes(gpu: Gpu) -> int | Unknown:
    """Memory in use that no listed process holds: a dead owner, another namespace, the driver."""
    if gpu.gauges is None or not known(gpu.gauges.memory_used_bytes):
        return Unknown("the memory in use is unknown")
    if not known(gpu.gauges.memory_reserved_bytes):
        return Unknown("the memory in use includes what the driver keeps for itself")
    if not known(gpu.processes):
        return Unknown("the processes are unknown")
    held = 0
    for process in gpu.processes:
        if not known(process.memory_bytes):
            return process.memory_bytes
        held += process.memory_bytes
    return max(0, gpu.gauges.memory_used_bytes - held)


def _orphan(gpu: Gpu) -> Iterator[Finding]:
    orphan = orphan_bytes(gpu)
    if known(orphan) and orphan > ORPHAN_BYTES:
        yield Finding(
            "warn",
            f"{format_bytes(orphan)} held by a process that is not visible here (sudo fuser -v /dev/nvidia*)",
            "HELD",
        )


def _power_limit(gpu: Gpu) -> Iterator[Finding]:
    limit, default = gpu.identity.power_limit_w, gpu.identity.power_limit_default_w
    if known(limit) and known(default) and limit < default:
        yield Finding("warn", f"power limit {limit:.0f} W, the default is {default:.0f} W")


def _memory(gpu: Gpu) -> Iterator[Finding]:
    if gpu.identity.unified_memory:
        yield Finding("info", "unified memory: its numbers are the machine's, and there is no PCIe link")
    elif gpu.gauges is not None and known(gpu.gauges.memory_used_bytes) and _cannot(gpu.gauges.memory_reserved_bytes):
        yield Finding("info", "memory in use includes what the driver keeps for itself: an old driver")


def _cannot(value: int | Unknown) -> bool:
    return not known(value) and value.reason.startswith("n/a")


def _pcie(gpu: Gpu, health: GpuHealth, now_t: float) -> Iterator[Finding]:
    """A narrow link is a fault at any time; a slow one only under load, an idle card saves power."""
    width, width_max = health.pcie_width, health.pcie_width_max
    if known(width) and known(width_max) and width < width_max:
        yield Finding("fail", f"PCIe x{width} instead of x{width_max}: slot, riser, or a seat that is not firm", "PCIE")
    gen, gen_max = health.pcie_gen, health.pcie_gen_max
    busy = gpu.busy_since_t is not None and now_t - gpu.busy_since_t >= BUSY_S
    if busy and known(gen) and known(gen_max) and gen < gen_max:
        yield Finding("warn", f"PCIe generation {gen} instead of {gen_max} under load", "PCIE")
    if gpu.pcie_replayed_t is not None and now_t - gpu.pcie_replayed_t <= REPLAY_S:
        yield Finding("warn", "PCIe replays: the link corrects errors", "PCIE")


def _memory_health(health: GpuHealth) -> Iterator[Finding]:
    if known(health.ecc_uncorrected) and health.ecc_uncorrected > 0:
        yield Finding("fail", f"{health.ecc_uncorrected} uncorrected ECC errors since the driver was loaded", "ECC")
    if health.remap_failed is True:
        yield Finding("fail", "a memory row could not be remapped: replace the GPU", "REMAP")
    if health.remap_pending is True:
        yield Finding("warn", "a remapped memory row waits for a GPU reset", "REMAP")
    if known(health.recovery_action) and health.recovery_action != "none":
        yield Finding("fail", f"the driver asks to: {health.recovery_action}", "RESET")


def _settings(health: GpuHealth) -> Iterator[Finding]:
    if health.persistence is False:
        yield Finding("warn", "persistence is off: the driver unloads with its last client (nvidia-smi -pm 1)")
    if health.ecc_enabled is False:
        yield Finding("info", "ECC is off")
    if known(health.compute_mode) and health.compute_mode != "default":
        yield Finding("warn", f"compute mode is {health.compute_mode}: a second process may be refused")
