"""The product as its user runs it: the command line in a process of its own, with XDG directories of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.support.laptop import Laptop
from tests.support.patience import COMMAND_S

ROOT = Path(__file__).parents[2]


class Gpudeck:
    """Runs commands with the SSH configuration and the directories of `laptop`; `config` is its config.toml."""

    def __init__(self, laptop: Laptop) -> None:
        self.laptop = laptop
        self.home = laptop.directory / "xdg"
        self.config = self.home / "config" / "gpudeck" / "config.toml"
        self.config.parent.mkdir(parents=True, exist_ok=True)

    @property
    def env(self) -> dict[str, str]:
        xdg = {f"XDG_{kind}_HOME": str(self.home / kind.lower()) for kind in ("CONFIG", "DATA", "STATE", "CACHE")}
        plain = {name: value for name, value in os.environ.items() if not name.startswith(("GPUDECK_", "XDG_", "SSH_"))}
        return plain | xdg | {"PYTHONPATH": str(ROOT), "GPUDECK_SSH_CONFIG": str(self.laptop.config)}

    def host(self, name: str, **env: str) -> None:
        """A box in config.toml with an environment for its agent."""
        lines = [
            f"[hosts.{name}]",
            "env = {" + ", ".join(f"{key} = {json.dumps(value)}" for key, value in env.items()) + "}",
        ]
        with self.config.open("a") as file:
            file.write("\n".join(lines) + "\n")

    def argv(self, *arguments: str) -> list[str]:
        return [sys.executable, "-m", "console", *arguments]

    def run(
        self, *arguments: str, stdin: str = "", timeout_s: float = COMMAND_S, **env: str
    ) -> subprocess.CompletedProcess[str]:
        """Run to the end; standard input is never a terminal."""
        return subprocess.run(
            self.argv(*arguments), input=stdin, capture_output=True, text=True, timeout=timeout_s, env=self.env | env,
            cwd=self.laptop.directory,
        )  # fmt: skip

    def json(self, *arguments: str, **env: str) -> Any:
        """The one JSON object of a command that ends with 0."""
        done = self.run(*arguments, "--json", **env)
        assert done.returncode == 0, done.stderr + done.stdout
        return json.loads(done.stdout)
