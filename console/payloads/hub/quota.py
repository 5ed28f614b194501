"""What disk quotas leave a user of a file system: `statvfs` does not know of them."""

from __future__ import annotations

import ctypes
import os
import struct

BLOCK = 1024  # quotactl(2): limits are counted in blocks of 1 KiB, usage in bytes
_GET_QUOTA, _USER, _GROUP = 0x800007, 0, 1
_DQBLK = struct.Struct("=8QI")  # struct if_dqblk
_LIMITS_KNOWN, _SPACE_KNOWN = 1, 2


def free_bytes(source: str) -> int | None:
    """The smaller rest of this user's and this group's quota on a block device; None without one that can be read."""
    if not source.startswith("/dev/"):
        return None
    rests = [rest(_ask(source, kind, owner)) for kind, owner in ((_USER, os.getuid()), (_GROUP, os.getgid()))]
    return min((left for left in rests if left is not None), default=None)


def rest(answer: bytes) -> int | None:
    """Of a `struct if_dqblk`: bytes up to the hard limit, without one up to the soft limit; None without limits."""
    if len(answer) < _DQBLK.size:
        return None
    hard, soft, used, _, _, _, _, _, valid = _DQBLK.unpack(answer[: _DQBLK.size])
    wanted = _LIMITS_KNOWN | _SPACE_KNOWN
    limit = hard or soft
    return max(0, limit * BLOCK - used) if valid & wanted == wanted and limit else None


def _ask(source: str, kind: int, owner: int) -> bytes:
    buffer = ctypes.create_string_buffer(_DQBLK.size + 8)
    try:
        call = ctypes.CDLL(None, use_errno=True).quotactl
    except AttributeError:  # a C library without it
        return b""
    command = ctypes.c_int((_GET_QUOTA << 8 | kind) & 0xFFFFFFFF)
    return buffer.raw if call(command, os.fsencode(source), ctypes.c_int(owner), buffer) == 0 else b""
