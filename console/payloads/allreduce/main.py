"""The program's entry: forks one process a GPU, watches them, and prints one line of JSON."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import sys
import time
from typing import Any, NoReturn

from . import rank

STAGES = ("import", "start", "init", "first", "measure", "done")


def main(config: dict[str, Any]) -> int:
    """`config`: `uuids` of the GPUs, `env`, `limit_s`, `bytes` of the message.

    Prints `{"ranks", "stage", "hung", "error", "bytes", "busbw_bytes_s", "took_s"}`: `stage` is the one that the
    slowest rank reached, `busbw_bytes_s` NCCL's bus bandwidth of the slowest rank, null when it was not measured.
    """
    answer_fd = os.dup(1)
    os.dup2(2, 1)
    env = {str(key): str(value) for key, value in (config.get("env") or {}).items()}
    os.environ.update(env)
    sys.path[:0] = [place for place in env.get("PYTHONPATH", "").split(os.pathsep) if place]
    os.environ["CUDA_VISIBLE_DEVICES"] = ",".join(config["uuids"])
    started = time.monotonic()
    answer = _run(config, started)
    answer["took_s"] = round(time.monotonic() - started, 3)
    os.write(answer_fd, (json.dumps(answer) + "\n").encode("ascii"))
    return 0


def _run(config: dict[str, Any], started: float) -> dict[str, Any]:
    count, size = len(config["uuids"]), int(config.get("bytes", 64 << 20))
    answer = {"ranks": count, "bytes": size, "stage": "import", "hung": False, "error": "", "busbw_bytes_s": None}
    try:
        rank.load()
    except BaseException as error:  # a package may raise anything while it is imported
        answer["error"] = f"{type(error).__name__}: {error}"
        return answer
    port = rank.free_port()
    ranks = [_fork(number, count, port, size) for number in range(count)]
    told = _watch(ranks, started + float(config.get("limit_s", 20.0)))
    for pid, _ in ranks:
        _end(pid)
    stages = [STAGES.index(told[number].get("stage", "start")) for number in range(count)]
    answer["stage"] = STAGES[min(stages)]
    answer["error"] = next((told[n]["error"] for n in range(count) if told[n].get("error")), "")
    answer["hung"] = min(stages) < STAGES.index("done") and not answer["error"]
    speeds = [told[number].get("busbw_bytes_s") for number in range(count)]
    if all(speed is not None for speed in speeds):
        answer["busbw_bytes_s"] = min(speed for speed in speeds if speed is not None)
    return answer


def _fork(number: int, count: int, port: int, size: int) -> tuple[int, int]:
    """(pid, read end of what the rank tells). Nothing of CUDA was touched yet, so a fork is safe."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        _be_rank(reading, writing, (number, count, port, size))
    os.close(writing)
    return pid, reading


def _be_rank(reading: int, writing: int, place: tuple[int, int, int, int]) -> NoReturn:
    """The child's whole life."""
    code = 1
    try:
        os.close(reading)
        code = rank.work(*place, lambda fact: _tell(writing, fact))
    finally:
        os._exit(code)


def _tell(writing: int, fact: dict[str, Any]) -> None:
    os.write(writing, (json.dumps(fact) + "\n").encode("ascii"))


def _watch(ranks: list[tuple[int, int]], deadline: float) -> list[dict[str, Any]]:
    """What each rank told last, until all have ended or the time is over."""
    told: list[dict[str, Any]] = [{} for _ in ranks]
    rest = {reading: number for number, (_, reading) in enumerate(ranks)}
    texts = dict.fromkeys(rest, b"")
    while rest and time.monotonic() < deadline:
        ready, _, _ = select.select(list(rest), [], [], max(0.0, deadline - time.monotonic()))
        for reading in ready:
            data = os.read(reading, 65536)
            texts[reading] += data
            for line in texts[reading].split(b"\n")[:-1]:
                told[rest[reading]].update(json.loads(line))
            texts[reading] = texts[reading].rpartition(b"\n")[2]
            if not data:
                del rest[reading]
        if any(fact.get("error") for fact in told):
            break
    return told


def _end(pid: int) -> None:
    """A rank that hangs inside NCCL ignores everything but this."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
