"""The NEXT line: the one fact that blocks most, and the key that resolves it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from console.events.link import HostKeyAsked, HostKeyChanged
from console.gates.access import access_gate
from console.gates.plan import blockers
from console.state import HostState
from console.state.alert_watch import bad_files, xid_id
from console.state.host import gpu_state
from console.state.serve import ENDED
from console.state.strangers import strangers
from console.state.xid_meaning import index_of, xid_meaning, xid_sentence
from console.values import format_duration, format_gib, known
from console.views.disks import disk_row, disk_sentence
from console.views.gpus import gpu_notes, process_text, ranges
from console.views.hub import access_word
from console.views.hub_transfers import fell_short_sentence, stalled_sentence
from console.views.serve import main_server
from console.views.server_pane import deploy_step, server_step
from console.views.upset import upsets

XID_S = 3600.0


class Next(NamedTuple):
    """A sentence, how bad it is, and the key that leads on (empty when there is none).

    `about`: the alert that says the same; one that was acknowledged is next no more.
    """

    level: str  # ok | warn | fail | busy
    sentence: str
    key: str = ""
    about: str = ""


Finder = Callable[[HostState, float], Iterator[Next]]


def next_step(host: HostState | None, now: float) -> Next:
    """The most blocking fact of a box."""
    return next_steps(host, now)[0]


def next_steps(host: HostState | None, now: float) -> list[Next]:
    """All that deserves a step, the most blocking first; never empty."""
    if host is None:
        return [Next("busy", "choose a host", "enter")]
    found = [step for finder in RANKING for step in finder(host, now) if not host.alerts.seen(step.about)]
    return found or [Next("ok", "nothing blocks", "D")]


def _link(host: HostState, _now: float) -> Iterator[Next]:
    link = host.link
    if isinstance(link.host_key, HostKeyChanged | HostKeyAsked):
        return
    if link.state == "blocked":
        yield Next("fail", link.sentence, "r", "link")
    if link.state == "lost":
        yield Next("fail", f"link lost: {link.sentence}", "r", "link")
    if link.state == "connecting":
        yield Next("busy", link.sentence or f"connecting to {host.name}")


def _host_key(host: HostState, _now: float) -> Iterator[Next]:
    key = host.link.host_key
    if isinstance(key, HostKeyChanged):
        yield Next("fail", f"HOST KEY CHANGED for {key.target}: {key.file}:{key.line}", "r")
    if isinstance(key, HostKeyAsked):
        yield Next("warn", f"unknown host key of {key.target}: compare the fingerprint", "r")


def _gpus(host: HostState, _now: float) -> Iterator[Next]:
    gpus = host.hardware.gpus
    if not known(gpus):
        if known(host.hardware.gpus_t):
            yield Next("warn", f"GPUs unknown: {gpus.reason}", "2")
        return
    for uuid, gpu in gpus.items():
        state, reason = gpu_state(gpu)
        if state != "ok":
            said = f"GPU {gpu.identity.index} {state.replace('_', ' ')}: {reason}"
            yield Next("fail", said, "2", f"gpu {uuid}")
    expected = host.hardware.gpus_expected
    if known(expected) and len(gpus) < expected:
        missing = expected - len(gpus)
        yield Next("fail", f"{len(gpus)} of {expected} GPUs: {missing} missing since an earlier visit", "2")


def _found(host: HostState, now: float, level: str) -> Iterator[Next]:
    """What was found about a GPU; settings, which have no word of their own, block nothing."""
    for note in gpu_notes(host, now):
        if note.finding.kind == level and note.finding.word:
            yield Next(level, f"{note.who}: {note.finding.sentence}", "2")


def _sick(host: HostState, now: float) -> Iterator[Next]:
    return _found(host, now, "fail")


def _crashed(host: HostState, now: float) -> Iterator[Next]:
    step = server_step(host, now)
    if step and step[0] == "fail":
        server = main_server(host)
        yield Next(*step, about=f"server {server.id}" if server else "")


def _living(host: HostState) -> bool:
    """A server starts or answers: what gates said before of recipes blocks nothing now."""
    server = main_server(host)
    return server is not None and server.phase not in ENDED


def _gates(host: HostState, _now: float) -> Iterator[Next]:
    """What stops the plan that was asked last; access, when no plan says more of it; bytes that are not right."""
    for repo in host.hub.repos.values():
        if repo.fell_short is not None:
            yield Next("fail", f"download of {fell_short_sentence(repo.fell_short)}", "3", f"repo {repo.id}")
        if repo.verified is not None and repo.verified.result != "ok":
            bad = len(repo.verified.bad)
            yield Next("fail", f"{repo.id}: {bad_files(bad)}", "3", f"repo {repo.id}")
    if _living(host):
        return
    plan = host.plan.shown
    asked = {plan.model, plan.draft} if plan else set(host.hub.repos)
    for name, repo in host.hub.repos.items():
        if name in asked and repo.access is not None and access_word(repo.access)[0] != "ok":
            yield Next(access_word(repo.access)[0], access_gate(repo.access).sentence, "3")
    if plan is not None and plan.verdict is not None and plan.exit_code and (gates := blockers(plan.gates)):
        level = "warn" if gates[0].verdict == "warn" else "fail"
        more = f" (and {len(gates) - 1} more)" if len(gates) > 1 else ""
        yield Next(level, f"{plan.recipe} is stopped by {gates[0].name}{more}: {gates[0].sentence}", "4")


def _disks(host: HostState, level: str) -> Iterator[Next]:
    disks = host.hardware.disks
    for disk in disks if known(disks) else ():
        row = disk_row(host, disk)
        if row.kind == level and row.word != "low":
            yield Next(level, disk_sentence(host, disk), "2", f"disk {disk.mount}")


def _full(host: HostState, _now: float) -> Iterator[Next]:
    return _disks(host, "fail")


def _strangers(host: HostState, _now: float) -> Iterator[Next]:
    for one in strangers(host):
        said = f"{process_text(one.process)} (pid {one.process.pid}) holds {format_gib(one.bytes)} of GPU "
        yield Next("warn", said + ranges(list(one.gpus)), "2", f"user {one.process.pid}")


def _stale(host: HostState, now: float) -> Iterator[Next]:
    link, hardware = host.link, host.hardware
    if link.state == "stale":
        age = format_duration(now - link.heard_t) if known(link.heard_t) else "unknown"
        yield Next("warn", f"no sign of life for {age}", "", "link")
    for probe, stuck_s in hardware.stuck.items():
        yield Next("warn", f"probe {probe} stuck {format_duration(stuck_s)}", "", f"probe {probe}")


def _stalled(host: HostState, now: float) -> Iterator[Next]:
    for repo in host.hub.repos.values():
        if sentence := stalled_sentence(repo, now):
            yield Next("warn", sentence, "3")


def _worrying(host: HostState, now: float) -> Iterator[Next]:
    """What will block, or costs speed."""
    yield from _disks(host, "warn")
    for sentence, key in upsets(host):
        yield Next("warn", sentence, key)
    yield from _found(host, now, "warn")
    recent = [xid for xid in host.hardware.xids if now - xid.t < XID_S and xid_meaning(xid.fact.xid).kind != "info"]
    for xid in reversed(recent):
        yield Next("warn", xid_sentence(xid.fact, index_of(host, xid.fact)), "2", xid_id(xid.fact))
    step = server_step(host, now)
    if step and step[0] == "warn":
        yield Next(*step)


def _deploying(host: HostState, now: float) -> Iterator[Next]:
    """Where the deploy or the start stands, and what is asked of the gates."""
    if step := deploy_step(host):
        yield Next(*step)
    step = server_step(host, now)
    if step and step[0] == "busy":
        yield Next(*step)
    plan = host.plan.shown
    if plan is not None and plan.verdict is None and not _living(host):
        yield Next("busy", f"{plan.recipe}: the gates are asked", "4")


def _idle(host: HostState, now: float) -> Iterator[Next]:
    step, plan = server_step(host, now), host.plan.shown
    if step and step[0] == "ok":
        yield Next(*step)
    if plan is not None and plan.exit_code == 0 and not _living(host):
        yield Next("ok", f"{plan.recipe} passes every gate", "D")


# The order in which facts block; the first that finds something is next.
RANKING: tuple[Finder, ...] = (
    _link, _host_key, _gpus, _sick, _crashed, _gates, _full, _strangers, _stale, _stalled, _deploying, _worrying, _idle,
)  # fmt: skip
