"""The systemd unit that a server is: stopping it must stop no program of others."""

from __future__ import annotations

import os

from .machine import text_of
from .processes import unit_of

# Services in whose cgroup other people's programs run: a server started from one of them is not that service.
HOSTS_OF_OTHERS = frozenset(
    ("agetty", "atd", "containerd", "cron", "crond", "dockerd", "login", "slurmd", "slurmstepd", "sshd", "sshd-session",
     "supervisord")
)  # fmt: skip
_HIERARCHIES = ("/sys/fs/cgroup", "/sys/fs/cgroup/systemd", "/sys/fs/cgroup/unified")


def own_unit(pid: int) -> tuple[str, str]:
    """(unit, "system" or "user"); empty when it is in none, or in one that runs the programs of others.

    Schedulers re-parent, so that the tree does not tell what belongs to a unit: who lives in its cgroup does.
    """
    cgroup = text_of(f"/proc/{pid}/cgroup") or ""
    unit, scope = unit_of(cgroup)
    if unit and any(_name(one) in HOSTS_OF_OTHERS for one in _members(cgroup, unit)):
        return "", ""
    return unit, scope


def _members(cgroup: str, unit: str) -> set[int]:
    """Processes in the unit's cgroup and the groups below it; empty when it cannot be read."""
    for line in cgroup.splitlines():
        path = line.split(":", 2)[-1]
        if unit not in path.split("/"):
            continue
        top = path[: path.index(unit) + len(unit)]
        for hierarchy in _HIERARCHIES:
            found: set[int] = set()
            for folder, _, files in os.walk(hierarchy + top):
                if "cgroup.procs" in files:
                    text = text_of(os.path.join(folder, "cgroup.procs")) or ""
                    found.update(int(word) for word in text.split() if word.isdigit())
            if found:
                return found
    return set()


def _name(pid: int) -> str:
    return (text_of(f"/proc/{pid}/comm") or "").strip()
