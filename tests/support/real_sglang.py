"""The real SGLang 0.5.23 on the CPU, over a real sshd. `GPUDECK_REAL_SGLANG`: its directory (venv, models, lib)."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.support.gpudeck import Gpudeck
from tests.support.laptop import Laptop
from tests.support.ports import free_port
from tests.support.requirements import need
from tests.support.served import until
from tests.support.sshd import need_sshd, sshd

ROOT = os.environ.get("GPUDECK_REAL_SGLANG", "")
START_S = 900.0

ARGS = (
    '{ load-format = "dummy", device = "cpu", attention-backend = "torch_native", disable-overlap-schedule = true, '
    "max-total-tokens = 8192, mem-fraction-static = 0.3, enable-metrics = true, disable-radix-cache = true, "
    "disable-cuda-graph = true, decode-log-interval = 5%s }"
)


class Real:
    """The command line, a box behind sshd, and recipes of the real server."""

    def __init__(self, directory: Path, alias: str, laptop: Laptop) -> None:
        self.gpudeck, self.alias, self.port = Gpudeck(laptop), alias, free_port()
        self.state = directory / "box-state"
        self.gpudeck.host(alias, XDG_STATE_HOME=str(self.state))
        self.recipes = laptop.directory / "gpudeck.toml"

    def recipe(self, name: str, more: str = "") -> str:
        env = {"SGLANG_USE_CPU_ENGINE": "1", "CUDA_VISIBLE_DEVICES": "", "LD_LIBRARY_PATH": f"{ROOT}/lib"}
        pairs = ", ".join(f"{key} = {json.dumps(value)}" for key, value in env.items())
        with self.recipes.open("a") as file:
            file.write(
                f'[recipes.{name}]\nmodel = "{ROOT}/models/tiny"\npython = "{ROOT}/venv/bin/python"\n'
                f"port = {self.port}\nargs = {ARGS % more}\nenv = {{ {pairs} }}\n"
            )
        return name

    def run(self, *words: str, exit_code: int = 0) -> str:
        done = self.gpudeck.run(*words, timeout_s=START_S)
        assert done.returncode == exit_code, done.stderr + done.stdout
        self.said = done.stderr
        return done.stdout

    def server(self, *words: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.run("serve", self.alias, "status", *words, "--json"))["server"]
        return found


@contextlib.contextmanager
def real_box(directory: Path) -> Iterator[Real]:
    """A box with the real engine behind sshd. What was started there has ended with the block."""
    need("sglang", bool(ROOT), "GPUDECK_REAL_SGLANG names no directory")
    need_sshd()
    laptop = Laptop(directory)
    with sshd() as server:
        server.start()
        one = Real(directory, laptop.ready(server), laptop)
        try:
            yield one
        finally:
            for job in one.state.glob("gpudeck/jobs/serve-*"):
                one.gpudeck.run("jobs", one.alias, "stop", job.name, "--grace", "5")
                until(lambda job=job: (job / "drained.json").exists(), 60)  # type: ignore[misc]
