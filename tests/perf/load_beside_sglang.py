"""CPU per event of our load worker beside SGLang's own benchmark, against one mock, in one run.

Both hold 32 streams of 50 events a second. SGLang's tool is counted only while all its streams run: its start, half a
minute of imports, is told apart. `GPUDECK_REAL_SGLANG` names the directory of a real SGLang 0.5.23.
"""

from __future__ import annotations

import multiprocessing
import os
import selectors
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from console.payloads.load.mock import Mock
from tests.perf.load_cost import measure
from tests.perf.process import cpu_s
from tests.perf.table import Row
from tests.support.requirements import need

STREAMS, RATE, TOKENS, WAVES = 32, 1600, 200, 4
OWN_S = 6.0
START_LIMIT_S, END_LIMIT_S, LOOK_S = 300.0, 120.0, 0.05
PLAIN = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"


class Watched(Mock):
    """The worker's own mock, which also answers what SGLang's tool asks besides, and counts the streams begun."""

    def __init__(self, begun: Any) -> None:
        super().__init__(TOKENS, 0.005, STREAMS / RATE)
        self.begun = begun

    def _read(self, selector: selectors.BaseSelector, fd: int) -> None:
        connection = self._sockets[fd]
        with suppress(ConnectionError):  # a client that is gone is the mock's own business
            if connection.recv(4, socket.MSG_PEEK) == b"GET ":
                connection.recv(1 << 16)
                connection.send(PLAIN)
                return
        waiting = len(self._due)
        super()._read(selector, fd)
        self.begun.value += len(self._due) > waiting


@contextmanager
def mock() -> Iterator[tuple[int, Any]]:
    """(port, number of streams begun so far) of a mock in a process of its own."""
    begun = multiprocessing.get_context("fork").Value("q", 0)
    server = Watched(begun)
    process = multiprocessing.get_context("fork").Process(target=server.serve, daemon=True)
    process.start()
    try:
        yield server.port, begun
    finally:
        process.kill()
        process.join()


def rows() -> list[Row]:
    named = os.environ.get("GPUDECK_REAL_SGLANG", "")
    need("sglang", bool(named), "GPUDECK_REAL_SGLANG names the directory of a real SGLang 0.5.23")
    own = measure("stdlib", "chat", RATE, STREAMS, OWN_S)["cpu_us_per_event"]
    start_s, theirs = sglang(Path(named))
    base = f"sglang.benchmark.serving: {theirs:.0f} µs per event, {start_s:.0f} CPU-s before its first request"
    return [Row(measure="load worker, CPU per event beside SGLang's tool", value=own / theirs, budget=1.0, base=base)]


def sglang(root: Path) -> tuple[float, float]:
    """(CPU seconds before the first request, µs per event while all streams run) of SGLang's benchmark."""
    model = str(root / "models" / "tiny")
    with mock() as (port, begun):
        argv = [
            str(root / "venv" / "bin" / "python"), "-m", "sglang.benchmark.serving", "--backend", "sglang-oai-chat",
            "--base-url", f"http://127.0.0.1:{port}", "--model", model, "--tokenizer", model,
            "--dataset-name", "random-ids", "--random-input-len", "16", "--random-output-len", str(TOKENS),
            "--random-range-ratio", "1", "--num-prompts", str(STREAMS * WAVES), "--max-concurrency", str(STREAMS),
            "--warmup-requests", "0", "--ready-check-timeout-sec", "0", "--disable-tqdm", "--output-file", os.devnull,
        ]  # fmt: skip
        env = {**os.environ, "HF_HUB_OFFLINE": "1", "SGLANG_USE_CPU_ENGINE": "1", "CUDA_VISIBLE_DEVICES": ""}
        env["LD_LIBRARY_PATH"] = str(root / "lib")
        tool = subprocess.Popen(argv, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        try:
            return _watched(tool, begun)
        finally:
            tool.kill()
            tool.communicate()


def _watched(tool: subprocess.Popen[str], begun: Any) -> tuple[float, float]:
    _wait(tool, lambda: begun.value >= 1, START_LIMIT_S)
    start_s = cpu_s(tool.pid)
    _wait(tool, lambda: begun.value > STREAMS, END_LIMIT_S)  # the second wave: every stream runs
    cpu, at = cpu_s(tool.pid), time.monotonic()
    _wait(tool, lambda: begun.value >= STREAMS * WAVES, END_LIMIT_S)
    seconds = time.monotonic() - at
    return start_s, 1e6 * (cpu_s(tool.pid) - cpu) / (RATE * seconds)


def _wait(tool: subprocess.Popen[str], test: Any, limit_s: float) -> None:
    deadline = time.monotonic() + limit_s
    while not test():
        if tool.poll() is not None or time.monotonic() > deadline:
            tool.kill()
            raise RuntimeError(f"SGLang's benchmark did not get so far: {tool.communicate()[1][-800:]}")
        time.sleep(LOOK_S)
