"""Disks as rows, the worst first."""

from __future__ import annotations

from typing import NamedTuple

from console.events.host import Disk, DiskState
from console.state import HostState
from console.state.disk_trend import seconds_to_full
from console.values import Unknown, format_bytes, format_duration, format_gb, known

INODES_LOW = 100  # fewer than the files of one download: as good as full
SOON_S, VERY_SOON_S = 3600.0, 900.0
LOW_RATIO, LOW_BYTES = 0.1, 50 * 10**9


class DiskRow(NamedTuple):
    """`used` is the ratio 0…1 of what can no longer be used, None where unknown; `word` names what is wrong."""

    mount: str
    used: float | None
    used_text: str
    left_text: str
    left_full_text: str
    detail: str
    kind: str
    word: str


_KINDS: dict[DiskState, str] = {"ok": "ok", "full": "fail", "read_only": "fail", "stuck": "warn", "error": "fail"}
_RANK = {"fail": 0, "warn": 1, "unknown": 2, "ok": 3}


def disk_rows(host: HostState) -> list[DiskRow]:
    """A row for each disk: those in trouble first, then by what is left, RAM disks last."""
    disks = host.hardware.disks
    if not known(disks):
        return []
    pairs = sorted(((disk, disk_row(host, disk)) for disk in disks), key=lambda pair: _order(*pair))
    return [row for _, row in pairs]


def _order(disk: Disk, row: DiskRow) -> tuple[int, bool, float]:
    return _RANK[row.kind], disk.is_ram, -row.used if row.used is not None else 0.0


def disk_state(disk: Disk) -> tuple[DiskState, str]:
    """The state and its reason: a disk that is almost out of inodes takes no more files."""
    if disk.state == "ok" and known(disk.inodes_free) and disk.inodes_free < INODES_LOW:
        return "full", f"{disk.inodes_free} inodes left"
    return disk.state, disk.state_reason


def full_in_s(host: HostState, disk: Disk) -> float | Unknown:
    """Seconds until the disk is full at the rate of the last minutes."""
    if not known(disk.available_bytes):
        return disk.available_bytes
    return seconds_to_full(tuple(host.hardware.disk_rings.get(disk.device_id or disk.mount, ())))


def disk_row(host: HostState, disk: Disk) -> DiskRow:
    """One disk."""
    used = used_ratio(disk)
    kind, word = _word(host, disk, used)
    return DiskRow(
        mount=disk.mount,
        used=used,
        used_text=f"{used * 100:.0f}%" if used is not None else "?",
        left_text=format_gb(disk.available_bytes) if known(disk.available_bytes) else "?",
        left_full_text=format_bytes(disk.available_bytes),
        detail=_detail(disk),
        kind=kind,
        word=word,
    )


def used_ratio(disk: Disk) -> float | None:
    """What this user can no longer use, 0…1."""
    if not known(disk.total_bytes) or not known(disk.available_bytes) or disk.total_bytes <= 0:
        return None
    return min(1.0, max(0.0, 1 - disk.available_bytes / disk.total_bytes))


def _word(host: HostState, disk: Disk, used: float | None) -> tuple[str, str]:
    state, _ = disk_state(disk)
    if state != "ok":
        return _KINDS[state], state.replace("_", " ")
    left_s = full_in_s(host, disk)
    soon_s = VERY_SOON_S if disk.is_ram else SOON_S  # what programs take of a RAM disk's memory, they give back
    if known(left_s) and left_s < soon_s:
        return "fail" if left_s < VERY_SOON_S else "warn", f"full in {_minutes(left_s)}"
    low = used is not None and used > 1 - LOW_RATIO and known(disk.available_bytes) and disk.available_bytes < LOW_BYTES
    return ("warn", "low") if low and not disk.is_ram else ("ok", "ok")


def _minutes(seconds: float) -> str:
    """An estimate needs no seconds."""
    return format_duration(seconds) if seconds < 60 else f"{seconds / 60:.0f} min"


def _detail(disk: Disk) -> str:
    """What it is, what limits it, and the reason for its state."""
    parts: list[str] = [disk.fstype]
    if disk.is_ram:
        parts.append("RAM")
    if disk.limited_by:
        parts.append(f"by {disk.limited_by}")
    if known(disk.reserved_bytes) and disk.reserved_bytes > LOW_BYTES:
        parts.append(f"{format_gb(disk.reserved_bytes)} reserved for root")
    if reason := disk_state(disk)[1]:
        parts.append(reason)
    if disk.other_mounts:
        parts.append(f"also {', '.join(disk.other_mounts)}")
    return " ".join(parts)


def disk_sentence(host: HostState, disk: Disk) -> str:
    """What is wrong with a disk; empty when nothing is."""
    used = used_ratio(disk)
    kind, word = _word(host, disk, used)
    if kind == "ok":
        return ""
    state, reason = disk_state(disk)
    free = f"{format_gb(disk.available_bytes)} left" if known(disk.available_bytes) else ""
    told = ": ".join(part for part in (word, reason) if part)
    return f"disk {disk.mount} {', '.join(part for part in (told, free if state != 'read_only' else '') if part)}"
