"""The servers of a box as data and as text lines."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Any

from console.events.jobs import Job
from console.serve.argv import read_flags
from console.serve.eta import remaining_s
from console.serve.phases import STARTING
from console.state import HostState
from console.state.serve import ENDED, ServerState, last_ended
from console.values import Unknown, format_duration, format_ratio, known

_ALIASES = {"model": "model-path", "tp": "tp-size", "tensor-parallel-size": "tp-size"}
_NOT_READY = Unknown("the server is not ready")
_GONE = Unknown("the server is gone")
_NO_READING = Unknown("no reading yet")
GAUGES = ("running", "queued", "gen_tok_s", "kv_ratio", "accept_length", "cache_hit_ratio", "max_running")


def job_of(host: HostState, server: ServerState) -> Job | None:
    """The job behind a server of ours."""
    jobs = host.jobs.jobs
    return next((job for job in jobs if job.id == server.id), None) if known(jobs) else None


def servers(host: HostState) -> list[ServerState] | Unknown:
    """Those that run, then the ended ones, the newest first; Unknown says why they cannot be listed."""
    serve = host.serve
    if not known(serve.listed):
        return serve.listed
    running = [serve.servers[name] for name in serve.listed]
    ended = [one for one in serve.servers.values() if not one.present]
    return running + sorted(ended, key=lambda one: _born_s(host, one), reverse=True)


def _born_s(host: HostState, server: ServerState) -> float:
    """When it was started, by the box's clock."""
    job = job_of(host, server)
    if job is not None:
        return job.created_s
    return server.seen.started_s if server.seen and known(server.seen.started_s) else 0.0


def looked_at(host: HostState) -> bool:
    """Every server is listed, and each was looked at once: what is not known by then is not known."""
    found = servers(host)
    if not known(found) or not known(host.jobs.seen_t):
        return False
    explained = all(job.id in host.serve.servers and host.serve.servers[job.id].ended for job in last_ended(host))
    return explained and all(one.looked or not one.present for one in found)


def main_server(host: HostState, wanted: str = "") -> ServerState | None:
    """The one that the user means: by id, port or unit; else ours before others', or what ended last when that was
    started after all that run."""
    found = servers(host)
    if not known(found):
        return None
    if wanted:
        return next((one for one in found if wanted in _names(one)), None)
    running = [one for one in found if one.present]
    ended = next((one for one in found if not one.present), None)
    if ended is not None and all(_born_s(host, ended) > _born_s(host, one) for one in running):
        return ended
    ranks = {"ours": 0, "adopted": 1, "foreign": 2}
    return min(running, key=lambda one: ranks[owner(one)], default=None)


def last_recipe(host: HostState) -> str:
    """The recipe that a person means when none is named: the server's, else the one whose gates were asked last."""
    server = main_server(host)
    job = job_of(host, server) if server else None
    shown = host.plan.shown
    return str((job.meta.get("recipe") if job else "") or (shown.recipe if shown else ""))


def _names(server: ServerState) -> tuple[str, ...]:
    seen = server.seen
    return (server.id, str(seen.port), seen.unit) if seen else (server.id,)


def owner(server: ServerState) -> str:
    return server.seen.owner if server.seen else "ours"


def argv_of(host: HostState, server: ServerState) -> tuple[str, ...]:
    """The command line with masked secrets."""
    if server.seen:
        return server.seen.argv
    job = job_of(host, server)
    return job.argv if job else ()


def model_of(argv: Sequence[str]) -> str | Unknown:
    """The served name, else the model path."""
    flags = read_flags(argv, _ALIASES)
    for name in ("served-model-name", "model-path"):
        if flags.get(name):
            return flags[name][0]
    return Unknown("the command line names no model")


def server_object(host: HostState, server: ServerState, now: float) -> dict[str, Any]:
    """One of `servers[]` of gpudeck.status/1."""
    argv, job, seen, ended = argv_of(host, server), job_of(host, server), server.seen, server.ended
    meta = job.meta if job else {}
    return {
        "id": server.id,
        "owner": owner(server),
        "phase": server.phase,
        "phase_s": round(max(0.0, now - server.phase_t), 1),
        "pid": seen.pid if seen and server.present else (_GONE if seen or job else _NO_READING),
        "unit": (seen.unit if seen else job.unit if job else "") or None,
        "address": seen.address if seen else None,
        "port": seen.port if seen else meta.get("port"),
        "container": (seen.container or None) if seen else None,
        "model": model_of(argv),
        "commit": meta.get("commit") or Unknown("it was not started from a proved repository here"),
        "recipe": meta.get("recipe"),
        "dummy": read_flags(argv).get("load-format") == ("dummy",),
        "argv": list(argv),
        **_gauges(server, now),
        "progress": _progress(server),
        "eta_s": eta_s(server, meta, now),
        "proved_by": server.proved.by if server.proved else None,
        "unproved": server.unproved or None,
        "limits": server.measured.limits if server.measured else {},
        "actuals": server.measured.actuals if server.measured else {},
        "remarks": list(server.measured.remarks) if server.measured else [],
        "differences": list(server.compared.differences) if server.compared else [],
        "smoke": _smoke(server),
        "kind": ended.kind if ended else None,
        "cause": ended.cause if ended and ended.phase == "crashed" else None,
        "cause_phase": ended.cause_phase if ended and ended.phase == "crashed" else None,
        "advice": list(ended.advice) if ended else [],
        "exit_code": ended.exit_code if ended else None,
        "signal": ended.signal if ended else None,
        "memory_returned": server.memory.returned if server.memory else None,
    }


