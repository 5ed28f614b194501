"""How the GPUs reach each other, and what that means for the all-reduces of tensor parallelism."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

from console.events.host import GpuPair, GpuTopologySampled
from console.state import HostState
from console.values import Unknown, known


class AllReduce(NamedTuple):
    """`kind`: ok, warn (slow), fail (known to hang), unknown."""

    kind: Literal["ok", "warn", "fail", "unknown"]
    sentence: str


_UNKNOWN_PATH = "?"
_HANGS = "RTX PRO 6000"


def _between(topology: GpuTopologySampled) -> dict[frozenset[str], GpuPair]:
    pairs = topology.pairs if known(topology.pairs) else ()
    return {frozenset((pair.a, pair.b)): pair for pair in pairs}


def path_matrix(topology: GpuTopologySampled, uuids: Sequence[str]) -> list[list[str]]:
    """The paths as `nvidia-smi topo -m` prints them: X, NV, PIX … SYS; `?` where nobody could tell."""
    between = _between(topology)
    return [["X" if a == b else _cell(between.get(frozenset((a, b)))) for b in uuids] for a in uuids]


def _cell(pair: GpuPair | None) -> str:
    if pair is None:
        return _UNKNOWN_PATH
    if pair.nvlink is True:
        return "NV"
    return pair.path if known(pair.path) else _UNKNOWN_PATH


def all_reduce(topology: GpuTopologySampled, uuids: Sequence[str], names: Sequence[str] = ()) -> AllReduce:
    """What a tensor-parallel group on these GPUs has to expect.

    SGLang counts a box as fully connected only when the driver says NVLink peer access for every pair, and turns
    its custom all-reduce off for more than two GPUs that are not. Peer access over PCIe behind an IOMMU that
    translates has made NCCL hang at the first all-reduce, although the driver calls it ok; so has any on the RTX PRO
    6000 (NVIDIA/nccl#1999). `names` are the GPUs' names.
    """
    between = _between(topology)
    pairs = [between.get(frozenset((a, b))) for at, a in enumerate(uuids) for b in uuids[at + 1 :]]
    if len(uuids) < 2:
        return AllReduce("ok", "one GPU: nothing to reduce")
    missing = sum(pair is None or not known(pair.nvlink) for pair in pairs)
    present = [pair for pair in pairs if pair is not None]
    if any(pair.nvlink is False for pair in present):
        return _over_pcie(present, len(uuids), topology.iommu, names)
    if missing:
        return AllReduce("unknown", f"the link of {missing} of {len(pairs)} pairs is unknown")
    return AllReduce("ok", f"NVLink between all {len(pairs)} pairs: SGLang's custom all-reduce works")


def _over_pcie(pairs: list[GpuPair], count: int, iommu: str | Unknown, names: Sequence[str]) -> AllReduce:
    paths = sorted({str(pair.path) for pair in pairs if pair.nvlink is False and known(pair.path)})
    where = f"PCIe ({', '.join(paths)})" if paths else "PCIe"
    off = "SGLang's custom all-reduce is off for more than two PCIe GPUs, " if count > 2 else ""
    sentence = f"not all pairs have NVLink: {off}NCCL reduces over {where}"
    if not any(pair.p2p == "ok" for pair in pairs):
        return AllReduce("warn", sentence)
    if iommu == "on":
        advice = "NCCL_P2P_DISABLE=1, or iommu=pt on the kernel's command line"
        return AllReduce("fail", f"{sentence}; peer access with a translating IOMMU is known to hang: {advice}")
    if any(_HANGS in name for name in names):
        return AllReduce("warn", f"{sentence}; if the first all-reduce hangs on {_HANGS}: NCCL_P2P_DISABLE=1")
    return AllReduce("warn", sentence)


def all_reduce_of(host: HostState) -> AllReduce | None:
    """The same for all GPUs of a box that are there; None before its topology is known."""
    gpus, topology = host.hardware.gpus, host.hardware.topology
    if topology is None or not known(gpus):
        return None
    here = [gpu.identity for gpu in gpus.values() if gpu.missing_since_t is None]
    return all_reduce(topology, [one.uuid for one in here], [str(one.name) for one in here])


def topology_value(host: HostState) -> Any:
    """`topology` of the status object."""
    topology, outlook = host.hardware.topology, all_reduce_of(host)
    if topology is None or outlook is None:
        return Unknown("not read yet")
    return {
        "pairs": topology.pairs,
        "nvlinks": topology.nvlinks,
        "iommu": topology.iommu,
        "all_reduce": {"verdict": outlook.kind, "sentence": outlook.sentence},
    }
