"""The slow part of a GPU's reading: what wears out, what is set wrong, the PCIe link, the energy counter."""

from __future__ import annotations

from typing import Any, Callable

from .wire import is_unknown, unknown

RECOVERY_FIELD = 230
RECOVERY = (
    "none",
    "reset the GPU",
    "reboot the node",
    "drain P2P",
    "drain and reset the GPU",
    "recover the IMEX domain",
    "reset the bus",
    "reboot the system",
)
COMPUTE_MODES = ("default", "exclusive thread", "prohibited", "exclusive process")


def energy(device: Any) -> Any:
    """Joules since the driver was loaded."""
    millijoules = device.ask("nvmlDeviceGetTotalEnergyConsumption")
    return millijoules if is_unknown(millijoules) else round(millijoules / 1000.0, 1)


def pcie(device: Any) -> dict[str, Any]:
    """The link as it is now. A GPU that is a part of the chip has none."""
    if device.unified:
        nothing = unknown("n/a: unified memory, no PCIe link")
        return dict.fromkeys(("pcie_gen", "pcie_gen_max", "pcie_width", "pcie_width_max", "pcie_replays"), nothing)
    return {
        "pcie_gen": device.ask("nvmlDeviceGetCurrPcieLinkGeneration"),
        "pcie_gen_max": device.ask("nvmlDeviceGetMaxPcieLinkGeneration"),
        "pcie_width": device.ask("nvmlDeviceGetCurrPcieLinkWidth"),
        "pcie_width_max": device.ask("nvmlDeviceGetMaxPcieLinkWidth"),
        "pcie_replays": device.ask("nvmlDeviceGetPcieReplayCounter"),
    }


def health(device: Any) -> dict[str, Any]:
    """ECC (volatile counters), remapped rows, persistence, compute mode, the driver's advice."""
    rows = device.ask("nvmlDeviceGetRemappedRows")
    ecc = device.ask("nvmlDeviceGetEccMode")
    return {
        "persistence": _each(device.ask("nvmlDeviceGetPersistenceMode"), bool),
        "ecc_enabled": _each(ecc, lambda pair: pair[0] == 1),
        "ecc_corrected": device.ask("nvmlDeviceGetTotalEccErrors", 0, 0),
        "ecc_uncorrected": device.ask("nvmlDeviceGetTotalEccErrors", 1, 0),
        "remapped_corrected": _each(rows, lambda row: row[0]),
        "remapped_uncorrected": _each(rows, lambda row: row[1]),
        "remap_pending": _each(rows, lambda row: bool(row[2])),
        "remap_failed": _each(rows, lambda row: bool(row[3])),
        "recovery_action": _recovery(device),
        "compute_mode": _each(device.ask("nvmlDeviceGetComputeMode"), lambda mode: _named(COMPUTE_MODES, mode)),
    }


def _each(value: Any, convert: Callable[[Any], Any]) -> Any:
    return value if is_unknown(value) else convert(value)


def _named(names: tuple[str, ...], number: int) -> str:
    return names[number] if 0 <= number < len(names) else f"number {number}"


def _recovery(device: Any) -> Any:
    """A field value carries its own return code; the call succeeds all the same."""
    values = device.ask("nvmlDeviceGetFieldValues", (RECOVERY_FIELD,))
    if is_unknown(values):
        return values
    value = values[0]
    if value.nvmlReturn != 0:
        return unknown("n/a: not supported by this GPU")
    return _named(RECOVERY, int(value.value.uiVal))
