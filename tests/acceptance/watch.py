"""A second witness beside two clients: the server's own counters, and what every process costs, every two seconds."""

from __future__ import annotations

import contextlib
import os
import threading
import time
import urllib.request
from pathlib import Path
from typing import Any

TICKS = os.sysconf("SC_CLK_TCK")
BUSY_PCT = 3.0
PERIOD_S = 2.0
COUNTERS = ("sglang:realtime_tokens_total", "sglang:generation_tokens_total")


class Watch:
    """`with Watch(port) as watch:` … `watch.rows`: [seconds since the epoch, decoded tokens so far or None,
    {"pid name": % of a core}]."""

    def __init__(self, port: int) -> None:
        self.rows: list[list[Any]] = []
        self._port, self._over = port, threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> Watch:
        self._thread.start()
        return self

    def __exit__(self, *failure: object) -> None:
        self._over.set()
        self._thread.join()

    def _run(self) -> None:
        before, at = _cpu_s(), time.monotonic()
        while not self._over.wait(PERIOD_S):
            now, cpu = time.monotonic(), _cpu_s()
            used = {name: round(100 * (cpu[name] - before.get(name, 0.0)) / (now - at), 1) for name in cpu}
            busy = {name: share for name, share in used.items() if share > BUSY_PCT}
            self.rows.append([round(time.time(), 3), decoded(self._port), busy])
            before, at = cpu, now


def decoded(port: int) -> float | None:
    """Tokens that the server on this port has decoded since its start."""
    with contextlib.suppress(OSError, ValueError):
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=2) as answer:
            lines = answer.read().decode().splitlines()
        for counter in COUNTERS:
            own = [line for line in lines if line.startswith(counter) and 'mode="prefill' not in line]
            if own:
                return sum(float(line.rsplit(" ", 1)[1]) for line in own)
    return None


def _cpu_s() -> dict[str, float]:
    found = {}
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError, ValueError):
            fields = (process / "stat").read_text().rpartition(")")[2].split()
            words = (process / "cmdline").read_bytes().split(b"\0")
            name = b" ".join(words[:4])[-60:].decode(errors="replace").strip()
            found[f"{process.name} {name}"] = (int(fields[11]) + int(fields[12])) / TICKS
    return found
