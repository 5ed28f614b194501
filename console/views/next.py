"""The NEXT line: the one fact that blocks most, and the key that resolves it."""

from __future__ import annotations

from typing import NamedTuple

from console.events.link import HostKeyAsked, HostKeyChanged
from console.gates.access import access_gate
from console.gates.plan import blockers
from console.state import HostState
from console.state.serve import ENDED
from console.values import format_duration, known
from console.views.disks import disk_row, disk_sentence
from console.views.gpus import gpu_notes
from console.views.hub import access_word
from console.views.hub_transfers import fell_short_sentence
from console.views.serve import main_server
from console.views.server_pane import server_step
from console.views.status import gpu_state
from console.views.xids import index_of, xid_meaning, xid_sentence

XID_S = 3600.0


class Next(NamedTuple):
    """A sentence, how bad it is, and the key that leads on (empty when there is none)."""

    level: str  # ok | warn | fail | busy
    sentence: str
    key: str = ""


def next_step(host: HostState | None, now: float) -> Next:
    """The most blocking fact of a box."""
    if host is None:
        return Next("busy", "choose a host", "enter")
    return (
        _link(host, now)
        or _gpus(host)
        or _found(host, now, "fail")
        or _server(host, now, failed=True)
        or _hub(host)
        or _plan(host, blocked=True)
        or _disks(host, "fail")
        or _disks(host, "warn")
        or _probes(host)
        or _found(host, now, "warn")
        or _xids(host, now)
        or _server(host, now, failed=False)
        or _plan(host, blocked=False)
        or Next("ok", "nothing blocks")
    )


def _server(host: HostState, now: float, *, failed: bool) -> Next | None:
    step = server_step(host, now)
    return Next(*step) if step and (step[0] == "fail") == failed else None


def _link(host: HostState, now: float) -> Next | None:
    link = host.link
    if isinstance(link.host_key, HostKeyChanged):
        key = link.host_key
        return Next("fail", f"HOST KEY CHANGED for {key.target}: {key.file}:{key.line}", "enter")
    if isinstance(link.host_key, HostKeyAsked):
        return Next("warn", f"unknown host key of {link.host_key.target}: compare the fingerprint", "enter")
    if link.state == "blocked":
        return Next("fail", link.sentence, "r")
    if link.state == "lost":
        return Next("fail", f"link lost: {link.sentence}", "r")
    if link.state == "stale":
        age = format_duration(now - link.heard_t) if known(link.heard_t) else "unknown"
        return Next("warn", f"no sign of life for {age}")
    if link.state == "connecting":
        return Next("busy", link.sentence or f"connecting to {host.name}")
    return None


def _gpus(host: HostState) -> Next | None:
    gpus = host.hardware.gpus
    if not known(gpus):
        return Next("warn", f"GPUs unknown: {gpus.reason}", "2") if known(host.hardware.gpus_t) else None
    for gpu in gpus.values():
        state, reason = gpu_state(gpu)
        if state != "ok":
            return Next("fail", f"GPU {gpu.identity.index} {state}: {reason}", "2")
    expected = host.hardware.gpus_expected
    if known(expected) and len(gpus) < expected:
        return Next(
            "fail", f"{len(gpus)} of {expected} GPUs: {expected - len(gpus)} missing since an earlier visit", "2"
        )
    return None


def _hub(host: HostState) -> Next | None:
    for repo in host.hub.repos.values():
        if repo.fell_short is not None:
            return Next("fail", f"download of {fell_short_sentence(repo.fell_short)}", "3")
        if repo.verified is not None and repo.verified.result != "ok":
            return Next("fail", f"{repo.id}: {len(repo.verified.bad)} files are not what they must be", "3")
        if repo.access is not None and access_word(repo.access)[0] != "ok":
            return Next(access_word(repo.access)[0], access_gate(repo.access).sentence, "3")
    return None


def _plan(host: HostState, *, blocked: bool) -> Next | None:
    """The plan that was asked last: the gate that stops it, or that it may be started; none behind a server."""
    plan, server = host.plan.shown, main_server(host)
    if plan is None or (server is not None and server.phase not in ENDED):
        return None
    if plan.verdict is None:
        return None if blocked else Next("busy", f"{plan.recipe}: the gates are asked", "4")
    if not plan.exit_code:
        return None if blocked else Next("ok", f"{plan.recipe} passes every gate", "D")
    gates = blockers(plan.gates)
    if not blocked or not gates:
        return None
    level = "warn" if gates[0].verdict == "warn" else "fail"
    more = f" (and {len(gates) - 1} more)" if len(gates) > 1 else ""
    return Next(level, f"{plan.recipe} is stopped by {gates[0].name}{more}: {gates[0].sentence}", "4")


def _found(host: HostState, now: float, level: str) -> Next | None:
    """What was found about a GPU; settings, which have no word of their own, block nothing."""
    for note in gpu_notes(host, now):
        if note.finding.kind == level and note.finding.word:
            return Next(level, f"{note.who}: {note.finding.sentence}", "2")
    return None


def _xids(host: HostState, now: float) -> Next | None:
    """The last hour's errors that are no program's own fault."""
    recent = [xid for xid in host.hardware.xids if now - xid.t < XID_S and xid_meaning(xid.fact.xid).kind != "info"]
    if not recent:
        return None
    return Next("warn", xid_sentence(recent[-1].fact, index_of(host, recent[-1].fact)), "2")


def _disks(host: HostState, level: str) -> Next | None:
    disks = host.hardware.disks
    for disk in disks if known(disks) else ():
        row = disk_row(host, disk)
        if row.kind == level and row.word != "low":
            return Next(level, disk_sentence(host, disk), "2")
    return None


def _probes(host: HostState) -> Next | None:
    for probe, stuck_s in host.hardware.stuck.items():
        return Next("warn", f"probe {probe} stuck {format_duration(stuck_s)}")
    return None
