"""What the box is (hello) and how busy it is (MachineSampled)."""

from __future__ import annotations

import os
import platform
import socket
import stat
import sys
from typing import Any

from .wire import unknown

MOST_BYTES = 16 << 20
PART_BYTES = 64 << 10  # the kernel takes memory for a whole read, also of a short file of /proc/sys
_READ = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC


def text_of(path: str) -> str | None:
    """A small file, or None. Strangers' processes name some paths: a pipe is not waited for, a device not read."""
    try:
        with os.fdopen(os.open(path, _READ), "rb", buffering=0) as stream:
            if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
                return None
            data = part = stream.read(PART_BYTES)
            while part and len(data) < MOST_BYTES:
                part = stream.read(PART_BYTES)
                data += part
    except OSError:
        return None
    return data.decode("utf-8", "replace")


def hello(nonce: str) -> dict[str, Any]:
    """The first frame: who answers, on which box."""
    uid = os.getuid()
    user, home, shell = passwd_entry(uid)
    boot_id = text_of("/proc/sys/kernel/random/boot_id")
    return {
        "nonce": nonce,
        "pid": os.getpid(),
        "hostname": socket.gethostname(),
        "boot_id": boot_id.strip() if boot_id else unknown("no /proc/sys/kernel/random/boot_id"),
        "kernel": platform.release(),
        "os": _os_name(),
        "python_version": platform.python_version(),
        "python": sys.executable,
        "cpu_count": len(os.sched_getaffinity(0)),
        "uid": uid,
        "user": user,
        "home": os.environ.get("HOME") or home,
        "shell": os.environ.get("SHELL") or shell,
    }


def passwd_entry(uid: int) -> tuple[str, str, str]:
    """(name, home, shell) from /etc/passwd itself: the C library may ask a directory server and hang."""
    for line in (text_of("/etc/passwd") or "").splitlines():
        fields = line.split(":")
        if len(fields) >= 7 and fields[2] == str(uid):
            return fields[0], fields[5], fields[6]
    return os.environ.get("USER") or f"uid {uid}", os.path.expanduser("~"), ""


def passwd_names() -> dict[int, str]:
    """User names of /etc/passwd by uid."""
    rows = [line.split(":") for line in (text_of("/etc/passwd") or "").splitlines()]
    return {int(row[2]): row[0] for row in rows if len(row) >= 7 and row[2].isdigit()}


def _os_name() -> Any:
    for path in ("/etc/os-release", "/usr/lib/os-release"):
        for line in (text_of(path) or "").splitlines():
            if line.startswith("PRETTY_NAME="):
                return line.partition("=")[2].strip().strip('"')
    return unknown("no os-release file")


def meminfo() -> dict[str, int]:
    """/proc/meminfo in bytes."""
    values = {}
    for line in (text_of("/proc/meminfo") or "").splitlines():
        name, _, rest = line.partition(":")
        words = rest.split()
        if words and words[0].isdigit():
            values[name] = int(words[0]) * (1024 if words[1:] == ["kB"] else 1)
    return values


class Machine:
    """CPU (all cores together, since the last sample), memory and swap. 0.5 Hz: nobody watches it closer."""

    period_s = 2.0

    def __init__(self, agent: Any) -> None:
        self._outlet = agent.outlet
        self._before: list[int] | None = None

    def sample(self) -> None:
        memory = meminfo()
        self._outlet.sample(
            "MachineSampled",
            {
                "cpu_pct": self._cpu_pct(),
                "load1": round(os.getloadavg()[0], 2),
                "memory_total_bytes": _of(memory, "MemTotal"),
                "memory_available_bytes": _of(memory, "MemAvailable"),
                "swap_total_bytes": _of(memory, "SwapTotal"),
                "swap_used_bytes": _swap_used(memory),
            },
        )

    def _cpu_pct(self) -> Any:
        """Busy share of the time since the last sample; iowait counts as idle, guest time is in user already."""
        line = (text_of("/proc/stat") or "").split("\n", 1)[0].split()
        if len(line) < 9 or line[0] != "cpu":
            return unknown("no /proc/stat")
        now = [int(word) for word in line[1:9]]
        before, self._before = self._before, now
        if before is None:
            return unknown("not sampled yet")
        deltas = [new - old for new, old in zip(now, before)]
        total = sum(deltas)
        return round(100.0 * (total - deltas[3] - deltas[4]) / total, 1) if total > 0 else unknown("no time passed")


def _of(memory: dict[str, int], name: str) -> Any:
    return memory.get(name, unknown(f"/proc/meminfo has no {name}"))


def _swap_used(memory: dict[str, int]) -> Any:
    if "SwapTotal" in memory and "SwapFree" in memory:
        return memory["SwapTotal"] - memory["SwapFree"]
    return unknown("/proc/meminfo tells no swap")
