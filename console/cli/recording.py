"""Where a session is recorded: console sessions and followed jobs by themselves, a one-shot command only when asked."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

from console.cli.flags import Flags
from console.cli.output import say
from console.config import Config
from console.config.paths import make_private_dir, recordings_dir
from console.journal import make_room


def recording_file(flags: Flags, hosts: Iterable[str], config: Config) -> Path | None:
    """As `--record` says, by default a new file in the data directory, or nowhere.

    A data directory that cannot be written costs the recording, not the work.
    """
    if flags.record is not None or not config.settings.record:
        return flags.record
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S.%f")[:-3]
    name = "+".join(hosts).replace("/", "_")[:80] or "console"
    try:
        directory = make_private_dir(recordings_dir())
        make_room(directory)
        if not os.access(directory, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    except OSError as error:
        say(flags, f"Not recorded: {recordings_dir()}: {error.strerror or error}.")
        return None
    return directory / f"{stamp}-{name}.jsonl"
