"""Disks as rows, the worst first."""

from __future__ import annotations

from typing import NamedTuple

from console.events.host import Disk
from console.state import HostState
from console.values import format_bytes, format_gb, known


class DiskRow(NamedTuple):
    """`used` is the ratio 0…1 of what can no longer be used, None where unknown."""

    mount: str
    used: float | None
    used_text: str
    left_text: str
    left_full_text: str
    detail: str
    kind: str
    word: str


_KINDS = {"ok": "ok", "full": "fail", "read_only": "fail", "stuck": "warn", "error": "fail"}
_RANK = {"fail": 0, "warn": 1, "unknown": 2, "ok": 3}


def disk_rows(host: HostState) -> list[DiskRow]:
    """A row for each disk: those in trouble first, then by what is left, RAM disks last."""
    disks = host.hardware.disks
    if not known(disks):
        return []
    pairs = sorted(((disk, _row(disk)) for disk in disks), key=lambda pair: _order(*pair))
    return [row for _, row in pairs]


def _order(disk: Disk, row: DiskRow) -> tuple[int, bool, float]:
    return _RANK[row.kind], disk.is_ram, -row.used if row.used is not None else 0.0


def _row(disk: Disk) -> DiskRow:
    used = None
    if known(disk.total_bytes) and known(disk.available_bytes) and disk.total_bytes > 0:
        used = min(1.0, max(0.0, 1 - disk.available_bytes / disk.total_bytes))
    marks = [disk.fstype, *(["RAM"] if disk.is_ram else [])]
    return DiskRow(
        mount=disk.mount,
        used=used,
        used_text=f"{used * 100:.0f}%" if used is not None else "?",
        left_text=format_gb(disk.available_bytes),
        left_full_text=format_bytes(disk.available_bytes),
        detail=" ".join([*marks, disk.state_reason]).strip(),
        kind=_KINDS[disk.state],
        word=disk.state.replace("_", " "),
    )
