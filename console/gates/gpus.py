"""The gpus gate: are the recipe's GPUs there, in order, free, and alike."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from console.events.host import GpuProcess
from console.gates.gate import Gate, Verdict
from console.models.budget import BALANCE, imbalance
from console.state.host import Gpu, Hardware
from console.values import CleanText, Unknown, format_gib, known

_LOOK = "gpudeck doctor HOST says what is wrong with the driver, `gpus` names others"
IDLE_BYTES = 1 << 30  # what a GPU may hold and still count as free: contexts of monitors and desktops


class GpuView(msgspec.Struct, frozen=True, kw_only=True):
    """One GPU as the probes last saw it."""

    index: int
    uuid: CleanText
    name: CleanText | Unknown
    state: str
    total_bytes: int | Unknown
    reserved_bytes: int | Unknown
    used_bytes: int | Unknown
    processes: tuple[GpuProcess, ...] | Unknown


class Absent(Unknown, frozen=True, eq=False, rename={"reason": "unknown"}):
    """GPUs that the recipe wants and the box does not have. Nothing can be computed for them, but that is known."""


def choose(
    gpus: Sequence[GpuView],
    wanted: Sequence[int | str] | None,
    count: int,
    own_pids: frozenset[int] = frozenset(),
) -> tuple[GpuView, ...] | Unknown:
    """The GPUs of a recipe: those it names by index or UUID, else the first `count` free ones by index."""
    if wanted is None:
        free = [gpu for gpu in gpus if gpu.state == "ok" and is_free(gpu, own_pids)]
        chosen = free if len(free) >= count else list(gpus)
        if len(chosen) < count:
            return Absent(f"the recipe needs {count} GPUs, the box has {len(gpus)}")
        return tuple(chosen[:count])
    by_key: dict[int | str, GpuView] = {gpu.index: gpu for gpu in gpus} | {gpu.uuid: gpu for gpu in gpus}
    missing = [str(key) for key in wanted if key not in by_key]
    if missing:
        return Absent(f"there is no GPU {', '.join(missing)} on this box")
    return tuple(by_key[key] for key in wanted)


def foreign_bytes(gpu: GpuView, own_pids: frozenset[int]) -> int | Unknown:
    """Memory that a launch will not get: all that is used, less what our own server gives back when it stops."""
    if not known(gpu.used_bytes):
        return gpu.used_bytes
    if not known(gpu.processes):
        return gpu.used_bytes
    ours = [p.memory_bytes for p in gpu.processes if p.pid in own_pids and known(p.memory_bytes)]
    return max(0, gpu.used_bytes - sum(ours))


def is_free(gpu: GpuView, own_pids: frozenset[int]) -> bool:
    """Nothing of others on it that counts."""
    amount = foreign_bytes(gpu, own_pids)
    return known(amount) and amount < IDLE_BYTES


def gpus_gate(gpus: tuple[GpuView, ...] | Unknown, *, needed: int, own_pids: frozenset[int] = frozenset()) -> Gate:
    """`needed`: ranks of the layout. `own_pids`: processes of a server that this launch replaces."""
    if needed == 0:
        return _gate("pass", "none", "", "This recipe takes no GPU.")
    if isinstance(gpus, Absent):
        sentence = f"{gpus.reason[:1].upper()}{gpus.reason[1:]}."
        return _gate("block", "absent", "", sentence, ("change `gpus`, tp or pp", "a box that has them"))
    if not known(gpus):
        return _gate("unknown", "unknown", "", f"The GPUs are not known: {gpus.reason}.", (_LOOK,))
    subject = ", ".join(f"GPU {gpu.index}" for gpu in gpus)
    if len(gpus) != needed:
        sentence = f"tp × pp needs {needed} GPUs, the recipe has {len(gpus)}."
        return _gate("block", "count", subject, sentence, ("change `gpus`, tp or pp",))
    broken = [gpu for gpu in gpus if gpu.state != "ok"]
    if broken:
        said = ", ".join(f"GPU {gpu.index} is {gpu.state.replace('_', ' ')}" for gpu in broken)
        return _gate("block", broken[0].state, subject, f"{said}.", ("leave it out with `gpus`", "reset or reboot"))
    held = [(gpu, foreign_bytes(gpu, own_pids)) for gpu in gpus]
    unread = next((amount for _, amount in held if not known(amount)), None)
    if unread is not None:
        return _gate("unknown", "unknown", subject, f"Who holds the GPUs is not known: {unread.reason}.", (_LOOK,))
    return _free(subject, [(gpu, amount) for gpu, amount in held if known(amount)], own_pids)


def _free(subject: str, held: list[tuple[GpuView, int]], own_pids: frozenset[int]) -> Gate:
    numbers: dict[str, Any] = {
        "gpus": [{"uuid": gpu.uuid, "index": gpu.index, "foreign_bytes": amount} for gpu, amount in held]
    }
    totals = [gpu.total_bytes - amount for gpu, amount in held if known(gpu.total_bytes)]
    odd = imbalance(tuple(float(total) for total in totals)) if len(totals) == len(held) else None
    busy = [(gpu, amount) for gpu, amount in held if amount >= IDLE_BYTES]
    said = " ".join(_who(gpu, amount, own_pids) for gpu, amount in busy)
    if odd is not None:
        lowest = held[odd][0]
        sentence = (
            f"{said} SGLang refuses unbalanced GPUs: GPU {lowest.index} has {format_gib(totals[odd])} free,"
            f" less than {BALANCE:g} of {format_gib(max(totals))}."
        ).strip()
        return _gate("block", "unbalanced", subject, sentence, _ways(busy), numbers)
    if busy:
        return _gate("warn", "in_use", subject, said, _ways(busy), numbers)
    return _gate("pass", "free", subject, f"{subject}: free and alike.", (), numbers)


def _who(gpu: GpuView, amount: int, own_pids: frozenset[int]) -> str:
    names = []
    if known(gpu.processes):
        for process in gpu.processes:
            if process.pid not in own_pids:
                user = process.user if known(process.user) else "somebody"
                command = process.command if known(process.command) else "a process"
                names.append(f"{user}: {command} (pid {process.pid}, {format_gib(process.memory_bytes)})")
    return f"GPU {gpu.index} holds {format_gib(amount)} of others: {', '.join(names) or 'no process is listed'}."


def _ways(busy: list[tuple[GpuView, int]]) -> tuple[str, ...]:
    return ("wait for them or ask their owner", "other `gpus` in the recipe") if busy else ("GPUs of one size",)


def _gate(
    verdict: Verdict,
    state: str,
    subject: str,
    sentence: str,
    ways: tuple[str, ...] = (),
    numbers: dict[str, Any] | None = None,
) -> Gate:
    return Gate(
        name="gpus",
        verdict=verdict,
        state=state,
        subject=subject,
        sentence=sentence,
        way_out=ways,
        numbers=numbers or {},
    )


def views_of(hardware: Hardware) -> tuple[GpuView, ...] | Unknown:
    """The GPUs of a box as its last samples say."""
    if not known(hardware.gpus):
        return hardware.gpus
    return tuple(_view(gpu) for gpu in hardware.gpus.values())


def _view(gpu: Gpu) -> GpuView:
    identity, gauges = gpu.identity, gpu.gauges
    unread = Unknown("not sampled yet")
    gone = gpu.missing_since_t is not None
    return GpuView(
        index=identity.index,
        uuid=identity.uuid,
        name=identity.name,
        state="missing" if gone else gauges.state if gauges else "ok",
        total_bytes=identity.memory_total_bytes,
        reserved_bytes=gauges.memory_reserved_bytes if gauges else unread,
        used_bytes=gauges.memory_used_bytes if gauges else unread,
        processes=gpu.processes,
    )
