"""Facts of the SGLang servers of a box: who runs, how a start goes, what is proved, how it ends.

A server is named by the id that the box gives it: its job's, or `<pid>-<start>` of a process that is no job.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from console.events.base import HostEvent
from console.values import CleanText, Unknown

ServerOwner = Literal["ours", "adopted", "foreign"]
ServerPhase = Literal[
    "spawn",
    "imports",
    "distributed",
    "weights",
    "draft_weights",
    "kv",
    "graphs",
    "warmup",
    "ready",
    "stopping",
    "stopped",
    "crashed",
]
Level = Literal["info", "warning", "error"]


class Server(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """One server process as /proc shows it. `argv` has its secrets masked.

    `start`: clock ticks since boot, with `pid` and `boot_id` its identity. `unit_scope`: `system` or `user`, empty
    without a unit. `container`: not empty when it runs in a container that the console only looks at.
    """

    id: CleanText
    pid: int
    start: int
    started_s: float | Unknown
    boot_id: CleanText
    owner: ServerOwner
    job: CleanText
    user: CleanText | Unknown
    argv: tuple[CleanText, ...]
    cwd: CleanText | Unknown
    unit: CleanText
    unit_scope: CleanText
    container: CleanText
    log_path: CleanText | Unknown
    processes: tuple[int, ...]
    address: CleanText
    port: int
    listening: bool | Unknown


class ServersSampled(HostEvent, frozen=True, gc=False, kw_only=True):
    """All servers that run now."""

    servers: tuple[Server, ...] | Unknown


class LogRow(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """One line of a server's log: the box's local time as printed, the rank, the level, the text."""

    stamp: CleanText
    rank: CleanText
    level: Level
    text: CleanText


class ServerLogged(HostEvent, frozen=True, gc=False, kw_only=True):
    """Lines of a server's log, in order. `skipped_bytes`: what was not read between the lines before and the next.

    A progress bar's frames are no lines: see ServerProgressed. `offset`: where in the file the first row's part
    begins, -1 when a row before it came from the same part. `untold`: pairs (n, lines), where so many lines before
    row n are in the box's file alone, because the server says too much (see the workers' LogBudget).
    """

    server: CleanText
    rows: tuple[LogRow, ...]
    skipped_bytes: int = 0
    offset: int = -1
    untold: tuple[tuple[int, int], ...] = ()


class ServerLogFetched(HostEvent, frozen=True, gc=False, kw_only=True):
    """Older lines of a server's log, read back from the box's file: those that begin at `offset`."""

    server: CleanText
    rows: tuple[LogRow, ...]
    offset: int


class ServerPhaseReached(HostEvent, frozen=True, gc=False, kw_only=True):
    """A server entered a phase. `in_phase_s`: how long it has been there when this was seen, by the box's clock."""

    server: CleanText
    phase: ServerPhase
    draft: bool = False
    in_phase_s: float = 0.0


class ServerProgressed(HostEvent, frozen=True, gc=False, kw_only=True):
    """A progress bar of the present phase."""

    server: CleanText
    task: CleanText
    done: int
    total: int


class ServerMeasured(HostEvent, frozen=True, gc=False, kw_only=True):
    """What a start measured, per GPU, GiB where the name ends so: tokens, weights_gib, draft_gib, kv_gib …

    `limits`: what the scheduler says it allows. `remarks`: limits that nobody asked for, deviations from the plan.
    `phases_s`: seconds spent in each phase.
    """

    server: CleanText
    actuals: dict[str, float]
    limits: dict[str, int]
    remarks: tuple[CleanText, ...]
    phases_s: dict[str, float]


class ServerProved(HostEvent, frozen=True, gc=False, kw_only=True):
    """A request proved that the server is ready."""

    server: CleanText
    by: Literal["/ready", "/health", "token"]


class ServerUnproved(HostEvent, frozen=True, gc=False, kw_only=True):
    """A server that was ready answers no more."""

    server: CleanText
    sentence: CleanText


