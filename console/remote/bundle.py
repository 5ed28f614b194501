"""Programs for the box: a package of small modules joined into one payload that travels over standard input."""

from __future__ import annotations

import binascii
import functools
import importlib.resources
import json
import zlib
from collections.abc import Mapping
from importlib.resources.abc import Traversable
from typing import Any

from console.remote.stage0 import BOOT, STAGE0

__all__ = ["STAGE0", "bundle", "frame"]


@functools.cache
def _sources(package: str) -> dict[str, str]:
    """The package's modules by name relative to it (`""` is the package itself)."""
    return dict(_walk(importlib.resources.files(package), ""))


def _walk(folder: Traversable, prefix: str) -> list[tuple[str, str]]:
    modules: list[tuple[str, str]] = []
    for entry in sorted(folder.iterdir(), key=lambda item: item.name):
        if entry.is_dir():
            if entry.joinpath("__init__.py").is_file():
                modules += _walk(entry, f"{prefix}{entry.name}.")
        elif entry.name == "__init__.py":
            modules.append((prefix.rstrip("."), entry.read_text("utf-8")))
        elif entry.name.endswith(".py"):
            modules.append((prefix + entry.name[:-3], entry.read_text("utf-8")))
    return modules


def bundle(package: str, config: Mapping[str, Any], extra_modules: Mapping[str, str] | None = None) -> bytes:
    """The payload that runs `main(config)` of the package's module `main` on the box.

    `extra_modules`: absolute module names and sources, importable beside the package. Read by STAGE0 alone, of the
    same version, so its layout is nobody else's business: compressed JSON as base64, because a host that forces a
    shell upon us reads it as one harmless word instead of as binary commands.
    """
    content = {
        "boot": BOOT,
        "root": "gpudeck_" + package.rpartition(".")[2],
        "modules": _sources(package),
        "extra": dict(extra_modules or {}),
        "config": dict(config),
    }
    packed = zlib.compress(json.dumps(content, separators=(",", ":")).encode("ascii"))
    return binascii.b2a_base64(packed)


def frame(payload: bytes) -> bytes:
    """The payload behind its length: what STAGE0 reads from standard input."""
    return b"%d\n" % len(payload) + payload
