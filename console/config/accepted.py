"""What the user accepted once and for all, by fingerprint: `$XDG_STATE_HOME/gpudeck/accepted.json`."""

from __future__ import annotations

from pathlib import Path

import msgspec

from console.config import paths


def accepted_file() -> Path:
    """Where it lies."""
    return paths.home_dir("state") / "accepted.json"


def read_accepted() -> frozenset[str]:
    """Every fingerprint; nothing when the file is missing or cannot be read."""
    try:
        return frozenset(msgspec.json.decode(accepted_file().read_bytes(), type=list[str]))
    except (OSError, msgspec.MsgspecError):
        return frozenset()


def accept(fingerprint: str) -> None:
    """Remember one more. Raises OSError."""
    paths.make_private_dir(accepted_file().parent)
    paths.write_private(accepted_file(), msgspec.json.encode(sorted(read_accepted() | {fingerprint})))
