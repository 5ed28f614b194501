"""The parts of the server pane: what it is, its phases, its load, what has to be said."""

from __future__ import annotations

from typing import NamedTuple

from console.serve.phases import STARTING
from console.state import HostState
from console.state.serve import ENDED, ServerState
from console.values import format_duration, format_ratio, known
from console.views.serve import (
    argv_of,
    curl_text,
    eta_s,
    job_of,
    main_server,
    model_of,
    owner,
    phase_word,
    server_lines,
)


class PhaseStep(NamedTuple):
    """A step of the phase bar: `state` is done, active, failed or ahead; seconds where known."""

    name: str
    state: str
    seconds: float | None
    done: int = 0
    total: int = 0


STAMPS_S = 2.0  # stamps of the log are whole seconds, and the box is asked twice a second
_STEPS = ("imports", "distributed", "weights", "kv", "graphs", "warmup", "ready")


def phase_steps(server: ServerState, now: float) -> list[PhaseStep]:
    """The start as a bar: phases that were met with their times, then those ahead."""
    steps: list[PhaseStep] = []
    met = [(phase, t) for phase, _, t in server.phases if phase in STARTING or phase == "ready"]
    ends = ([t for _, t in met] + [now])[1:]
    for at, ((phase, t), end) in enumerate(zip(met, ends, strict=True)):
        last = at == len(met) - 1
        failed = last and server.phase == "crashed"
        state = "failed" if failed else "active" if last and server.phase == phase and phase != "ready" else "done"
        bar = server.progress if state == "active" else None
        took = (server.ended_t if failed else end) - t
        if phase == "warmup" and state == "done":
            took = _warmed_s(server, took)
        seconds = None if state == "done" and took == 0 else took  # two stamps of one second: shorter than they tell
        steps.append(
            PhaseStep(phase.replace("_", " "), state, seconds, bar.done if bar else 0, bar.total if bar else 0)
        )
    seen = {phase for phase, _ in met}
    if server.phase == "ready":
        steps = _together(steps)
    if server.phase in STARTING:
        last_at = max((_STEPS.index(phase) for phase in seen if phase in _STEPS), default=-1)
        steps += [PhaseStep(name, "ahead", None) for name in _STEPS[last_at + 1 :]]
    return steps


def _warmed_s(server: ServerState, until_proved_s: float) -> float:
    """A console that comes to a server of yesterday proves it today: then its log says when the warm-up ended."""
    told = server.measured.phases_s.get("warmup") if server.measured else None
    return told if told is not None and until_proved_s - told > STAMPS_S else until_proved_s


def _together(steps: list[PhaseStep]) -> list[PhaseStep]:
    """A step that was gone through twice, as with a drafter, once with the sum of its times."""
    whole: dict[str, PhaseStep] = {}
    for step in steps:
        before = whole.get(step.name)
        times = [one.seconds for one in (before, step) if one is not None and one.seconds is not None]
        whole[step.name] = step._replace(seconds=sum(times) if times else None)
    return list(whole.values())


def server_kind(server: ServerState) -> str:
    """The kind of state: ok behind a proof that holds, busy while it starts, fail when it crashed."""
    if server.phase == "ready":
        return "warn" if server.unproved else "ok"
    if server.phase == "crashed":
        return "fail"
    return "off" if server.phase == "stopped" else "busy"


def title_text(host: HostState, server: ServerState) -> str:
    """Model, address, whose it is, and what makes it special."""
    seen = server.seen
    model = model_of(argv_of(host, server))
    parts = [str(model) if known(model) else "model unknown"]
    if seen is not None:
        parts.append(f"{seen.address}:{seen.port}")
    parts.append(owner(server))
    if seen is not None and seen.unit:
        parts.append(seen.unit)
    if seen is not None and seen.container:
        parts.append(f"container {seen.container}, only looked at")
    if any(word == "dummy" for word in argv_of(host, server)):
        parts.append("dummy weights")
    return "  ".join(parts)


class Gauge(NamedTuple):
    """One gauge: its name, its text, a ratio for a bar where it has one, and whether the value froze."""

    name: str
    text: str
    ratio: float | None = None
    stale: bool = False


def gauges(server: ServerState) -> list[Gauge]:
    """The live gauges of a server that is ready; unknown ones say unknown."""
    reading = server.gauges
    if reading is None or server.phase != "ready":
        return []
    most = f" of at most {reading.max_running}" if known(reading.max_running) else ""
    shown = [
        Gauge("running", f"{reading.running}{most}"),
        Gauge("queued", f"{reading.queued}"),
        Gauge("gen_tok_s", f"{reading.gen_tok_s:,.0f} tok/s" if known(reading.gen_tok_s) else "unknown tok/s"),
        Gauge(
            "kv_ratio", f"KV {format_ratio(reading.kv_ratio)}", reading.kv_ratio if known(reading.kv_ratio) else None
        ),
        Gauge("cache_hit_ratio", f"cache hits {format_ratio(reading.cache_hit_ratio)}"),
    ]
    if known(reading.accept_length):
        shown.append(Gauge("accept_length", f"accept length {reading.accept_length:.2f}"))
    return [gauge._replace(stale=gauge.name in reading.stale) for gauge in shown]


