"""A job's folder, `<state>/gpudeck/jobs/<id>/`, 0700, its files 0600.

    job.json        what was started, by whom, and the identity of the main process and its runner
    log             standard output and error of the job, appended, capped; `log.1` is what went before
    progress.ndjson written by the job itself
    exit.json       how the main process ended
    drained.json    nothing of the job is left
    stop.json       who asked to stop, and the grace
    pause           asked to pause
    spec.json       the request, until the runner has read it; other names: the job's own files, secrets among them

Evidence and requests are written into space that is set aside when the job starts: a full disk loses none of them.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
from typing import Any, Iterator

JOB, LOG, EXIT, DRAINED, STOP, PAUSE, SPEC = (
    "job.json", "log", "exit.json", "drained.json", "stop.json", "pause", "spec.json",
)  # fmt: skip
EVIDENCE_BYTES = 4096
RESERVED = ".reserved"
JOB_ID = re.compile(r"[a-z0-9][a-z0-9._-]{0,99}")


def root() -> str:
    """Where jobs live: of the program's own environment, which is the agent's."""
    state = os.environ.get("XDG_STATE_HOME", "")
    if not os.path.isabs(state):
        state = os.path.join(os.path.expanduser("~"), ".local", "state")
    return os.path.join(state, "gpudeck", "jobs")


def path_of(job_id: str) -> str:
    """The job's folder. Raises ValueError for an id that is no name."""
    if not JOB_ID.fullmatch(job_id):
        raise ValueError(f"{job_id!r} is no job id")
    return os.path.join(root(), job_id)


def job_ids() -> list[str]:
    try:
        names = os.listdir(root())
    except FileNotFoundError:
        return []
    return sorted(name for name in names if JOB_ID.fullmatch(name) and os.path.isdir(os.path.join(root(), name)))


def check_root() -> None:
    """Raises ValueError where others could have written the records: whom they name would be killed or started.

    The owner of the home directory is believed, too: on some network file systems every file is one user's.
    """
    try:
        status = os.stat(root())
    except FileNotFoundError:
        return
    if status.st_mode & 0o022:
        raise ValueError(f"{root()} can be written by others: its records are not believed (chmod 700 it)")
    if status.st_uid not in (os.geteuid(), os.stat(os.path.expanduser("~")).st_uid):
        raise ValueError(f"{root()} belongs to another user: its records are not believed")


@contextlib.contextmanager
def locked() -> Iterator[None]:
    """One start or prune at a time."""
    os.makedirs(root(), mode=0o700, exist_ok=True)
    check_root()
    handle = os.open(os.path.join(root(), ".lock"), os.O_CREAT | os.O_RDWR | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def read(directory: str, name: str) -> dict[str, Any] | None:
    """A JSON file of the folder, or None when it is missing or not whole."""
    try:
        with open(os.path.join(directory, name), encoding="ascii") as file:
            value = json.load(file)
    except (OSError, ValueError):
        return None
    return value if isinstance(value, dict) else None


def write(directory: str, name: str, data: bytes) -> None:
    """Create or replace a file, 0600, at once."""
    temporary = os.path.join(directory, "." + name)
    handle = os.open(temporary, os.O_CREAT | os.O_TRUNC | os.O_WRONLY | os.O_NOFOLLOW, 0o600)
    try:
        _write_all(handle, data)
        os.fsync(handle)
    except OSError:
        os.unlink(temporary)
        raise
    finally:
        os.close(handle)
    os.replace(temporary, os.path.join(directory, name))


def reserve(directory: str, *names: str) -> None:
    """Set space aside for files that must be written whatever happens. Raises OSError when there is none."""
    for name in names:
        write(directory, name + RESERVED, b" " * EVIDENCE_BYTES)


def fill(directory: str, name: str, data: dict[str, Any]) -> None:
    """Write into the reserved space and give it its name, or over what was written there before: needs no block."""
    text = json.dumps(data).encode("ascii")[: EVIDENCE_BYTES - 1]
    path = os.path.join(directory, name)
    reserved = path + RESERVED
    try:
        handle = os.open(reserved if os.path.exists(reserved) else path, os.O_WRONLY | os.O_NOFOLLOW)
    except FileNotFoundError:
        write(directory, name, text + b"\n")
        return
    try:
        _write_all(handle, text.ljust(EVIDENCE_BYTES - 1) + b"\n")
        os.fsync(handle)
    finally:
        os.close(handle)
    with contextlib.suppress(FileNotFoundError):
        os.replace(reserved, path)


def give_back(directory: str, name: str) -> None:
    """Take a filled file away, but keep its space for the next time."""
    path = os.path.join(directory, name)
    with contextlib.suppress(FileNotFoundError):
        os.replace(path, path + RESERVED)


def remove(directory: str, name: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.unlink(os.path.join(directory, name))


def exists(directory: str, name: str) -> bool:
    return os.path.lexists(os.path.join(directory, name))


def dump(value: Any) -> bytes:
    return json.dumps(value, indent=1).encode("ascii") + b"\n"


def _write_all(handle: int, data: bytes) -> None:
    while data:
        data = data[os.write(handle, data) :]
