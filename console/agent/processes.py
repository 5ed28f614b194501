"""Processes of this box by /proc: identity, tree, unit, container, open ports.

A process is named by (pid, start): `start` is field 22 of its stat, clock ticks since boot, so that a reused pid is
somebody else. Together with the boot id that holds across reconnects.
"""

from __future__ import annotations

import os
import re
import socket
import struct
from typing import Any

from .machine import text_of
from .wire import unknown

TICKS_PER_S = os.sysconf("SC_CLK_TCK")
_CONTAINER = re.compile(
    r"(?:docker|libpod|crio|cri-containerd|containerd)[-/:]([0-9a-f]{12})[0-9a-f]*|/kubepods[^\n]*?([0-9a-f]{12})[0-9a-f]{20,}"
    r"|/lxc(?:\.payload)?[./]([\w.-]{1,64})|/machine\.slice/(machine-[^/\n]+)\.scope"
)


class Status:
    """What /proc/PID/stat tells. A zombie is gone: it holds nothing any more."""

    def __init__(self, pid: int, fields: list[str]) -> None:
        self.pid = pid
        self.state = fields[0]
        self.parent = int(fields[1])
        self.session = int(fields[3])
        self.start = int(fields[19])

    @property
    def gone(self) -> bool:
        return self.state in ("Z", "X", "x")


def status_of(pid: int) -> Status | None:
    text = text_of(f"/proc/{pid}/stat")
    if not text:
        return None
    fields = text.rpartition(")")[2].split()
    return Status(pid, fields) if len(fields) > 19 else None


def alive(pid: int, start: int) -> bool:
    """True while exactly this process lives."""
    status = status_of(pid)
    return status is not None and status.start == start and not status.gone


def all_processes() -> dict[int, Status]:
    found = (status_of(int(name)) for name in os.listdir("/proc") if name.isdigit())
    return {status.pid: status for status in found if status is not None}


def descendants(pid: int, processes: dict[int, Status]) -> set[int]:
    """The process and all below it."""
    children: dict[int, list[int]] = {}
    for status in processes.values():
        children.setdefault(status.parent, []).append(status.pid)
    tree, waiting = {pid}, [pid]
    while waiting:
        for child in children.get(waiting.pop(), ()):
            if child not in tree:
                tree.add(child)
                waiting.append(child)
    return tree


def words_of(pid: int, name: str) -> list[str] | None:
    """The NUL-separated words of `cmdline` or `environ`; None when they cannot be read or there are none."""
    try:
        with open(f"/proc/{pid}/{name}", "rb") as stream:
            data = stream.read()
    except OSError:
        return None
    if not data:
        return None
    return [os.fsdecode(word) for word in data.rstrip(b"\0").split(b"\0")]


def boot_id() -> str:
    return (text_of("/proc/sys/kernel/random/boot_id") or "").strip()


def started_s(start: int) -> float | None:
    """Unix time of a start."""
    for line in (text_of("/proc/stat") or "").splitlines():
        if line.startswith("btime "):
            return round(int(line.split()[1]) + start / TICKS_PER_S, 2)
    return None


def unit_of(cgroup: str) -> tuple[str, str]:
    """(service, "system" or "user") of a /proc/PID/cgroup, empty when it is in no service of its own."""
    for line in cgroup.splitlines():
        number, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if number != "0" and controllers != "name=systemd":
            continue
        parts = path.split("/")
        for part in reversed(parts):
            if part.endswith(".service"):
                if re.match(r"user@\d+\.service$", part):
                    break
                user = any(re.match(r"user@\d+\.service$", above) for above in parts)
                return part, "user" if user else "system"
    return "", ""


def container_of(pid: int, cgroup: str) -> str:
    """A short name when the process lives in a container that this agent does not live in; else empty."""
    try:
        if os.readlink(f"/proc/{pid}/ns/pid") == os.readlink("/proc/self/ns/pid"):
            return ""
        other = True
    except OSError:
        other = False  # another user's: the cgroup has to tell
    found = _CONTAINER.search(cgroup)
    if found:
        return next(name for name in found.groups() if name)
    return "another pid namespace" if other else ""


def _inodes(pid: int) -> set[str] | None:
    """Socket inodes that a process has open; None when they cannot be seen."""
    folder = f"/proc/{pid}/fd"
    try:
        numbers = os.listdir(folder)
    except OSError:
        return None
    found = set()
    for number in numbers:
        try:
            target = os.readlink(os.path.join(folder, number))
        except OSError:
            continue
        if target.startswith("socket:["):
            found.add(target[8:-1])
    return found


def _address(text: str) -> tuple[str, int]:
    host, _, port = text.partition(":")
    packed = b"".join(struct.pack("=I", int(host[at : at + 8], 16)) for at in range(0, len(host), 8))
    family = socket.AF_INET if len(packed) == 4 else socket.AF_INET6
    return socket.inet_ntop(family, packed), int(port, 16)


_answered: dict[tuple[int, int], tuple[str, list[tuple[str, int]]]] = {}  # (pid, port): (socket, last answer)


def listeners(pid: int, port: int) -> Any:
    """[(address, port)] on which the process listens, or unknown.

    The kernel takes milliseconds to print its sockets, so the last answer holds while the process keeps the socket
    that listens on `port`.
    """
    inodes = _inodes(pid)
    if inodes is None:
        return unknown("its open files are not visible to this user")
    socket_inode, answer = _answered.pop((pid, port), ("", []))
    if socket_inode not in inodes:
        found = _listening(pid, inodes)
        answer = sorted(set(found.values()))
        socket_inode = next((inode for inode, address in found.items() if address[1] == port), "")
    if socket_inode:
        _answered[pid, port] = (socket_inode, answer)
    return answer


def _listening(pid: int, inodes: set[str]) -> dict[str, tuple[str, int]]:
    found = {}
    for name in ("tcp", "tcp6"):
        for line in (text_of(f"/proc/{pid}/net/{name}") or "").splitlines()[1:]:
            fields = line.split()
            if len(fields) > 9 and fields[3] == "0A" and fields[9] in inodes:
                found[fields[9]] = _address(fields[1])
    return found
