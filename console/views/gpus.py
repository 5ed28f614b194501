"""GPUs as rows: one record a GPU, texts ready to print, ratios for bars."""

from __future__ import annotations

from typing import NamedTuple

from console.events.host import GpuGauges, GpuProcess
from console.state import HostState
from console.state.host import Gpu, gpu_state
from console.values import Unknown, known
from console.views.gpu_findings import Finding, gpu_findings

GIB = 1 << 30
_NOT_YET = Unknown("not sampled yet")
_NOT_ASKED = ("not sampled yet", "not read", "not asked")


class GpuRow(NamedTuple):
    """`util` and `memory` are ratios 0…1, None where unknown; `kind` is the kind of state, `word` its name.

    `mode` stands in for the utilisation where there is none (`MIG`); `capped`: held at its power limit, which
    is normal under load.
    """

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
    mode: str
    capped: bool


_WORDS = {"reset_required": "RESET", "lost": "LOST", "hung": "HUNG", "error": "ERROR", "missing": "MISSING"}


def mark(value: Unknown) -> str:
    """`n/a` for what cannot be told, `-` for what was not asked yet, `?` for what failed now."""
    if value.reason.startswith("n/a"):
        return "n/a"
    return "-" if value.reason in _NOT_ASKED else "?"


def gpu_rows(host: HostState, now: float) -> list[GpuRow]:
    """A row for each GPU, in NVML's order."""
    gpus = host.hardware.gpus
    return [_row(gpu, now) for gpu in gpus.values()] if known(gpus) else []


def _row(gpu: Gpu, now: float) -> GpuRow:
    kind, word = _state(gpu, now)
    gauges = gpu.gauges if gpu_state(gpu)[0] != "missing" else None
    total = gpu.identity.memory_total_bytes
    used = gauges.memory_used_bytes if gauges else _NOT_YET
    throttle = gauges.throttle if gauges else _NOT_YET
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
        mode="MIG" if gpu.identity.mig_enabled is True else "",
        capped=known(throttle) and "power_cap" in throttle,
    )


def _state(gpu: Gpu, now: float) -> tuple[str, str]:
    """The GPU's own state, else the worst of what was found about it."""
    state, _ = gpu_state(gpu)
    if state != "ok":
        return "fail", _WORDS[state]
    if gpu.gauges is None:
        return "unknown", "wait"
    worst = next((found for found in gpu_findings(gpu, now) if found.word), None)
    return (worst.kind, worst.word) if worst else ("ok", "ok")


def _ratio(value: float | Unknown, whole: float | Unknown) -> float | None:
    if not known(value) or not known(whole) or whole <= 0:
        return None
    return min(1.0, max(0.0, value / whole))


def _gib(value: int | Unknown) -> str:
    return f"{value / GIB:.1f}" if known(value) else mark(value)


def _text(gauges: GpuGauges | None, field: str, pattern: str) -> str:
    value = getattr(gauges, field) if gauges else _NOT_YET
    return pattern.format(value) if known(value) else mark(value)


def _owner(gpu: Gpu) -> str:
    if not known(gpu.processes):
        return ""
    return ", ".join(map(process_text, gpu.processes))


def process_text(process: GpuProcess) -> str:
    """`user:program`; one of another PID namespace or user is known by its number alone."""
    if not known(process.command):
        return f"pid {process.pid} (not visible here)"
    user = process.user if known(process.user) else "?"
    started = f", {process.job}" if process.job.startswith("exec of ") else ""
    return f"{user}:{program(process.command)}{started}"


def program(command: str) -> str:
    """The program in a command line: `sglang.launch_server` for `/v/bin/python3 -m sglang.launch_server …`,
    `sglang TP0` for the name that a worker of SGLang gives itself."""
    words = command.split() or [command]
    name = words[0].rsplit("/", 1)[-1].replace("sglang::scheduler_", "sglang ")
    if not name.startswith("python") or len(words) < 2:
        return name
    if "-m" in words[1:-1]:
        return words[words.index("-m") + 1]
    script = next((word for word in words[1:] if not word.startswith("-")), name)
    return script.rsplit("/", 1)[-1]


def gpu_summary(host: HostState) -> str:
    """The line below the table: mean utilisation, memory and power of all, the last Xid."""
    gpus = host.hardware.gpus
    gauges = [gpu.gauges for gpu in gpus.values() if gpu.gauges] if known(gpus) else []
    wholes = [gpu.identity.memory_total_bytes for gpu in gpus.values()] if known(gpus) else []
    utils = [one.util_pct for one in gauges if known(one.util_pct)]
    used = [one.memory_used_bytes for one in gauges if known(one.memory_used_bytes)]
    watts = [one.power_w for one in gauges if known(one.power_w)]
    parts = []
    if utils:
        parts.append(f"mean util {sum(utils) / len(utils):.0f}%")
    if used:
        whole = sum(one for one in wholes if known(one))
        parts.append(f"{sum(used) / GIB:.0f}/{whole / GIB:.0f} GiB")
    if watts:
        parts.append(f"{sum(watts) / 1000:.1f} kW")
    if host.hardware.xids:
        parts.append(f"Xid {max(host.hardware.xids, key=lambda xid: xid.t).fact.xid}")
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
    unified = ", unified memory" if any(gpu.identity.unified_memory for gpu in gpus.values()) else ""
    return f"{count} × {', '.join(names) or 'GPU'}{unified}" if gpus else "none"


class Note(NamedTuple):
    """A finding and the GPUs that it is true of."""

    who: str
    finding: Finding


def gpu_notes(host: HostState, now: float) -> list[Note]:
    """Why a GPU is not ok, and all that was found about it, the worst first; the same of several in one line."""
    gpus = host.hardware.gpus
    grouped: dict[Finding, list[int]] = {}
    for gpu in gpus.values() if known(gpus) else ():
        for finding in _said(gpu, now):
            grouped.setdefault(finding, []).append(gpu.identity.index)
    notes = [Note(f"GPU {ranges(indices)}", finding) for finding, indices in grouped.items()]
    return sorted(notes, key=lambda note: ("fail", "warn", "info").index(note.finding.kind))


def _said(gpu: Gpu, now: float) -> list[Finding]:
    state, reason = gpu_state(gpu)
    trouble = [] if state == "ok" else [Finding("fail", f"{state.replace('_', ' ')}: {reason}")]
    return [*trouble, *gpu_findings(gpu, now)] if state != "missing" else trouble


def ranges(numbers: list[int]) -> str:
    """`0-3, 5` of 0, 1, 2, 3, 5."""
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)