def _gauges(server: ServerState, now: float) -> dict[str, Any]:
    gauges = server.gauges
    if gauges is None or server.phase != "ready":
        missing = _GONE if server.phase in ENDED else _NO_READING if server.phase == "ready" else _NOT_READY
        return dict.fromkeys(GAUGES, missing) | {"gauges_age_s": None, "stale": []}
    shown = {name: getattr(gauges, name) for name in GAUGES}
    return shown | {"gauges_age_s": round(now - server.gauges_t, 1), "stale": list(gauges.stale)}


def _progress(server: ServerState) -> dict[str, Any] | None:
    bar = server.progress
    return {"task": bar.task, "done": bar.done, "total": bar.total} if bar else None


def _smoke(server: ServerState) -> dict[str, Any] | None:
    smoke = server.smoke
    if smoke is None:
        return None
    return {"ok": smoke.ok, "problems": list(smoke.problems), "answer": smoke.answer, "tokens": smoke.tokens,
            "finish_reason": smoke.finish_reason, "curl": list(smoke.curl)}  # fmt: skip


def eta_s(server: ServerState, meta: dict[str, Any], now: float) -> float | Unknown | None:
    """Seconds to ready from the earlier starts that the job's record names; None when it is not starting."""
    if server.phase not in STARTING:
        return None
    drafting = bool(server.phases) and server.phases[-1][1] and server.phase != "warmup"
    phase = "draft_weights" if drafting else server.phase
    earlier = [start for start in meta.get("earlier_starts") or [] if isinstance(start, dict)]
    return remaining_s(phase, now - server.phase_t, earlier)


def server_objects(host: HostState, now: float) -> list[dict[str, Any]] | Unknown:
    """`servers` of gpudeck.status/1."""
    found = servers(host)
    return [server_object(host, one, now) for one in found] if known(found) else found


def phase_word(server: ServerState) -> str:
    """The phase as it is said: READY only behind a proof that still holds."""
    if server.phase == "ready":
        return "ready, but it answers no more" if server.unproved else "READY"
    if server.progress is not None:
        return f"{server.phase.replace('_', ' ')} {server.progress.done}/{server.progress.total}"
    return server.phase.replace("_", " ")


def load_text(server: ServerState) -> str:
    """The load in one line; frozen values say so."""
    gauges = server.gauges
    if gauges is None or server.phase != "ready":
        return ""
    parts = [f"{gauges.running} running", f"{gauges.queued} queued"]
    parts.append(f"{gauges.gen_tok_s:,.0f} tok/s" if known(gauges.gen_tok_s) else "unknown tok/s")
    parts.append(f"KV {format_ratio(gauges.kv_ratio)}")
    if known(gauges.accept_length):
        parts.append(f"accept length {gauges.accept_length:.2f}")
    if gauges.stale:
        parts.append("stale: the server idles")
    return ", ".join(parts)


def curl_text(server: ServerState) -> str:
    """The smoke test's request as a command line, when it was answered well."""
    return shlex.join(server.smoke.curl) if server.smoke and server.smoke.ok else ""


def server_lines(host: HostState, server: ServerState, now: float) -> list[str]:
    """A server for a person: what it is, how it is, and when it failed why and what to do."""
    seen = server.seen
    where = f"{seen.address}:{seen.port}" if seen else ""
    model = model_of(argv_of(host, server))
    lines = [f"  {server.id}  {phase_word(server)}  {model}  {where}  {owner(server)}".rstrip()]
    if seen and seen.container:
        lines.append(f"    in container {seen.container}: only looked at")
    if load := load_text(server):
        lines.append(f"    {load}")
    eta = eta_s(server, (job.meta if (job := job_of(host, server)) else {}), now)
    if eta is not None and known(eta):
        lines.append(f"    ready in about {format_duration(eta)}")
    if server.measured:
        lines += [f"    ! {remark}" for remark in server.measured.remarks]
    if server.compared:
        lines += [f"    ≠ {one}" for one in server.compared.differences]
    if server.ended:
        when = f" in {server.ended.cause_phase.replace('_', ' ')}" if server.ended.phase == "crashed" else ""
        lines.append(f"    {server.ended.phase}{when}: {server.ended.cause}")
        lines += [f"    → {way}" for way in server.ended.advice]
    if server.memory:
        lines.append(f"    {server.memory.sentence}")
    return lines


def servers_lines(host: HostState, now: float) -> list[str]:
    """All servers of a box."""
    found = servers(host)
    if not known(found):
        return [f"Servers unknown: {found.reason}"]
    if not found:
        return ["Servers none"]
    return ["Servers", *(line for one in found for line in server_lines(host, one, now))]