class ServerGauged(HostEvent, frozen=True, gc=False, kw_only=True):
    """A reading of a server's load. `stale` names the gauges that froze."""

    server: CleanText
    source: Literal["loads", "metrics", "get_load", "log"]
    running: int | Unknown
    queued: int | Unknown
    gen_tok_s: float | Unknown
    kv_ratio: float | Unknown
    cache_hit_ratio: float | Unknown
    accept_length: float | Unknown
    max_running: int | Unknown
    idle: bool | Unknown
    stale: tuple[CleanText, ...] = ()


class ServerSmoked(HostEvent, frozen=True, gc=False, kw_only=True):
    """The smoke test answered. `curl`: the same request as words."""

    server: CleanText
    ok: bool
    problems: tuple[CleanText, ...]
    answer: CleanText
    finish_reason: CleanText
    tokens: int | Unknown
    curl: tuple[CleanText, ...]


class ServerCompared(HostEvent, frozen=True, gc=False, kw_only=True):
    """The running command line against the recipe's: one sentence for each flag that differs."""

    server: CleanText
    recipe: CleanText
    differences: tuple[CleanText, ...]


class ServerLooked(HostEvent, frozen=True, gc=False, kw_only=True):
    """The first look at a server is over: its log is read to the present end, and it was asked once."""

    server: CleanText


class ServerEnded(HostEvent, frozen=True, gc=False, kw_only=True):
    """A server is gone, and why. `kind` names the signature of the failure, or `stopped`, or `unclassified`."""

    server: CleanText
    phase: Literal["stopped", "crashed"]
    kind: CleanText
    cause: CleanText
    cause_phase: ServerPhase
    advice: tuple[CleanText, ...]
    exit_code: int | Unknown | None
    signal: int | Unknown | None


class ServerStopAsked(HostEvent, frozen=True, gc=False, kw_only=True):
    """We asked a server to stop: from now on its end is no crash."""

    server: CleanText
    how: Literal["job", "unit", "process"]
    grace_s: float


class MemoryReturned(HostEvent, frozen=True, gc=False, kw_only=True):
    """After a stop: is the GPUs' memory back, by NVML. `returned` Unknown when it cannot be told whose it is."""

    server: CleanText
    returned: bool | Unknown
    sentence: CleanText
    left_pids: tuple[int, ...]


class DeployStepped(HostEvent, frozen=True, gc=False, kw_only=True):
    """A deploy reached a step, finished with it, or failed in it; `ready` is its end."""

    recipe: CleanText
    step: Literal["preflight", "download", "start", "smoke", "ready"]
    state: Literal["running", "done", "failed"]
    sentence: CleanText = CleanText("")


class ServerRequestFailed(HostEvent, frozen=True, gc=False, kw_only=True):
    """What was asked of a server could not be done."""

    server: CleanText
    action: Literal["stop", "smoke", "adopt"]
    reason: CleanText


class TunnelChanged(HostEvent, frozen=True, gc=False, kw_only=True):
    """A tunnel from this laptop to a port of the box is open at `local_port`, or (0) is not; the sentence says why."""

    box_port: int
    local_port: int
    sentence: CleanText = CleanText("")


class BenchmarkQuiet(HostEvent, frozen=True, gc=False, kw_only=True):
    """While a measurement runs, the console sends the server on `port` no request but a rare `/metrics`.

    None, of older recordings: every server of the box.
    """

    quiet: bool
    port: int | None = None


EVENTS = (
    ServersSampled,
    ServerLogged,
    ServerLogFetched,
    ServerPhaseReached,
    ServerProgressed,
    ServerMeasured,
    ServerProved,
    ServerUnproved,
    ServerGauged,
    ServerSmoked,
    ServerCompared,
    ServerLooked,
    ServerEnded,
    ServerStopAsked,
    MemoryReturned,
    DeployStepped,
    ServerRequestFailed,
    TunnelChanged,
    BenchmarkQuiet,
)
