"""One rank of the all-reduce."""

from __future__ import annotations

import importlib
import os
import socket
import time
from typing import Any, Callable

ROUNDS = 10


def load() -> None:
    """The imports, before the fork: they take seconds, and open no GPU."""
    importlib.import_module("torch")
    importlib.import_module("torch.distributed")


def free_port() -> int:
    """A port for the ranks to meet."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def work(number: int, count: int, port: int, size: int, tell: Callable[[dict[str, Any]], None]) -> int:
    """Tells each stage it enters, and NCCL's bus bandwidth: 2 (n - 1) / n × bytes / seconds."""
    torch: Any = importlib.import_module("torch")
    distributed: Any = importlib.import_module("torch.distributed")
    try:
        tell({"stage": "start"})
        torch.cuda.set_device(number)
        os.environ.update({"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)})
        distributed.init_process_group("nccl", rank=number, world_size=count)
        tell({"stage": "init"})
        data = torch.ones(size // 2, dtype=torch.bfloat16, device="cuda")
        _reduce(torch, distributed, data, 1)
        tell({"stage": "first"})
        _reduce(torch, distributed, data, ROUNDS)
        tell({"stage": "measure"})
        seconds = _reduce(torch, distributed, data, ROUNDS) / ROUNDS
        factor = 2 * (count - 1) / count if count > 1 else 1.0
        tell({"stage": "done", "busbw_bytes_s": factor * size / seconds})
    except BaseException as error:  # whatever NCCL or CUDA says is the answer
        tell({"error": f"{type(error).__name__}: {str(error).strip()[:400]}"})
        return 1
    return 0


def _reduce(torch: Any, distributed: Any, data: Any, rounds: int) -> float:
    torch.cuda.synchronize()
    started = time.monotonic()
    for _ in range(rounds):
        distributed.all_reduce(data)
    torch.cuda.synchronize()
    return time.monotonic() - started
