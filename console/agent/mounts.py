"""Which mounts are disks: /proc/self/mountinfo, parsed and grouped by device. Reading it never blocks."""

from __future__ import annotations

import re
from typing import Any

NETWORK = {
    "nfs",
    "nfs4",
    "cifs",
    "smb3",
    "smbfs",
    "lustre",
    "ceph",
    "glusterfs",
    "beegfs",
    "gpfs",
    "wekafs",
    "9p",
    "afs",
    "pvfs2",
    "orangefs",
    "fuse.sshfs",
}
PSEUDO = {
    "autofs", "binfmt_misc", "bpf", "cgroup", "cgroup2", "configfs", "debugfs", "devpts", "devtmpfs", "efivarfs",
    "fusectl", "fuse.gvfsd-fuse", "fuse.lxcfs", "fuse.portal", "hugetlbfs", "iso9660", "mqueue", "nsfs", "proc",
    "pstore", "ramfs", "rpc_pipefs", "securityfs", "selinuxfs", "squashfs", "sysfs", "tracefs",
}  # fmt: skip
SYSTEM = ("/proc", "/sys", "/run", "/dev", "/snap", "/boot")
SHM = "/dev/shm"
_ESCAPE = re.compile(r"\\([0-7]{3})")


class Mount:
    """One line of mountinfo."""

    def __init__(self, line: str) -> None:
        left, _, right = line.partition(" - ")
        fields = left.split(" ")
        self.device_id, self.root, self.path = fields[2], _plain(fields[3]), _plain(fields[4])
        options = set(fields[5].split(","))
        self.fstype, source, rest = (right + "  ").split(" ", 2)
        self.source = _plain(source)
        self.mount_read_only = "ro" in options
        self.super_read_only = "ro" in rest.strip().split(",")
        if self.fstype == "zfs":
            self.device_id = "zfs:" + self.source.split("/", 1)[0]  # datasets share their pool

    @property
    def is_network(self) -> bool:
        return self.fstype in NETWORK or self.fstype.startswith("fuse.")

    @property
    def is_ram(self) -> bool:
        return self.fstype == "tmpfs"

    def is_disk(self) -> bool:
        """Whether it can hold a model: /dev/shm can, other tmpfs and the system's own cannot."""
        if self.path == SHM:
            return self.fstype == "tmpfs"
        if self.fstype in PSEUDO or self.fstype == "tmpfs" or (self.fstype == "overlay" and self.path != "/"):
            return False
        return not any(self.path == top or self.path.startswith(top + "/") for top in SYSTEM)


def _plain(text: str) -> str:
    return _ESCAPE.sub(lambda match: chr(int(match.group(1), 8)), text)


def parse(text: str) -> list[Mount]:
    """The mounts that are disks; of two on one path the later one, which lies on top."""
    on_top: dict[str, Mount] = {}
    for line in text.splitlines():
        if " - " in line:
            mount = Mount(line)
            on_top.pop(mount.path, None)
            on_top[mount.path] = mount
    return [mount for mount in on_top.values() if mount.is_disk()]


def per_device(mounts: list[Mount]) -> list[tuple[Mount, list[str]]]:
    """One mount a device, and the paths of its others.

    The one is a mount of the file system's own root when there is one, not a bind mount of a part; then the
    shortest path. Overlays share numbers with nobody.
    """
    groups: dict[str, list[Mount]] = {}
    for mount in mounts:
        groups.setdefault(mount.device_id, []).append(mount)
    chosen = []
    for group in groups.values():
        group.sort(key=_rank)
        chosen.append((group[0], [mount.path for mount in group[1:]]))
    return sorted(chosen, key=lambda pair: pair[0].path)


def _rank(mount: Mount) -> tuple[Any, ...]:
    return (mount.root != "/", len(mount.path), mount.path)
