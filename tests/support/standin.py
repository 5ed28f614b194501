"""The SGLang stand-in as a server on loopback, with a model directory that holds a configuration only."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

from console.demo.sglang import install
from tests.support.patience import PATIENCE_S
from tests.support.ports import free_port

CONFIG = {
    "architectures": ["Qwen3ForCausalLM"], "vocab_size": 512, "hidden_size": 64, "num_hidden_layers": 2,
    "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16, "intermediate_size": 128,
    "max_position_embeddings": 4096, "torch_dtype": "bfloat16",
}  # fmt: skip


@contextlib.contextmanager
def standin(directory: Path, *flags: str) -> Iterator[int]:
    """Starts it, waits until it is ready, gives its port; ends it."""
    site, model, port = directory / "site", directory / "model", free_port()
    site.mkdir()
    install(site)
    model.mkdir()
    (model / "config.json").write_text(json.dumps(CONFIG))
    argv = [sys.executable, "-m", "sglang.launch_server", "--model-path", str(model), "--host", "127.0.0.1"]
    argv += ["--port", str(port), "--load-format", "dummy", "--enable-metrics", *flags]
    env = {**os.environ, "PYTHONPATH": str(site), "SGLANG_STANDIN_SPEED": "10"}
    with (directory / "server.log").open("wb") as log:
        process = subprocess.Popen(argv, env=env, stdout=log, stderr=log)
    try:
        _wait(port)
        yield port
    finally:
        process.terminate()
        process.wait(PATIENCE_S)


def _wait(port: int) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        with contextlib.suppress(OSError), urllib.request.urlopen(f"http://127.0.0.1:{port}/ready", timeout=1):
            return
        time.sleep(0.1)
    raise AssertionError("the stand-in did not become ready")
