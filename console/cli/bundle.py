"""`doctor --bundle`: what a bug report needs, in one private file, without secrets and names."""

from __future__ import annotations

import io
import json
import os
import platform
import tarfile
import tempfile
import time
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import IO, Any

import msgspec

from console import __version__
from console.cli.scrub import Scrubber
from console.cli.stop import USAGE, StopError
from console.config.paths import recordings_dir
from console.events.link import UnknownEvent
from console.journal import SCHEMA, Recording, RecordingError
from console.values import dump_json, to_json

PACKAGES = ("textual", "asyncssh", "msgspec", "click", "huggingface_hub", "nvidia-ml-py", "cryptography")


def check_new(path: Path) -> None:
    """The bundle goes to a file that does not exist yet, in a directory that does."""
    if path.exists():
        raise StopError(USAGE, f"{path} exists already; --bundle never writes over a file.")
    if not path.parent.is_dir():
        raise StopError(USAGE, f"{path} cannot be written: {path.parent} is no directory.")


def last_recording(host: str | None) -> Path | None:
    """The newest recording, of this box when one is named."""
    for path in sorted(recordings_dir().glob("*.jsonl*"), reverse=True):
        try:
            hosts = Recording(path).header.hosts
        except RecordingError:
            continue
        if host is None or host in hosts:
            return path
    return None


def write_bundle(path: Path, documents: dict[str, Any], recording: Path | None, scrubber: Scrubber) -> None:
    """Write `path`, 0600; raises FileExistsError. Each document becomes `<name>.json`."""
    plain = {name: to_json(value) for name, value in documents.items()} | {"versions": versions()}
    scrubber.learn(plain)
    for _, fields in _facts(recording):
        scrubber.learn(fields)
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "wb") as file, tarfile.open(fileobj=file, mode="w:gz") as tar:
        for name, value in plain.items():
            data = dump_json(scrubber.clean(value), pretty=True).encode() + b"\n"
            _add(tar, f"{name}.json", io.BytesIO(data), len(data))
        if recording is not None:
            with tempfile.TemporaryFile() as scrubbed:
                scrubbed.write(_header(recording, scrubber))
                for (seq, t, kind), fields in _facts(recording):
                    scrubbed.write(_line([seq, t, kind, scrubber.clean(fields)]))
                size = scrubbed.tell()
                scrubbed.seek(0)
                _add(tar, "recording.jsonl", scrubbed, size)


def _add(tar: tarfile.TarFile, name: str, data: IO[bytes], size: int) -> None:
    entry = tarfile.TarInfo(f"gpudeck-doctor/{name}")
    entry.size, entry.mode, entry.mtime = size, 0o600, int(time.time())
    tar.addfile(entry, data)


def _facts(recording: Path | None) -> Iterator[tuple[tuple[int, float, str], dict[str, Any]]]:
    """Each fact as (seq, t, kind) and its fields as plain data."""
    for stamped in Recording(recording).facts() if recording else ():
        event = stamped.event
        if isinstance(event, UnknownEvent):
            yield (stamped.seq, stamped.t, event.kind), event.fields
        else:
            fields = msgspec.to_builtins(event) | (stamped.extra or {})
            yield (stamped.seq, stamped.t, type(event).__name__), fields


def _header(recording: Path, scrubber: Scrubber) -> bytes:
    header = msgspec.to_builtins(Recording(recording).header)
    scrubber.learn(header)
    return _line(scrubber.clean(header) | {"schema": max(SCHEMA, header["schema"])})


def _line(data: Any) -> bytes:
    return json.dumps(data, separators=(",", ":")).encode("ascii") + b"\n"


def versions() -> dict[str, str | None]:
    """What runs here."""
    found: dict[str, str | None] = {"gpudeck": __version__, "python": platform.python_version()}
    found |= {"system": platform.system(), "release": platform.release(), "machine": platform.machine()}
    for package in PACKAGES:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            found[package] = None
    return found
