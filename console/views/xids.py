"""The Xid errors of a box as lines and as data."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from console.state import HostState
from console.state.host import Xid
from console.state.xid_meaning import Kind, index_of, xid_meaning
from console.values import Unknown

DAY_S = 86400.0


def xid_lines(host: HostState, now: float) -> list[tuple[Kind, str]]:
    """`last Xid 79, 14:02:11Z, 3 in 24 h: …` for each GPU that had one, the latest first."""
    latest: dict[str, Xid] = {}
    for xid in host.hardware.xids:
        latest[str(xid.fact.pci_bus_id)] = xid
    shown = sorted(latest.items(), key=lambda item: item[1].t, reverse=True)
    return [(xid_meaning(xid.fact.xid).kind, _line(host, place, xid, now)) for place, xid in shown]


def _line(host: HostState, place: str, xid: Xid, now: float) -> str:
    index = index_of(host, xid.fact)
    where = f"GPU {index}" if index is not None else place
    today = sum(one.t >= now - DAY_S for one in host.hardware.xids if str(one.fact.pci_bus_id) == place)
    return (
        f"{where}: last Xid {xid.fact.xid}, {_moment(xid, now)}, {today} in 24 h: {xid_meaning(xid.fact.xid).sentence}"
    )


def _moment(xid: Xid, now: float) -> str:
    """The box's time of day, with the date when it was longer ago than half a day."""
    moment = _utc(xid.fact.at)
    if moment is None:
        return "at an unknown time"
    return moment.strftime("%H:%M:%SZ" if now - xid.t < DAY_S / 2 else "%Y-%m-%d %H:%M:%SZ")


def _utc(at: float) -> datetime | None:
    """None for a number that is no moment: recordings may come from anybody."""
    try:
        return datetime.fromtimestamp(at, UTC)
    except (ValueError, OverflowError, OSError):
        return None


def xids_value(host: HostState) -> list[dict[str, Any]]:
    """`xid` of the status object, the oldest first."""
    return [
        {
            "xid": xid.fact.xid,
            "at": moment.isoformat(timespec="milliseconds").replace("+00:00", "Z") if moment else Unknown("no moment"),
            "gpu_index": index_of(host, xid.fact),
            "uuid": xid.fact.uuid,
            "pci_bus_id": xid.fact.pci_bus_id,
            "source": xid.fact.source,
            "severity": xid_meaning(xid.fact.xid).kind,
            "meaning": xid_meaning(xid.fact.xid).sentence,
            "detail": xid.fact.detail,
        }
        for xid, moment in ((xid, _utc(xid.fact.at)) for xid in host.hardware.xids)
    ]
