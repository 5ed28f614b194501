"""The laptop of the story: folders of its own, so that nothing of the user's is read or changed, and its recipes."""

from __future__ import annotations

import contextlib
import os
import random
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path

KINDS = ("CONFIG", "DATA", "STATE", "CACHE")
STANDIN_SPEED = "20"  # a start on the demo box takes a fraction of a second

# Beside the shipped ones: each leads into one mistake. The port is one that nobody listens on.
RECIPES = """
[recipes.night]
extends = "demo"
port = {port}

[recipes.night-drafter]
extends = "demo-dflash"
port = {port}

[recipes.night-tp8]
extends = "night"
args = {{ tp = 8 }}

[recipes.night-ngram]
extends = "night"
description = "speculation, and nothing said of how many requests may run"
args = {{ speculative-algorithm = "NGRAM", speculative-num-draft-tokens = 8 }}
"""
MODELS = ("Unsized", "Nested", "Large", "Huge")  # each with a recipe of its own: night-unsized …
_PORTS = range(20_000, 32_000)


def _free_port() -> int:
    """Below those that the kernel gives out, so that nobody is given it before the story's server listens."""
    for port in random.sample(_PORTS, len(_PORTS)):
        with contextlib.suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port
    raise RuntimeError(f"no port from {_PORTS[0]} to {_PORTS[-1]} is free")


def _recipes() -> str:
    port = _free_port()
    own = (f'[recipes.night-{name.lower()}]\nextends = "night"\nmodel = "demo/{name}"\n' for name in MODELS)
    return "\n".join([RECIPES.format(port=port), *own])


@contextlib.contextmanager
def own_laptop() -> Iterator[Path]:
    """This process with configuration, runs and memory of its own, and a demo box whose servers start fast."""
    with tempfile.TemporaryDirectory(prefix="gpudeck-story-") as directory:
        folders = {f"XDG_{kind}_HOME": str(Path(directory) / kind.lower()) for kind in KINDS}
        recipes = Path(folders["XDG_CONFIG_HOME"]) / "gpudeck" / "recipes"
        recipes.mkdir(parents=True)
        (recipes / "night.toml").write_text(_recipes(), "utf-8")
        before = {name: os.environ.get(name) for name in (*folders, "SGLANG_STANDIN_SPEED")}
        os.environ.update(folders, SGLANG_STANDIN_SPEED=STANDIN_SPEED)
        try:
            yield Path(directory)
        finally:
            for name, value in before.items():
                if value is None:
                    os.environ.pop(name, None)
                else:
                    os.environ[name] = value
