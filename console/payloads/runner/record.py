"""The request for a job, checked, and the record of it that anybody may read: without its secrets."""

from __future__ import annotations

import base64
import binascii
import os
import re
import time
from typing import Any

from . import folder, tree
from .identity import Process

HIDDEN = "***"
JOB_DIR = "{job_dir}"  # at the beginning of a word or a value: the job's folder
LOG_CAP_BYTES = 256 * 1024 * 1024
GRACE_S = 30.0
_FILE_NAME = re.compile(r"[a-z][a-z0-9_-]*\.(yaml|json|toml|txt)")
_OWN = {folder.JOB, folder.EXIT, folder.DRAINED, folder.STOP, folder.SPEC}


def prepare(job: dict[str, Any], directory: str, umask: int) -> dict[str, Any]:
    """The checked request with every default: what `spec.json` holds. Raises ValueError with a sentence."""
    argv, secrets = job["argv"], job.get("secret_env") or {}
    if not argv or not all(isinstance(word, str) and "\0" not in word for word in argv):
        raise ValueError("argv must be a list of words")
    for value in secrets.values():
        if len(value) >= 6 and any(value in word for word in argv):
            raise ValueError("a secret must not be an argument: every user of the box could read it")
    for name in job.get("files") or {}:
        if not _FILE_NAME.fullmatch(name) or name in _OWN:
            raise ValueError(f"{name!r} cannot name a file of a job")
    env = {**(job.get("env") or {}), tree.MARK: job["id"], "GPUDECK_JOB_DIR": directory}
    checked = {
        "id": job["id"],
        "kind": job["kind"],
        "key": job["key"],
        "by": job["by"],
        "argv": [_place(word, directory) for word in argv],
        "cwd": job.get("cwd") or os.path.expanduser("~"),
        "env": {name: _place(value, directory) for name, value in env.items()},
        "secret_env": sorted({*secrets, *(job.get("server_keys") or {})}),
        "files": sorted(job.get("files") or {}),
        "meta": job.get("meta") or {},
        "pause": job.get("pause") or "signal",
        "grace_s": job.get("grace_s") or GRACE_S,
        "log_cap_bytes": job.get("log_cap_bytes") or LOG_CAP_BYTES,
        "stdin": job.get("stdin") or "",
        "umask": umask,
    }
    return {"job": checked, "env": {**os.environ, **checked["env"], **secrets}}


def write_files(job: dict[str, Any], directory: str) -> None:
    for name, text in (job.get("files") or {}).items():
        try:
            folder.write(directory, name, base64.b64decode(text, validate=True))
        except binascii.Error as error:
            raise ValueError(f"the file {name} is not base64: {error}") from None


def job_record(job: dict[str, Any], main: Process, runner: Process, boot: str, unit: Any) -> dict[str, Any]:
    """`job.json`: secrets are `***`, identities are pid + start + boot."""
    now = time.time()
    shown: list[str] = ["id", "kind", "key", "by", "argv", "cwd", "files", "meta", "pause", "grace_s", "log_cap_bytes"]
    record = {name: job[name] for name in shown}
    record["env"] = {**job["env"], **dict.fromkeys(job["secret_env"], HIDDEN)}
    record.update(
        pid=main.pid, start_ticks=main.start, runner_pid=runner.pid, runner_start_ticks=runner.start,
        boot_id=boot, unit=unit, created_s=round(now, 3),
        created=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(now)),
    )  # fmt: skip
    return record


def _place(text: str, directory: str) -> str:
    return directory + text[len(JOB_DIR) :] if text.startswith(JOB_DIR) else text
