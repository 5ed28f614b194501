"""What the measured server says about itself: arguments, gauges, cache, process."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import re
from time import monotonic
from typing import Any

from .backends import Backend
from .client import Answer, fetch

SECRET_OPTION = re.compile(
    r"(--[\w-]{0,99}(?:api[-_]key|password|secret|credential|token)[= ])[^\s'\",]+", re.IGNORECASE
)
SECRET = re.compile(r"api_key|password|secret|credential|(^|_)token$", re.IGNORECASE)
VOLATILE = ("internal_states", "startup_time", "status", "launch_command")
SUMMED = ("num_running_reqs", "num_queue_reqs", "gen_throughput", "cached_tokens_total", "prompt_tokens_total")
HIGHEST = ("token_usage", "spec_accept_length")
DECODED = 'mode="decode"'
FLUSH_WAIT_S = 5
FLUSH_PAUSE_S = 1.0


class NotStarted(Exception):
    """The point cannot begin; the text says why."""


def stripped(data: Any) -> Any:
    """The same data without the values of secret keys, and of secret options in a command line (`launch_command`)."""
    if isinstance(data, dict):
        return {k: "***" if SECRET.search(str(k)) and v else stripped(v) for k, v in data.items()}
    if isinstance(data, list):
        return [stripped(item) for item in data]
    return SECRET_OPTION.sub(r"\1***", data) if isinstance(data, str) else data


def args_hash(info: dict[str, Any]) -> str:
    """Hash of the effective arguments, without what changes by itself."""
    fixed = {key: value for key, value in info.items() if key not in VOLATILE}
    return hashlib.sha256(json.dumps(fixed, sort_keys=True, default=str).encode()).hexdigest()[:16]


def max_running(info: dict[str, Any]) -> int | None:
    """Requests that the server runs at once: the effective value of a rank times the replicas."""
    states = info.get("internal_states") or [{}]
    per_rank = states[0].get("effective_max_running_requests_per_dp") if isinstance(states[0], dict) else None
    if isinstance(per_rank, int):
        return per_rank * int(info.get("dp_size") or 1)
    value = info.get("max_running_requests")
    return value if isinstance(value, int) else None


def gauges(text: str) -> dict[str, float]:
    """The few numbers that a live view needs, out of a Prometheus page."""
    found: dict[str, float] = {}
    for line in text.splitlines():
        if not line.startswith("sglang:"):
            continue
        name, _, rest = line[7:].partition("{")
        name = name.split(" ")[0]
        try:
            value = float(line.rsplit(" ", 1)[1])
        except (ValueError, IndexError):
            continue
        if name == "realtime_tokens_total" and DECODED in rest:
            found["decoded_total"] = found.get("decoded_total", 0.0) + value
        elif name in SUMMED:
            found[name] = found.get(name, 0.0) + value
        elif name in HIGHEST:
            found[name] = max(found.get(name, value), value)
    return found


class Server:
    """HTTP questions to one server, and its process on this box (`pid`, 0 when not found)."""

    def __init__(self, backend: Backend, pid: int = 0) -> None:
        self.backend, self.pid = backend, pid

    async def ask(self, method: str, path: str, timeout: float = 5.0) -> Answer | None:
        """None when there is no answer in time."""
        request = self.backend.frame(method, path)
        try:
            return await fetch(self.backend.host, self.backend.port, request, timeout)
        except (OSError, asyncio.TimeoutError):
            return None

    async def info(self) -> dict[str, Any]:
        for path in ("/server_info", "/get_server_info"):
            answer = await self.ask("GET", path)
            if answer is not None and answer.status == 200:
                try:
                    return dict(stripped(json.loads(answer.body)))
                except (ValueError, TypeError, RecursionError):
                    return {}
        return {}

    async def metrics(self) -> dict[str, float]:
        answer = await self.ask("GET", "/metrics", 2.0)
        return gauges(answer.body.decode("utf-8", "replace")) if answer is not None and answer.status == 200 else {}

    async def snapshot(self) -> dict[str, Any]:
        """Everything that must not change during a point, and the counters that do."""
        info = await self.info()
        return {
            "info": info,
            "args_hash": args_hash(info) if info else None,
            "max_running_requests": max_running(info),
            "process": process_stamp(self.pid),
            "simulate_acc_len": environment(self.pid).get("SGLANG_SIMULATE_ACC_LEN", ""),
            "metrics": await self.metrics(),
        }

    async def flush(self, limit_s: float) -> str:
        """Empties the prefix cache: `flushed`, or why the server has no such endpoint. A busy server is waited
        for with pauses, then raises NotStarted; the measurement never goes on silently."""
        deadline = monotonic() + limit_s
        while True:
            answer = await self.ask("POST", f"/flush_cache?timeout={FLUSH_WAIT_S}", FLUSH_WAIT_S + 5.0)
            if answer is not None and answer.status == 200:
                return "flushed"
            if answer is not None and answer.status in (401, 403, 404, 405):
                return f"no flush: HTTP {answer.status}"
            if monotonic() >= deadline:
                reason = "no answer" if answer is None else f"HTTP {answer.status}"
                raise NotStarted(f"the prefix cache could not be flushed: {reason}")
            await asyncio.sleep(FLUSH_PAUSE_S)


def process_stamp(pid: int) -> str | None:
    """pid and start time: another value means another process."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return f"{pid}:{file.read().rsplit(b')', 1)[1].split()[19].decode()}"
    except (OSError, IndexError):
        return None


def environment(pid: int) -> dict[str, str]:
    """The environment that the process was started with; empty when it may not be read."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            pairs = [item.partition(b"=") for item in file.read().split(b"\0") if b"=" in item]
    except OSError:
        return {}
    return {name.decode("utf-8", "replace"): value.decode("utf-8", "replace") for name, _, value in pairs}


def listener(port: int) -> int:
    """The pid that listens on the port; 0 when it cannot be seen."""
    inodes = set()
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        try:
            with open(table) as file:
                rows = [line.split() for line in file.readlines()[1:]]
        except OSError:
            continue
        inodes |= {row[9] for row in rows if row[3] == "0A" and int(row[1].rsplit(":", 1)[1], 16) == port}
    wanted = {f"socket:[{inode}]" for inode in inodes}
    for pid in filter(str.isdigit, os.listdir("/proc") if wanted else ()):
        if _holds(pid, wanted):
            return int(pid)
    return 0


def _holds(pid: str, wanted: set[str]) -> bool:
    try:
        return any(os.readlink(entry.path) in wanted for entry in os.scandir(f"/proc/{pid}/fd"))
    except OSError:
        return False