def server_step(host: HostState, now: float) -> tuple[str, str, str] | None:
    """(level, sentence, key) for the NEXT line: what the server that matters wants of its user."""
    deploy = host.serve.deploy
    if deploy is not None and deploy.state == "failed":
        return "fail", f"deploy {deploy.recipe} failed in {deploy.step}: {deploy.sentence}", "D"
    server = main_server(host)
    if server is None:
        return None
    where = title_text(host, server)
    if server.phase == "crashed" and server.ended is not None:
        return "fail", f"server crashed in {server.ended.cause_phase.replace('_', ' ')}: {server.ended.cause}", "5"
    if server.memory is not None and server.memory.returned is False:
        return "fail", server.memory.sentence, "5"
    if server.phase == "ready":
        return ("warn", server.unproved, "5") if server.unproved else ("ok", f"READY  {where}", "5")
    if server.phase == "stopped":
        return None
    job = job_of(host, server)
    eta = eta_s(server, job.meta if job else {}, now)
    left = f", ready in about {format_duration(eta)}" if eta is not None and known(eta) else ""
    return "busy", f"{phase_word(server)}{left}  {where}", "5"


_DEPLOY_KEYS = {"preflight": "4", "download": "3"}


def deploy_step(host: HostState) -> tuple[str, str, str] | None:
    """(level, sentence, key) of a deploy on its way to a server; behind that the server tells itself."""
    deploy = host.serve.deploy
    if deploy is None or deploy.state != "running" or deploy.step not in _DEPLOY_KEYS:
        return None
    said = f"deploy {deploy.recipe}: {deploy.step} {deploy.sentence}".rstrip()
    return "busy", said, _DEPLOY_KEYS[deploy.step]


_STANDS = {"running": "{}", "done": "{} done", "failed": "{} failed"}
_INK = {"running": "busy", "done": "ok", "failed": "fail"}


def deploy_said(host: HostState) -> list[tuple[str, str]]:
    """Where a deploy stands, and what was asked of a server and refused."""
    lines: list[tuple[str, str]] = []
    if (step := host.serve.deploy) is not None and (step.step, step.state) != ("ready", "done"):
        lines.append(
            (
                f"deploy {step.recipe}: {_STANDS[step.state].format(step.step)} {step.sentence}".rstrip(),
                _INK[step.state],
            )
        )
    if (failed := host.serve.failed) is not None:
        lines.append((f"{failed.action} of {failed.server} refused: {failed.reason}", "warn"))
    return lines


def said(host: HostState, server: ServerState, now: float) -> list[tuple[str, str]]:
    """(sentence, kind): the time to ready, remarks, differences, the cause with its ways out, the smoke test."""
    lines = deploy_said(host)
    job = job_of(host, server)
    eta = eta_s(server, job.meta if job else {}, now)
    if eta is not None:
        lines.append(
            (f"ready in about {format_duration(eta)}" if known(eta) else f"time to ready unknown: {eta.reason}", "")
        )
    if server.unproved:
        lines.append((server.unproved, "warn"))
    if host.serve.is_quiet(server) and server.phase not in ENDED:
        lines.append(("quiet for benchmark: only /metrics is asked, every 5 s", "busy"))
    if server.ended is not None:
        ended = server.ended
        where = f" in {ended.cause_phase.replace('_', ' ')}" if ended.phase == "crashed" else ""
        lines.append((f"{ended.phase}{where}: {ended.cause}", "fail" if ended.phase == "crashed" else "off"))
        lines += [(f"→ {way}", "") for way in ended.advice]
    if server.memory is not None:
        lines.append((server.memory.sentence, "fail" if server.memory.returned is False else "ok"))
    if (tunnel := host.serve.tunnel) is not None and server.phase not in ENDED:
        where = f"http://127.0.0.1:{tunnel.local_port}" if tunnel.local_port else ""
        lines.append((f"tunnel: {where} {tunnel.sentence}".rstrip(), "ok" if where else "warn"))
    if server.measured is not None:
        lines += [(f"! {remark}", "warn") for remark in server.measured.remarks]
    if server.compared is not None:
        lines += [(f"≠ {one}", "warn") for one in server.compared.differences]
    if server.smoke is not None and server.phase not in ENDED:
        smoke = server.smoke
        lines.append((f"smoke test: {smoke.answer!r}" if smoke.ok else f"smoke test: {'; '.join(smoke.problems)}",
                      "ok" if smoke.ok else "fail"))  # fmt: skip
        lines += [(curl, "")] if (curl := curl_text(server)) else []
    return lines


def headline(server: ServerState) -> str:
    """The state's word."""
    return phase_word(server)


def server_words(host: HostState, server: ServerState, now: float) -> list[str]:
    """A server for a person, on its own: its state, what it is, how it is, and the `curl` that was answered."""
    lines = [f"{server.id}: {phase_word(server)}", f"    {title_text(host, server)}"]
    curl = curl_text(server)
    return [*lines, *server_lines(host, server, now)[1:], *([f"    {curl}"] if curl else [])]
