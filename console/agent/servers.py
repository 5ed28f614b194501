"""The SGLang servers of this box, whoever started them: found by their command line, named by (pid, start).

Only the parent keeps its command line; schedulers rename themselves, so nothing is ever found or stopped by name.
Secrets in the command line are masked here, before anything leaves the box.
"""

from __future__ import annotations

import json
import os
import re
from typing import Any

from . import journal, processes
from .adopt import record_of, state_dir
from .gpu_processes import user_of
from .jobs import distrust
from .machine import text_of
from .masking import mask_argv
from .processes import Status
from .server_key import flag
from .units import own_unit
from .wire import unknown

DEFAULT_PORT = 30000
LOOK_AGAIN, LOOK_AGAIN_KERNEL = 5, 15  # rounds of two seconds
_PYTHON = re.compile(r"(?:python|pypy)[\d.]*$")
_MODULES = ("sglang.launch_server", "sglang.srt.entrypoints.http_server")
_VALUE_OPTIONS = ("-W", "-X")
_JOB_NAME = re.compile(r"[\w.+-]{1,128}$")


class Servers:
    """Tells the servers when something about them changed."""

    period_s = 2.0

    def __init__(self, agent: Any) -> None:
        self._outlet = agent.outlet
        self._search = Search()
        self._last: Any = None

    def sample(self) -> None:
        servers = find(self._search.servers())
        if servers != self._last:
            self._last = servers
            self._outlet.sample("ServersSampled", {"servers": servers})


def is_server(argv: list[str]) -> bool:
    """`python … -m sglang.launch_server …`, `… sglang serve …`, `python …/sglang/launch_server.py …`."""
    if len(argv) < 2:
        return False
    if os.path.basename(argv[0]) == "sglang":
        return argv[1] == "serve"
    if not _PYTHON.match(os.path.basename(argv[0])):
        return False
    at = 1
    while at < len(argv) and argv[at].startswith("-") and argv[at] != "-m":
        at += 2 if argv[at] in _VALUE_OPTIONS else 1
    rest = argv[at : at + 2]
    if len(rest) < 2:
        return False
    if rest[0] == "-m":
        return rest[1] in _MODULES
    return (os.path.basename(rest[0]) == "sglang" and rest[1] == "serve") or rest[0].endswith(
        "/sglang/launch_server.py"
    )


class Search:
    """Command lines that are a server's. Reading all of them each time would cost most of the agent's CPU.

    A new process is looked at once it is seen. What is no server is looked at again after `LOOK_AGAIN` rounds,
    because a shell may have become one by exec; what has no command line (a kernel thread) more seldom.
    """

    def __init__(self) -> None:
        self._round = 0
        self._due: dict[int, int] = {}

    def servers(self) -> dict[int, list[str]]:
        """argv by pid."""
        self._round += 1
        found, due = {}, {}
        for name in os.listdir("/proc"):
            if not name.isdigit():
                continue
            pid = int(name)
            due[pid] = self._due.get(pid, 0)
            if due[pid] > self._round:
                continue
            argv = processes.words_of(pid, "cmdline")
            if argv and is_server(argv):
                found[pid] = argv
            else:
                due[pid] = self._round + (LOOK_AGAIN if argv else LOOK_AGAIN_KERNEL)
        self._due = due
        return found


def find(argvs: dict[int, list[str]]) -> list[dict[str, Any]]:
    """All servers, by pid. A forked child that still shows its parent's command line is not a second one."""
    if not argvs:
        return []
    seen = processes.all_processes()
    argvs = {pid: argv for pid, argv in argvs.items() if pid in seen and not seen[pid].gone}
    parents = [pid for pid in sorted(argvs) if argvs.get(seen[pid].parent) != argvs[pid]]
    return [_server(seen[pid], argvs[pid], seen) for pid in parents]


def _server(status: Status, argv: list[str], seen: dict[int, Status]) -> dict[str, Any]:
    pid = status.pid
    unit, scope = own_unit(pid)
    tree = processes.descendants(pid, seen)
    job = job_of(status, seen)
    owner = (
        "ours"
        if job or unit.startswith("gpudeck-")
        else "adopted"
        if record_of(pid, status.start, unit, scope)
        else "foreign"
    )
    started_s = processes.started_s(status.start)
    found = {
        "id": job or f"{pid}-{status.start}",
        "pid": pid,
        "start": status.start,
        "started_s": _or_unknown(started_s, "/proc/stat has no btime"),
        "boot_id": processes.boot_id(),
        "owner": owner,
        "job": job,
        "user": user_of(pid),
        "argv": mask_argv(argv),
        "cwd": _link(pid, "cwd"),
        "unit": unit,
        "unit_scope": scope,
        "container": processes.container_of(pid, text_of(f"/proc/{pid}/cgroup") or ""),
        "log_path": _log_path(pid, unit, scope, started_s),
        "processes": sorted(tree),
    }
    found.update(_where(pid, argv))
    return found


def _where(pid: int, argv: list[str]) -> dict[str, Any]:
    """Address and port: what it listens on, else what its command line says."""
    asked = flag(argv, "port")
    wanted = int(asked) if asked.isdigit() else DEFAULT_PORT
    listening = processes.listeners(pid, wanted)
    if isinstance(listening, list):
        on_port = [item for item in listening if item[1] == wanted] or listening[:1]
        if on_port:
            return {"address": on_port[0][0], "port": on_port[0][1], "listening": True}
        return {"address": flag(argv, "host") or "127.0.0.1", "port": wanted, "listening": False}
    return {"address": flag(argv, "host") or "127.0.0.1", "port": wanted, "listening": listening}


def _link(pid: int, name: str) -> Any:
    try:
        return os.readlink(f"/proc/{pid}/{name}")
    except OSError:
        return unknown("not visible to this user")


def _log_path(pid: int, unit: str, scope: str, started_s: Any) -> Any:
    """The regular file that standard error goes to, or the unit's part of the journal; a terminal is none."""
    path = _link(pid, "fd/2")
    if not isinstance(path, str) or (path.startswith("/") and os.path.isfile(path)):
        return path
    if unit and path.startswith("socket:"):
        return journal.path_of(pid, unit, scope, started_s)
    return unknown("standard error goes to {}".format(path.split(":")[0]))


def _or_unknown(value: Any, reason: str) -> Any:
    return unknown(reason) if value is None else value


def job_of(status: Status, seen: dict[int, Status]) -> str:
    """The job of ours that this process is the main process of, or stands below; empty when there is none."""
    above = set()
    at: Status | None = status
    while at is not None and at.pid not in above and at.pid > 1:
        above.add(at.pid)
        at = seen.get(at.parent)
    folder = os.path.join(state_dir(), "jobs")
    if distrust(folder):
        return ""
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return ""
    for name in names:
        job = _job(os.path.join(folder, name, "job.json")) if _JOB_NAME.match(name) else None
        if job is None or job.get("boot_id") != processes.boot_id():
            continue
        main = seen.get(job.get("pid", 0))
        if main is not None and main.pid in above and main.start == job.get("start_ticks"):
            return name
    return ""


def _job(path: str) -> dict[str, Any] | None:
    try:
        job = json.loads(text_of(path) or "null")
    except ValueError:
        return None
    return job if isinstance(job, dict) else None
