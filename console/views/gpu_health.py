"""What wears out and how the GPU is joined, a row a GPU: ECC, remapped rows, PCIe, NVLink, limits, energy, MIG."""

from __future__ import annotations

from typing import NamedTuple

from console.state import HostState
from console.state.host import Gpu
from console.values import Unknown, format_gib, known
from console.views.gpu_findings import gpu_findings
from console.views.gpus import mark

_NOT_YET = Unknown("not read")
_LIMITS = {"power_cap": "power cap", "thermal": "heat", "hw_slowdown": "hardware", "sync": "sync", "other": "other"}
_LIMIT_INKS = {"thermal": "warn", "hw_slowdown": "fail"}


class HealthRow(NamedTuple):
    """Texts of one GPU; `…_ink` says how far a value deviates: empty for as it should be."""

    uuid: str
    number: str
    bus: str
    ecc: str
    ecc_ink: str
    remapped: str
    remapped_ink: str
    pcie: str
    pcie_ink: str
    nvlinks: str
    limits: str
    limits_ink: str
    energy: str
    settings: str


def health_rows(host: HostState, now: float) -> list[HealthRow]:
    """A row for each GPU, in NVML's order."""
    gpus = host.hardware.gpus
    return [_row(host, gpu, now) for gpu in gpus.values()] if known(gpus) else []


def _row(host: HostState, gpu: Gpu, now: float) -> HealthRow:
    inks = {found.word: found.kind for found in reversed(gpu_findings(gpu, now))}
    limits, limits_ink = _limits(gpu)
    topology = host.hardware.topology
    links = topology.nvlinks.get(gpu.identity.uuid, Unknown("not asked")) if topology else _NOT_YET
    return HealthRow(
        uuid=gpu.identity.uuid,
        number=str(gpu.identity.index),
        bus=_bus(gpu),
        ecc=_ecc(gpu),
        ecc_ink=inks.get("ECC", ""),
        remapped=_remapped(gpu),
        remapped_ink=inks.get("REMAP", ""),
        pcie=_pcie(gpu),
        pcie_ink=inks.get("PCIE", ""),
        nvlinks=_text(links),
        limits=limits,
        limits_ink=limits_ink,
        energy=f"{gpu.energy_j / 3.6e6:.1f}" if known(gpu.energy_j) else mark(gpu.energy_j),
        settings=_settings(gpu),
    )


def _text(value: object) -> str:
    return mark(value) if isinstance(value, Unknown) else str(value)


def _bus(gpu: Gpu) -> str:
    """`01:00.0`; with the PCI domain in front when it is not the first one."""
    text = _text(gpu.identity.pci_bus_id)
    domain, _, rest = text.partition(":")
    return rest if rest and not domain.strip("0") else text


def _ecc(gpu: Gpu) -> str:
    """Uncorrected / corrected since the driver was loaded."""
    if gpu.health is None:
        return "-"
    if gpu.health.ecc_enabled is False:
        return "off"
    return f"{_text(gpu.health.ecc_uncorrected)}/{_text(gpu.health.ecc_corrected)}"


def _remapped(gpu: Gpu) -> str:
    """Rows replaced because of uncorrected / corrected errors, and what is still to be done."""
    if gpu.health is None:
        return "-"
    health = gpu.health
    if not known(health.remapped_uncorrected):
        return mark(health.remapped_uncorrected)
    more = " failed" if health.remap_failed is True else " pending" if health.remap_pending is True else ""
    return f"{health.remapped_uncorrected}/{_text(health.remapped_corrected)}{more}"


def _pcie(gpu: Gpu) -> str:
    """`5 x16`, and what it could be where it is less."""
    if gpu.health is None:
        return "-"
    health = gpu.health
    if not known(health.pcie_width) and not known(health.pcie_gen):
        return mark(health.pcie_width)
    most = ""
    if known(health.pcie_width) and known(health.pcie_width_max) and health.pcie_width < health.pcie_width_max:
        most = f" of x{health.pcie_width_max}"
    return f"{_text(health.pcie_gen)} x{_text(health.pcie_width)}{most}"


def _limits(gpu: Gpu) -> tuple[str, str]:
    """What holds the clock down now. A power cap is normal, heat is not, the hardware's own brake is a fault."""
    throttle = gpu.gauges.throttle if gpu.gauges else _NOT_YET
    if not known(throttle):
        return mark(throttle), ""
    inks = [_LIMIT_INKS[reason] for reason in throttle if reason in _LIMIT_INKS]
    words = [_LIMITS[reason] for reason in throttle if reason in _LIMITS]
    return ", ".join(words) or "none", "fail" if "fail" in inks else "warn" if inks else "dim"


def _settings(gpu: Gpu) -> str:
    """What is not as it usually is."""
    words = []
    if gpu.identity.unified_memory:
        words.append("unified memory")
    if gpu.identity.mig_enabled is True:
        words.append("MIG")
    return ", ".join(words)


def mig_lines(host: HostState) -> list[str]:
    """The MIG devices of each GPU with their memory; the parent alone has no utilisation to tell."""
    gpus = host.hardware.gpus
    return [
        f"GPU {gpu.identity.index}: {part.name}  {format_gib(part.memory_used_bytes)} of "
        f"{format_gib(part.memory_total_bytes)} used, utilisation n/a (MIG)  {part.uuid}"
        for gpu in (gpus.values() if known(gpus) else ())
        for part in gpu.identity.mig_devices
    ]
