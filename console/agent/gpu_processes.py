"""Who holds a GPU. NVML tells host pids and bytes; user and command come from /proc, when the process is in sight."""

from __future__ import annotations

import contextlib
import os
import pwd
import threading
from typing import Any

from .jobs import jobs_root
from .machine import passwd_names, text_of
from .masking import mask_argv
from .processes import words_of
from .wire import is_unknown, unknown

COMMAND_CHARS = 300
JOB_MARK, EXEC_MARK = "GPUDECK_JOB=", "GPUDECK_EXEC="
WHO_CHARS = 80
INITIAL_NAMESPACE = "pid:[4026531836]"
PID_LIMIT = 4194304  # of any kernel
NOT_VISIBLE = unknown("not visible here (other namespace or user)")


def processes(device: Any) -> Any:
    """[{pid, user, command, memory_bytes}] by pid, or unknown."""
    compute = device.ask_first(("nvmlDeviceGetComputeRunningProcesses",), ("nvmlDeviceGetComputeRunningProcesses_v2",))
    graphics = device.ask_first(
        ("nvmlDeviceGetGraphicsRunningProcesses",), ("nvmlDeviceGetGraphicsRunningProcesses_v2",)
    )
    if is_unknown(compute) and (is_unknown(graphics) or not graphics):
        return compute
    found: dict[int, Any] = {}
    for process in (graphics if not is_unknown(graphics) else []) + (compute if not is_unknown(compute) else []):
        found[int(process.pid)] = process.usedGpuMemory
    if not _plausible(found, device.memory_total):
        return unknown("the process list makes no sense: driver and NVML binding do not match")
    return [_process(pid, found[pid]) for pid in sorted(found)]


def _plausible(found: dict[int, Any], total: Any) -> bool:
    """Some drivers changed the struct without a new name; then pids and bytes are scrambled."""
    limit = _largest_pid()
    sizes = [size for size in found.values() if size is not None]
    return all(0 <= pid <= limit for pid in found) and (is_unknown(total) or all(size <= total for size in sizes))


def _largest_pid() -> int:
    """Of the host: inside a pid namespace the kernel's setting may be the namespace's own."""
    try:
        inside = os.readlink("/proc/self/ns/pid") != INITIAL_NAMESPACE
    except OSError:
        inside = True
    return PID_LIMIT if inside else int(text_of("/proc/sys/kernel/pid_max") or PID_LIMIT)


def _process(pid: int, memory: Any) -> dict[str, Any]:
    return {
        "pid": pid,
        "user": user_of(pid),
        "command": command_of(pid),
        "memory_bytes": unknown("the driver does not tell it per process") if memory is None else int(memory),
        "job": job_of(pid) or exec_of(pid),
    }


def job_of(pid: int) -> str:
    """The job in whose environment it runs, as the runner marks all that a job starts; empty when there is none."""
    name = _marked(pid, JOB_MARK)
    return name if name and os.path.basename(name) == name and os.path.isdir(os.path.join(jobs_root(), name)) else ""


def exec_of(pid: int) -> str:
    """`exec of user@laptop` for what `gpudeck exec` started, as its environment says; empty for all else."""
    who = _marked(pid, EXEC_MARK)
    return f"exec of {who[:WHO_CHARS]}" if who else ""


def _marked(pid: int, mark: str) -> str:
    return next((word[len(mark) :] for word in words_of(pid, "environ") or () if word.startswith(mark)), "")


def user_of(pid: int) -> Any:
    try:
        return names.of(os.stat(f"/proc/{pid}").st_uid)
    except OSError:
        return NOT_VISIBLE


def command_of(pid: int) -> Any:
    """The command line with secrets masked; `[name]` for a process that has none."""
    line = text_of(f"/proc/{pid}/cmdline")
    if line is None:
        return NOT_VISIBLE
    words = line.rstrip("\0").split("\0")
    if words != [""]:
        return " ".join(mask_argv(words))[:COMMAND_CHARS]
    status = text_of(f"/proc/{pid}/stat") or ""
    name, _, rest = status.partition("(")[2].rpartition(")")
    if not name:
        return NOT_VISIBLE
    return f"[{name}]" + (" <defunct>" if rest.split()[:1] == ["Z"] else "")


class Names:
    """User names. Those of a directory server are looked up aside: that can hang."""

    def __init__(self) -> None:
        self._known: dict[int, str] = {}

    def of(self, uid: int) -> str:
        """The name, or `uid N` until it is known."""
        if not self._known:
            self._known = passwd_names()
        if uid not in self._known:
            self._known[uid] = f"uid {uid}"
            threading.Thread(target=self._look_up, args=(uid,), name="names", daemon=True).start()
        return self._known[uid]

    def _look_up(self, uid: int) -> None:
        with contextlib.suppress(KeyError):
            self._known[uid] = pwd.getpwuid(uid).pw_name


names = Names()
