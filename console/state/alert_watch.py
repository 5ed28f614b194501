"""Which facts begin and end an alert. Called behind the reducer of the same fact, so that the state is the new one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from console.events import Event, bench, host, hub, link, serve
from console.state.alerts import between
from console.state.disk_trend import seconds_to_full
from console.state.host import Gpu, gpu_state
from console.state.strangers import strangers
from console.state.xid_meaning import index_of, xid_meaning, xid_sentence
from console.values import Unknown, format_duration, format_gib, known

if TYPE_CHECKING:
    from console.state.model import HostState

FULL_SOON_S, FULL_LATER_S = 900.0, 1200.0
HOT_BELOW_LIMIT_C, COOLER_C = 10, 2
WARM_C = 83  # where the driver tells no limit
XID_NEWS_S = 3600.0
_NO_TREND = Unknown("no trend")


def _link(box: HostState, event: link.LinkChanged, t: float) -> None:
    alerts = box.alerts
    if event.state in ("lost", "blocked"):
        alerts.hold("link", "fail", f"link {event.state}: {event.sentence}".rstrip(": "), t)
    elif event.state == "stale":
        alerts.hold("link", "warn", "no sign of life", t)
    elif event.state == "up":
        alerts.leave("link", t)


def _gpus(box: HostState, _event: Event, t: float) -> None:
    gpus = box.hardware.gpus
    if not known(gpus):
        return
    for uuid, gpu in gpus.items():
        state, reason = gpu_state(gpu)
        if state != "ok":
            said = f"GPU {gpu.identity.index} {state.replace('_', ' ')}: {reason}".rstrip(": ")
            box.alerts.hold(f"gpu {uuid}", "fail", said, t)
        elif gpu.gauges is not None:
            box.alerts.leave(f"gpu {uuid}", t)
        _heat(box, uuid, gpu, t)


def _heat(box: HostState, uuid: str, gpu: Gpu, t: float) -> None:
    heat = gpu.gauges.temperature_c if gpu.gauges else _NO_TREND
    if not known(heat):
        return
    limit = gpu.identity.temperature_slowdown_c
    hot = limit - HOT_BELOW_LIMIT_C if known(limit) else WARM_C
    begins = between(float(-heat), -hot, -(hot - COOLER_C))
    if begins:
        box.alerts.hold(f"heat {uuid}", "warn", f"GPU {gpu.identity.index} reached {heat} °C", t)
    elif begins is False:
        box.alerts.leave(f"heat {uuid}", t)


def _disks(box: HostState, event: host.DisksSampled, t: float) -> None:
    for disk in event.disks if known(event.disks) else ():
        about = f"disk {disk.mount}"
        ring = box.hardware.disk_rings.get(disk.device_id or disk.mount, ())
        left = seconds_to_full(tuple(ring)) if ring else _NO_TREND
        fills = between(left, FULL_SOON_S, FULL_LATER_S)
        if disk.state in ("full", "read_only", "error"):
            said = f"disk {disk.mount} {disk.state.replace('_', ' ')}: {disk.state_reason}".rstrip(": ")
            box.alerts.hold(about, "fail", said, t)
        elif fills and known(left):
            box.alerts.hold(about, "fail", f"disk {disk.mount} full in {format_duration(left)}", t)
        elif fills is False or (about in box.alerts.current and not known(left)):
            box.alerts.leave(about, t)


def _strangers(box: HostState, _event: Event, t: float) -> None:
    found = strangers(box)
    for one in found:
        who = one.process.user if known(one.process.user) else "somebody"
        where = ", ".join(map(str, one.gpus))
        said = f"{who} (pid {one.process.pid}) holds {format_gib(one.bytes)} on GPU {where}"
        box.alerts.hold(f"user {one.process.pid}", "warn", said, t)
    box.alerts.leave_all("user ", t, but=frozenset(f"user {one.process.pid}" for one in found))


def _xid(box: HostState, event: host.XidReported, t: float) -> None:
    kind = xid_meaning(event.xid).kind
    newest = box.hardware.xids[-1].fact if box.hardware.xids else None
    if newest is event and kind != "info" and event.age_s < XID_NEWS_S:
        box.alerts.hold(xid_id(event), kind, xid_sentence(event, index_of(box, event)), t, once=True)


def xid_id(event: host.XidReported) -> str:
    """What an alert of this very error is called."""
    return f"xid {event.xid} {event.uuid if known(event.uuid) else event.pci_bus_id} {event.at:.0f}"


def _probe(box: HostState, event: host.ProbeStuck, t: float) -> None:
    about = f"probe {event.probe}"
    if event.stuck_s > 0:
        box.alerts.hold(about, "warn", f"probe {event.probe} stuck {format_duration(event.stuck_s)}", t)
    else:
        box.alerts.leave(about, t)


def _ended(box: HostState, event: serve.ServerEnded, t: float) -> None:
    if event.phase == "crashed":
        said = f"server crashed in {event.cause_phase.replace('_', ' ')}: {event.cause}"
        box.alerts.hold(f"server {event.server}", "fail", said, t, once=True)
        box.alerts.tell("ready", said, t)


def _proved(box: HostState, event: serve.ServerProved, t: float) -> None:
    box.alerts.leave_all("server ", t)
    box.alerts.tell("ready", f"READY: {event.server} answers", t)


def _unproved(box: HostState, event: serve.ServerUnproved, t: float) -> None:
    box.alerts.hold(f"server {event.server}", "warn", event.sentence, t)


def _fell_short(box: HostState, event: hub.DownloadFellShort, t: float) -> None:
    said = f"download of {event.repo}: {event.state.replace('_', ' ')} {event.text}".rstrip()
    box.alerts.hold(f"repo {event.repo}", "fail", said, t, once=True)
    box.alerts.tell("proved", said, t)


def _verified(box: HostState, event: hub.RepoVerified, t: float) -> None:
    if event.result == "ok":
        box.alerts.leave(f"repo {event.repo}", t)
        box.alerts.tell("proved", f"{event.repo} proved: {event.ok} of {event.files} files", t)
        return
    said = f"{event.repo}: {bad_files(len(event.bad))}"
    box.alerts.hold(f"repo {event.repo}", "fail", said, t, once=True)
    box.alerts.tell("proved", said, t)


def bad_files(count: int) -> str:
    """What a verification found wrong."""
    return "1 file is not what it must be" if count == 1 else f"{count} files are not what they must be"


def _progressed(box: HostState, event: hub.DownloadProgressed, t: float) -> None:
    box.alerts.leave(f"repo {event.repo}", t)


def _measured(box: HostState, event: bench.BenchEnded, t: float) -> None:
    box.alerts.tell("measured", event.sentence or f"benchmark {event.run} is measured", t)


WATCHES: Mapping[type[Event], Callable[[HostState, Any, float], None]] = {
    link.LinkChanged: _link,
    host.GpusSampled: _gpus,
    host.GpusIdentified: _gpus,
    host.GpuProcessesSampled: _strangers,
    serve.ServersSampled: _strangers,
    host.DisksSampled: _disks,
    host.XidReported: _xid,
    host.ProbeStuck: _probe,
    serve.ServerEnded: _ended,
    serve.ServerProved: _proved,
    serve.ServerUnproved: _unproved,
    hub.DownloadFellShort: _fell_short,
    hub.DownloadProgressed: _progressed,
    hub.RepoVerified: _verified,
    bench.BenchEnded: _measured,
}
