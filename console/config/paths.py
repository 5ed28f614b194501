"""Where the console keeps its files. The XDG variables count on every system; files 0600, directories 0700."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

APP = "gpudeck"
Kind = Literal["config", "data", "state", "cache"]


def home_dir(kind: Kind, env: Mapping[str, str] | None = None) -> Path:
    """`$XDG_<KIND>_HOME/gpudeck`, or what the system has for it. A relative variable is ignored, as XDG says."""
    base = (os.environ if env is None else env).get(f"XDG_{kind.upper()}_HOME", "")
    if os.path.isabs(base):
        return Path(base) / APP
    import platformdirs

    return Path(getattr(platformdirs, f"user_{kind}_dir")(APP, appauthor=False))


def config_file() -> Path:
    """The user's `config.toml`."""
    return home_dir("config") / "config.toml"


def user_recipes_dir() -> Path:
    """The user's recipe files."""
    return home_dir("config") / "recipes"


def recordings_dir() -> Path:
    """Recordings of sessions."""
    return home_dir("data") / "recordings"


def runs_dir() -> Path:
    """Stored benchmark runs."""
    return home_dir("data") / "runs"


def make_private_dir(directory: Path) -> Path:
    """The directory, 0700; those above it that are missing, too."""
    missing = [path for path in (directory, *directory.parents) if not path.exists()]
    for path in reversed(missing):
        path.mkdir(mode=0o700, exist_ok=True)
    return directory


def write_private(file: Path, data: bytes) -> None:
    """Write the whole file at once, 0600: readers see the old or the new one."""
    make_private_dir(file.parent)
    handle, temporary = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.")
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(temporary, file)
    except BaseException:
        os.unlink(temporary)
        raise
