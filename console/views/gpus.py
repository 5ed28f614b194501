"""GPUs as rows: one record a GPU, texts ready to print, ratios for bars."""

from __future__ import annotations

from typing import NamedTuple

from console.events.host import GpuGauges, GpuProcess
from console.state import HostState
from console.state.host import Gpu
from console.values import Unknown, known
from console.views.status import gpu_state

GIB = 1 << 30


class GpuRow(NamedTuple):
    """`util` and `memory` are ratios 0…1, None where unknown; `kind` is the kind of state, `word` its name."""

    uuid: str
    number: str
    util: float | None
    util_text: str
    memory: float | None
    memory_text: str
    heat_text: str
    power_text: str
    clock_text: str
    kind: str
    word: str
    owner: str
    history: tuple[float | None, ...]


_WORDS = {"reset_required": "RESET", "lost": "LOST", "hung": "HUNG", "error": "ERROR", "missing": "MISSING"}


def gpu_rows(host: HostState) -> list[GpuRow]:
    """A row for each GPU, in NVML's order."""
    gpus = host.hardware.gpus
    return [_row(gpu) for gpu in gpus.values()] if known(gpus) else []


def _row(gpu: Gpu) -> GpuRow:
    kind, word = _state(gpu)
    gauges = gpu.gauges if kind != "fail" or gpu_state(gpu)[0] == "reset_required" else None
    total = gpu.identity.memory_total_bytes
    used = gauges.memory_used_bytes if gauges else Unknown("no reading")
    return GpuRow(
        uuid=gpu.identity.uuid,
        number=str(gpu.identity.index),
        util=_ratio(gauges.util_pct, 100) if gauges else None,
        util_text=_text(gauges, "util_pct", "{}%"),
        memory=_ratio(used, total),
        memory_text=f"{_gib(used)}/{_gib(total)}",
        heat_text=_text(gauges, "temperature_c", "{}°"),
        power_text=_text(gauges, "power_w", "{:.0f}"),
        clock_text=_text(gauges, "sm_clock_mhz", "{}"),
        kind=kind,
        word=word,
        owner=_owner(gpu),
        history=tuple(value / 100 if known(value) else None for value in gpu.util_ring),
    )


def _state(gpu: Gpu) -> tuple[str, str]:
    state, _ = gpu_state(gpu)
    if state != "ok":
        return "fail", _WORDS[state]
    if gpu.gauges is None:
        return "unknown", "wait"
    throttle = gpu.gauges.throttle
    if known(throttle):
        if "hw_slowdown" in throttle:
            return "fail", "SLOW"
        if "thermal" in throttle:
            return "warn", "HOT"
    return "ok", "ok"


def _ratio(value: float | Unknown, whole: float | Unknown) -> float | None:
    if not known(value) or not known(whole) or whole <= 0:
        return None
    return min(1.0, max(0.0, value / whole))


def _gib(value: int | Unknown) -> str:
    return f"{value / GIB:.1f}" if known(value) else "?"


def _text(gauges: GpuGauges | None, field: str, pattern: str) -> str:
    value = getattr(gauges, field) if gauges else Unknown("no reading")
    return pattern.format(value) if known(value) else "n/a" if gauges else "?"


def _owner(gpu: Gpu) -> str:
    if not known(gpu.processes):
        return ""
    return ", ".join(map(_process, gpu.processes))


def _process(process: GpuProcess) -> str:
    user = process.user if known(process.user) else "?"
    command = process.command if known(process.command) else f"pid {process.pid}"
    return f"{user}:{command}"


def gpu_summary(host: HostState) -> str:
    """The line below the table: mean utilisation, memory and power of all."""
    gpus = host.hardware.gpus
    gauges = [gpu.gauges for gpu in gpus.values() if gpu.gauges] if known(gpus) else []
    utils = [one.util_pct for one in gauges if known(one.util_pct)]
    used = [one.memory_used_bytes for one in gauges if known(one.memory_used_bytes)]
    watts = [one.power_w for one in gauges if known(one.power_w)]
    parts = []
    if utils:
        parts.append(f"mean {sum(utils) / len(utils):.0f}%")
    if used:
        parts.append(f"{sum(used) / GIB:.0f} GiB used")
    if watts:
        parts.append(f"{sum(watts) / 1000:.1f} kW")
    return "  ".join(parts)


def gpu_title(host: HostState) -> str:
    """`8 × NVIDIA …`, with the expected count where it differs."""
    gpus = host.hardware.gpus
    if not known(gpus):
        return ""
    expected = host.hardware.gpus_expected
    here = sum(gpu.missing_since_t is None for gpu in gpus.values())
    whole = max(len(gpus), expected) if known(expected) else len(gpus)
    count = f"{here} of {whole}" if here != whole else str(whole)
    names = sorted({str(gpu.identity.name) for gpu in gpus.values() if known(gpu.identity.name)})
    return f"{count} × {', '.join(names) or 'GPU'}" if gpus else "none"
