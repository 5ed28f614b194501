"""Who else computes on the GPUs: processes of no server of the box, no job of ours and no
`gpudeck exec`, with a share worth telling."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from console.events.host import GpuProcess
from console.values import known

if TYPE_CHECKING:
    from console.state.model import HostState

LEAST_BYTES = 500 << 20  # monitoring and desktops hold less


class Stranger(NamedTuple):
    """A process and the numbers of the GPUs that it holds memory of; `bytes` is the sum of what is known."""

    process: GpuProcess
    gpus: tuple[int, ...]
    bytes: int


def strangers(host: HostState) -> list[Stranger]:
    """Empty, too, while servers or processes are not known: nobody is accused by a guess."""
    gpus, serve = host.hardware.gpus, host.serve
    if not known(gpus) or not known(serve.listed):
        return []
    servers = [serve.servers[name].seen for name in serve.listed]
    own = {pid for seen in servers if seen for pid in (seen.pid, *seen.processes)}
    held: dict[int, tuple[GpuProcess, list[int], int]] = {}
    for gpu in gpus.values():
        for process in gpu.processes if known(gpu.processes) else ():
            if process.pid not in own and not process.job:
                first, numbers, total = held.get(process.pid, (process, [], 0))
                share = process.memory_bytes if known(process.memory_bytes) else 0
                held[process.pid] = first, [*numbers, gpu.identity.index], total + share
    return [
        Stranger(process, tuple(numbers), total)
        for process, numbers, total in held.values()
        if total >= LEAST_BYTES
    ]  # fmt: skip
