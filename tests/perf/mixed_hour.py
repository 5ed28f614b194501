"""An hour of a busy session as a recording: each second one GPU sample, one of the machine, one batch of ten log
lines, and twenty small facts, which makes 82,800; before them who the box is.

    python -m tests.perf.mixed_hour FILE [seconds]
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec

from console.events import Event, Stamped
from console.events.bench import BenchTicked, RunBegan
from console.events.host import GpusSampled, MachineSampled
from console.events.hub import DownloadProgressed, InFlight
from console.events.link import HeartbeatHeard, PingAnswered
from console.events.serve import (
    LogRow,
    Server,
    ServerGauged,
    ServerLogged,
    ServerProgressed,
    ServerProved,
    ServersSampled,
)
from console.journal import codec, new_header
from console.values import CleanText, Unknown
from tests.support.played import STARTED, disks, gauges, gpus, link_up

HOST = "ct200"
SERVER, JOB, DOWNLOAD = CleanText("20260131-221504-serve"), CleanText("20260131-222000-bench"), CleanText("job-7")
REPO, PATH = CleanText("moonshotai/Kimi-K2.6"), CleanText("/root/models/Kimi-K2.6")
SHARD = CleanText("model-00017-of-000064.safetensors")
SECONDS = 3600


def before() -> list[Event]:
    """What is true before the hour: the link, eight GPUs, the disks, a server, a run that is being measured."""
    began = RunBegan(
        host=HOST, job=JOB, run=CleanText("k26-ep4-1"), recipe=CleanText("k26-ep4"), preset=CleanText("sweep"),
        planned=(CleanText("c64-r1"),), manifest={},
    )  # fmt: skip
    listed = ServersSampled(host=HOST, servers=(_server(),))
    proved = ServerProved(host=HOST, server=SERVER, by="/health")
    return [*link_up(HOST), *gpus(HOST), *disks(HOST), listed, proved, began]


def _server() -> Server:
    argv = ("python", "-m", "sglang.launch_server", "--model-path", PATH, "--tp", "8")
    return Server(
        id=SERVER, pid=4711, start=123456, started_s=1.0, boot_id=CleanText("b-1"), owner="ours", job=SERVER,
        user=CleanText("root"), argv=tuple(map(CleanText, argv)), cwd=CleanText("/root"), unit=CleanText(""),
        unit_scope=CleanText(""), container=CleanText(""), log_path=CleanText("/root/log"), processes=(4711, 4712),
        address=CleanText("127.0.0.1"), port=30000, listening=True,
    )  # fmt: skip


def second(number: int) -> Iterator[Event]:
    """The 23 facts of one second."""
    yield HeartbeatHeard(host=HOST, skew_s=0.003)
    yield GpusSampled(
        host=HOST,
        gpus=tuple(
            gauges(index, util_pct=80 + (number * 7 + index) % 20, power_w=402.5 + (number + index) % 60)
            for index in range(8)
        ),
    )
    yield MachineSampled(
        host=HOST, cpu_pct=12.5 + number % 9, load1=9.41, memory_total_bytes=2 << 40, memory_available_bytes=1 << 40,
        swap_total_bytes=0, swap_used_bytes=0,
    )  # fmt: skip
    yield ServerLogged(host=HOST, server=SERVER, rows=tuple(line(number, at) for at in range(10)))
    yield PingAnswered(host=HOST, rtt_s=0.0112)
    for part in range(2):
        yield _gauged(number, part)
    for part in range(4):
        task = CleanText("Capturing batches")
        yield ServerProgressed(host=HOST, server=SERVER, task=task, done=number * 4 + part, total=4 * SECONDS)
    for part in range(6):
        yield _downloaded(number, part)
    for part in range(6):
        yield _ticked(number, part)


def line(number: int, line: int) -> LogRow:
    clock = f"2026-01-31 {22 + number // 3600:02}:{number // 60 % 60:02}:{number % 60:02}"
    text = (
        f"Decode batch, #running-req: {60 + line}, #token: {118_000 + number}, token usage: 0.41, accept len: 3.42, "
        f"accept rate: 0.86, cuda graph: True, gen throughput (token/s): {2900 + (number * 37 + line) % 400}.12, "
        "#queue-req: 0"
    )
    return LogRow(CleanText(clock), CleanText("TP0"), "info", CleanText(text))


def _gauged(number: int, part: int) -> ServerGauged:
    return ServerGauged(
        host=HOST, server=SERVER, source="loads", running=64, queued=part, gen_tok_s=2900.5 + number % 300,
        kv_ratio=0.41, cache_hit_ratio=0.02, accept_length=3.42, max_running=256, idle=False,
    )  # fmt: skip


def _downloaded(number: int, part: int) -> DownloadProgressed:
    done = (number * 6 + part) * 20_000_000
    return DownloadProgressed(
        host=HOST, job=DOWNLOAD, repo=REPO, path=PATH, phase="downloading", total_bytes=595_100_000_000,
        present_bytes=done, rate_bytes_s=120e6, eta_s=4100.5, files=96, files_ok=17,
        in_flight=(InFlight(path=SHARD, bytes=done % 9_000_000_000, size_bytes=9_800_000_000),),
    )  # fmt: skip


def _ticked(number: int, part: int) -> BenchTicked:
    return BenchTicked(
        host=HOST, job=JOB, point=CleanText("c64-r1"), concurrency=64, elapsed_s=number + part / 6, active=64,
        queued=0, done=number, failed=0, tok_s=2950.25 + part, ttft_s=0.31, lag_p99_s=0.002, cpu_ratio=0.12,
        server_running=64.0, server_queued=0.0, gen_tok_s=2951.0, kv_ratio=0.41, power_w=Unknown("not read"),
    )  # fmt: skip


def stamped(seconds: int = SECONDS) -> Iterator[Stamped]:
    """All facts with their order and time."""
    seq = 0
    for event in before():
        seq += 1
        yield Stamped(seq, 0.0, event)
    for number in range(seconds):
        for at, event in enumerate(second(number)):
            seq += 1
            yield Stamped(seq, round(number + 1 + at / 23, 4), event)


def write(path: Path, seconds: int = SECONDS) -> Path:
    """The recording."""
    with path.open("wb") as file:
        file.write(msgspec.json.encode(new_header("0.1.0", (HOST,), STARTED)) + b"\n")
        file.writelines(codec.encode(fact) for fact in stamped(seconds))
    return path


if __name__ == "__main__":
    write(Path(sys.argv[1]), int(sys.argv[2]) if sys.argv[2:] else SECONDS)
