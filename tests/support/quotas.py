"""A file system with real quotas: an ext4 image of this machine's root, mounted through a loop device."""

from __future__ import annotations

import ctypes
import fcntl
import os
import shutil
import struct
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.requirements import need

SIZE = 200 << 20
BLOCK = 1024
USER, GROUP, PROJECT = range(3)
_SET_QUOTA, _LIMITS = 0x800008, 1
_GET_ATTRIBUTES, _SET_ATTRIBUTES, _INHERIT = 0x801C581F, 0x401C5820, 0x200


class Quotas:
    """`directory` is the mounted root; `device` is what the kernel calls it."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        mounts = (line.split() for line in Path("/proc/self/mounts").read_text().splitlines())
        self.device = next(source for source, mount, *_ in mounts if mount == str(directory))

    def limit(self, kind: int, owner: int, hard_bytes: int, soft_bytes: int = 0) -> None:
        """quotactl(2), Q_SETQUOTA."""
        limits = struct.pack("=8QI", hard_bytes // BLOCK, soft_bytes // BLOCK, 0, 0, 0, 0, 0, 0, _LIMITS)
        buffer = ctypes.create_string_buffer(limits)
        command = ctypes.c_int((_SET_QUOTA << 8 | kind) & 0xFFFFFFFF)
        done = ctypes.CDLL(None, use_errno=True).quotactl(command, os.fsencode(self.device), owner, buffer)
        assert done == 0, os.strerror(ctypes.get_errno())

    def project(self, directory: Path, number: int) -> None:
        """What lies in the directory from now on counts to the project."""
        handle = os.open(directory, os.O_RDONLY)
        try:
            fields = list(struct.unpack("=5I8s", fcntl.ioctl(handle, _GET_ATTRIBUTES, bytes(28))))
            fields[0], fields[3] = fields[0] | _INHERIT, number
            fcntl.ioctl(handle, _SET_ATTRIBUTES, struct.pack("=5I8s", *fields))
        finally:
            os.close(handle)


@contextmanager
def quotas() -> Iterator[Quotas]:
    """Mounted where every account can go, and gone afterwards. Skips where root, a tool or the kernel's quotas are
    missing."""
    need("quota", os.geteuid() == 0, "a file system is mounted as root")
    need("quota", shutil.which("mkfs.ext4") is not None, "mkfs.ext4 is not installed")
    with tempfile.TemporaryDirectory(prefix="gpudeck-quota-") as name:
        directory = Path(name)
        directory.chmod(0o755)
        yield from _mounted(directory / "image", directory / "mount")


def _mounted(image: Path, mount: Path) -> Iterator[Quotas]:
    with image.open("wb") as file:
        file.truncate(SIZE)
    kinds = "quotatype=usrquota:grpquota:prjquota"
    subprocess.run(["mkfs.ext4", "-q", "-O", "quota,project", "-E", kinds, str(image)], check=True, capture_output=True)
    mount.mkdir()
    done = subprocess.run(
        ["mount", "-o", "loop,usrquota,grpquota,prjquota", str(image), str(mount)], capture_output=True, text=True
    )
    need("quota", done.returncode == 0, "this kernel mounts no file system with quotas (loop, ext4, CONFIG_QFMT_V2)")
    try:
        yield Quotas(mount)
    finally:
        subprocess.run(["umount", str(mount)], check=True)
