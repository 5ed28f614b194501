"""What a plan needs of the machine beside its GPUs' memory: ports, compute capabilities, links, shared memory."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from console.config.records import Recipe
from console.events.host import GpuPair
from console.gates.gpus import GpuView
from console.gates.host import HostView
from console.gates.ports import PortAnswer, wanted_ports
from console.remote.errors import AgentError
from console.state.host import Hardware
from console.values import Unknown, clean, known
from console.workers.box import Box
from console.workers.engine import QUICK_S, ask


async def ports_and_capability(
    box: Box,
    recipe: Recipe,
    args: dict[str, Any],
    gpus: tuple[GpuView, ...] | Unknown,
    own_pids: frozenset[int],
) -> tuple[tuple[PortAnswer, ...] | Unknown, tuple[tuple[int, int], ...] | Unknown]:
    """Ports and compute capabilities, from the recipe's interpreter, or from the box's when that one is broken."""
    request = {
        "op": "host",
        "env": recipe.env,
        "ports": list(wanted_ports(recipe.port, args)),
        "uuids": [gpu.uuid for gpu in gpus] if known(gpus) else [],
    }
    try:
        answer = await _first_answer(box, (recipe.python or "python3", "python3"), request)
    except AgentError as error:
        return Unknown(str(error)), Unknown(str(error))
    ports = tuple(
        PortAnswer(
            port=row["port"],
            free=row["free"] or _held_by(row["holder"], own_pids),
            error=clean(str(row["error"])),
            holder=clean(row["holder"]) if row["holder"] else Unknown("not seen"),
        )
        for row in answer.get("ports", ())
    )
    found = answer.get("capability")
    capability = tuple((int(major), int(minor)) for major, minor in found) if found else None
    return ports, capability or Unknown("the recipe's interpreter has no NVML module")


def _held_by(holder: str | None, pids: frozenset[int]) -> bool:
    """Whether `pid 4711 (python)` is a process of the server that this launch replaces."""
    found = re.match(r"pid (\d+)\b", holder or "")
    return found is not None and int(found.group(1)) in pids


async def _first_answer(box: Box, pythons: Sequence[str], request: dict[str, Any]) -> dict[str, Any]:
    for python in pythons[:-1]:
        try:
            return await ask(box, python, request, QUICK_S)
        except AgentError:
            continue
    return await ask(box, pythons[-1], request, QUICK_S)


_LEVELS = {"internal": 0, "PIX": 10, "PXB": 20, "PHB": 30, "NODE": 40, "SYS": 50}


def host_view(
    hardware: Hardware, gpus: tuple[GpuView, ...] | Unknown, capability: tuple[tuple[int, int], ...] | Unknown
) -> HostView:
    """Driver, links and shared memory as the samples say."""
    topology, unread = hardware.topology, Unknown("the topology was not sampled")
    mine = {gpu.uuid for gpu in gpus} if known(gpus) else set()
    pairs = topology.pairs if topology else unread
    inner = [pair for pair in pairs if pair.a in mine and pair.b in mine] if known(pairs) else []
    links = [pair.nvlink for pair in inner]
    levels = [_LEVELS.get(pair.path, 0) for pair in inner if known(pair.path)]
    shm = _shared_memory(hardware)
    return HostView(
        driver=hardware.driver_version,
        capability=capability,
        nvlink=_nvlink(links, pairs) if len(mine) > 1 else None,
        level=max(levels) if levels else unread,
        iommu=topology.iommu == "on" if topology and known(topology.iommu) else unread,
        shm_bytes=shm,
    )


def _nvlink(links: list[bool | Unknown], pairs: tuple[GpuPair, ...] | Unknown) -> bool | Unknown:
    """Whether NVLink joins all of them; a pair that was not told is not known."""
    if not known(pairs):
        return Unknown(pairs.reason)
    unknown = next((link for link in links if not known(link)), None)
    if unknown is not None and all(link is not False for link in links):
        return Unknown(unknown.reason)
    return all(link is True for link in links) if links else Unknown("no link between these GPUs was listed")


def _shared_memory(hardware: Hardware) -> int | Unknown:
    if not known(hardware.disks):
        return hardware.disks
    found = (d.available_bytes for d in hardware.disks if d.mount == "/dev/shm" or "/dev/shm" in d.other_mounts)
    return next(found, Unknown("no /dev/shm among the mounts"))
