"""Our own known_hosts file, which grows by acceptance alone. Light to import."""

from __future__ import annotations

import errno
import os
from pathlib import Path

from console.remote.errors import HostKeyUnknown


def own_file() -> Path:
    """The file that accepted host keys go to."""
    state = os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")
    return Path(state) / "gpudeck" / "known_hosts"


def accept_host_key(unknown: HostKeyUnknown) -> Path:
    """Trusts the key from now on: one line more in our own file. Connecting again then checks against it.

    Raises OSError; a full disk leaves no half line.
    """
    file = own_file()
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    size, line = os.fstat(descriptor).st_size, f"{unknown.pattern} {unknown.public_key}\n".encode()
    try:
        if os.write(descriptor, line) < len(line):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(file))
        os.fsync(descriptor)
    except OSError:
        os.ftruncate(descriptor, size)
        raise
    finally:
        os.close(descriptor)
    return file
