"""A box that serves with the SGLang stand-in: an interpreter that has it, a model directory, recipes."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import time
import venv
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from console.demo.sglang import install
from tests.support.patience import PATIENCE_S

CONFIG = {
    "architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3", "num_hidden_layers": 4, "hidden_size": 256,
    "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 64, "vocab_size": 512, "intermediate_size": 512,
    "max_position_embeddings": 4096, "torch_dtype": "bfloat16",
}  # fmt: skip
SPEED = "8"
HAND_KEY = "sk-byhand"


def interpreter(directory: Path) -> Path:
    """A Python whose `sglang` is the stand-in."""
    venv.EnvBuilder(symlinks=True, with_pip=False).create(directory)
    install(next((directory / "lib").glob("python*")) / "site-packages")
    return directory / "bin" / "python"


def model(directory: Path) -> Path:
    """A model directory with a configuration and a tokenizer."""
    directory.mkdir()
    (directory / "config.json").write_text(json.dumps(CONFIG))
    (directory / "tokenizer.json").write_text("{}")
    return directory


def recipe(name: str, python: Path, model_path: Path, port: int, **env: str) -> str:
    """A recipe's table: dummy weights, no GPU, an API key from the environment."""
    pairs = {"SGLANG_STANDIN_SPEED": SPEED, **env}
    return "\n".join(
        [
            f"[recipes.{name}]",
            f"model = {json.dumps(str(model_path))}",
            f"python = {json.dumps(str(python))}",
            f"port = {port}",
            'args = { load-format = "dummy", enable-metrics = true, device = "cpu" }',
            'secrets = { api-key = "env:STANDIN_KEY" }',
            "env = { " + ", ".join(f"{key} = {json.dumps(value)}" for key, value in pairs.items()) + " }",
            "",
        ]
    )


@contextlib.contextmanager
def foreign_server(
    python: Path, model_path: Path, port: int, log: Path, *flags: str, key: tuple[str, ...] = ("--api-key", HAND_KEY)
) -> Iterator[subprocess.Popen[bytes]]:
    """A server that somebody started by hand, in a session of its own; killed at the end if it still runs."""
    argv = [python, "-m", "sglang.launch_server", "--model-path", model_path, "--port", str(port), *flags]
    env = {**os.environ, "SGLANG_STANDIN_SPEED": SPEED}
    with log.open("wb") as file:
        process = subprocess.Popen([*argv, *key], stdout=file, stderr=file, env=env, start_new_session=True)
    try:
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def until(test: Callable[[], Any], limit_s: float = PATIENCE_S) -> Any:
    """Wait for a state; its value."""
    deadline = time.monotonic() + limit_s
    while not (value := test()):
        assert time.monotonic() < deadline, "it did not become true in time"
        time.sleep(0.05)
    return value
