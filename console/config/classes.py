"""Which architecture each recipe of a box had when it was last checked: `$XDG_CACHE_HOME/gpudeck/classes.json`.

Together with the starts that became ready it answers which recipes are known to serve a class on this box.
"""

from __future__ import annotations

import msgspec

from console.config import paths
from console.config.starts import earlier_starts

Classes = dict[str, dict[str, str]]


def remember_class(host: str, recipe: str, architecture: str) -> None:
    """Keep it. Raises OSError."""
    classes = _read()
    if classes.get(host, {}).get(recipe) != architecture:
        classes.setdefault(host, {})[recipe] = architecture
        paths.write_private(paths.home_dir("cache") / "classes.json", msgspec.json.encode(classes))


def ready_recipes(host: str, architecture: str) -> tuple[str, ...]:
    """Recipes of this architecture that reached READY on this box."""
    alike = (name for name, own in _read().get(host, {}).items() if own == architecture)
    return tuple(sorted(name for name in alike if earlier_starts(host, name)))


def _read() -> Classes:
    try:
        return msgspec.json.decode((paths.home_dir("cache") / "classes.json").read_bytes(), type=Classes)
    except (OSError, msgspec.MsgspecError):
        return {}
