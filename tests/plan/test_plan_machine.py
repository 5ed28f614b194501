"""How the GPUs of a recipe are joined, from the samples."""

from __future__ import annotations

import pytest

from console.events.host import GpuPair, GpuTopologySampled
from console.gates.gpus import GpuView
from console.state.host import Hardware
from console.values import Unknown, clean, known
from console.workers.plan_machine import host_view

UNREAD = Unknown("the driver does not say")


def gpu(index: int) -> GpuView:
    return GpuView(
        index=index, uuid=clean(f"GPU-{index}"), name=clean("x"), state="ok", total_bytes=1, reserved_bytes=0,
        used_bytes=0, processes=(),
    )  # fmt: skip


def hardware(*links: bool | Unknown) -> Hardware:
    """Links of the pairs (0, 1), (0, 2), …"""
    pairs = tuple(
        GpuPair(a=clean("GPU-0"), b=clean(f"GPU-{other}"), path=clean("PHB"), nvlink=link, p2p=UNREAD)
        for other, link in enumerate(links, start=1)
    )
    return Hardware(topology=GpuTopologySampled(host="h", pairs=pairs, nvlinks={}, iommu=UNREAD))


@pytest.mark.parametrize(
    ("links", "gpus", "answer"),
    [
        ((True,), (0, 1), True),
        ((True, False), (0, 1, 2), False),
        ((UNREAD, False), (0, 1, 2), False),
        ((True, UNREAD), (0, 1, 2), UNREAD),
        ((True, UNREAD), (0, 1), True),
        ((UNREAD,), (0,), None),
        ((), (), None),
    ],
)
def test_nvlink_joins_all_some_or_nobody_knows(
    links: tuple[bool | Unknown, ...], gpus: tuple[int, ...], answer: bool | Unknown | None
) -> None:
    assert host_view(hardware(*links), tuple(map(gpu, gpus)), UNREAD).nvlink == answer


def test_pairs_that_were_not_listed_and_a_topology_that_was_not_sampled_are_unknown() -> None:
    two = (gpu(0), gpu(1))
    assert not known(host_view(hardware(), two, UNREAD).nvlink)
    assert not known(host_view(Hardware(), two, UNREAD).nvlink)
    assert host_view(Hardware(), Unknown("no NVML"), UNREAD).nvlink is None
