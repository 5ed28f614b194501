"""What the agent costs on the fake NVML library: CPU, memory, bytes a second. Prints one table line.

    python -m tests.perf.agent_cost [seconds] [python]

Eight busy GPUs, each with a process that has a real, long command line; the first ten seconds (start, compiling the
binding) count for the peak only.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from console.remote.bundle import STAGE0, bundle, frame
from tests.perf.box import drift, fleet, holding
from tests.perf.process import cpu_s as _cpu_s
from tests.perf.table import Row
from tests.support.agent import binding
from tests.support.fakes import Fleet

SETTLE_S = 10.0


def _status(pid: int, key: str) -> int:
    text = Path(f"/proc/{pid}/status").read_text()
    return int(next(line for line in text.splitlines() if line.startswith(key)).split()[1]) * 1024


async def measure(seconds: float, python: str, holders: Sequence[int]) -> dict[str, float]:
    """cpu_pct of one core, rss and peak in bytes, bytes_s of frames. `holders` are the processes on the GPUs."""
    with tempfile.TemporaryDirectory() as folder:
        gpus = fleet(Path(folder), holders)
        env = {key: value for key, value in gpus.env().items() if key != "FAKE_NVML_LOG"}
        agent = await asyncio.create_subprocess_exec(
            python, "-I", "-S", "-u", "-c", STAGE0, env={**os.environ, **env}, limit=1 << 20,
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
        )  # fmt: skip
        assert agent.stdin is not None
        assert agent.stdout is not None
        agent.stdin.write(frame(bundle("console.agent", {"nonce": "n", "idle_s": 600})))
        request = {"id": 1, "op": "nvml", "a": {"module": "pynvml", "source": binding()}}
        agent.stdin.write(json.dumps(request).encode() + b"\n")
        counter = Counter()
        reading = asyncio.create_task(counter.read(agent.stdout))
        drifting = asyncio.create_task(_drift(gpus))
        await asyncio.sleep(SETTLE_S)
        cpu_s, before = _cpu_s(agent.pid), counter.received
        await asyncio.sleep(seconds)
        result = {
            "cpu_pct": 100 * (_cpu_s(agent.pid) - cpu_s) / seconds,
            "bytes_s": (counter.received - before) / seconds,
            "rss_bytes": float(_status(agent.pid, "VmRSS")),
            "peak_bytes": float(_status(agent.pid, "VmHWM")),
        }
        drifting.cancel()
        agent.stdin.close()
        await agent.wait()
        await reading
    return result


class Counter:
    received = 0

    async def read(self, stream: asyncio.StreamReader) -> None:
        while data := await stream.read(65536):
            self.received += len(data)


async def _drift(gpus: Fleet) -> None:
    for second in itertools.count():
        drift(gpus, second)
        await asyncio.sleep(1)


def rows(seconds: float = 30.0) -> list[Row]:
    with holding() as holders:
        cost = asyncio.run(measure(seconds, sys.executable, holders))
    return [
        Row(measure="agent, 8 fake GPUs, CPU", value=cost["cpu_pct"], unit="% of a core", budget=1),
        Row(measure="agent, resident", value=cost["rss_bytes"] / 1e6, unit="MB", budget=24),
        Row(measure="agent, peak", value=cost["peak_bytes"] / 1e6, unit="MB", budget=35),
        Row(measure="agent, sent", value=cost["bytes_s"] / 1e3, unit="kB/s", budget=4, base="with real process lines"),
    ]


def main() -> None:
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 30.0
    python = sys.argv[2] if len(sys.argv) > 2 else sys.executable
    with holding() as holders:
        cost = asyncio.run(measure(seconds, python, holders))
    sys.stdout.write(
        f"| agent, 8 fake GPUs | {cost['cpu_pct']:.2f} % of a core (1) | {cost['rss_bytes'] / 1e6:.1f} MB (24) | "
        f"{cost['peak_bytes'] / 1e6:.1f} MB peak (35) | {cost['bytes_s'] / 1000:.2f} kB/s (4) |\n"
    )


if __name__ == "__main__":
    main()
