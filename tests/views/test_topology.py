"""What the links between GPUs mean for all-reduces, and when a disk is full."""

from __future__ import annotations

import pytest

from console.state.disk_trend import seconds_to_full
from console.values import Unknown
from console.views.topology import all_reduce, path_matrix
from tests.support.gpu_facts import name_of, topology

FOUR = [name_of(index) for index in range(4)]


@pytest.mark.parametrize(
    ("fields", "count", "kind", "words"),
    [
        ({}, 4, "ok", "all 6 pairs"),
        ({}, 1, "ok", "nothing to reduce"),
        ({"nvlink": False}, 4, "warn", "custom all-reduce is off for more than two PCIe GPUs"),
        ({"nvlink": False, "path": "NODE"}, 2, "warn", "NCCL reduces over PCIe (NODE)"),
        ({"nvlink": False, "iommu": "on"}, 4, "fail", "NCCL_P2P_DISABLE=1"),
        ({"nvlink": False, "iommu": "on", "p2p": "GPU not supported"}, 4, "warn", "PCIe"),
        ({"nvlink": False, "iommu": "passthrough"}, 4, "warn", "PCIe"),
        ({"nvlink": False, "iommu": Unknown("no /sys")}, 4, "warn", "PCIe"),
        ({"nvlink": Unknown("hung")}, 4, "unknown", "6 of 6 pairs"),
    ],
)
def test_what_an_all_reduce_has_to_expect(fields: dict[str, object], count: int, kind: str, words: str) -> None:
    found = all_reduce(topology(4, **fields), FOUR[:count])
    assert found.kind == kind
    assert words in found.sentence


def test_a_gpu_that_was_not_asked_makes_the_group_unknown() -> None:
    found = all_reduce(topology(3), FOUR)
    assert (found.kind, found.sentence) == ("unknown", "the link of 3 of 6 pairs is unknown")


def test_the_matrix_is_symmetric_and_says_what_it_does_not_know() -> None:
    assert path_matrix(topology(2, nvlink=False, path="PHB"), FOUR[:3]) == [
        ["X", "PHB", "?"],
        ["PHB", "X", "?"],
        ["?", "?", "X"],
    ]
    assert path_matrix(topology(2), FOUR[:2]) == [["X", "NV"], ["NV", "X"]]


@pytest.mark.parametrize(
    ("samples", "expected"),
    [
        ([(0.0, 1000), (10.0, 900)], None),
        ([(0.0, 1000), (20.0, 800)], 80.0),
        ([(0.0, 1000), (10.0, 1500), (20.0, 800)], 80.0),
        ([(0.0, 1000), (20.0, 1000)], None),
        ([(0.0, 1000), (20.0, 1200)], None),
        ([(0.0, 1000), (20.0, 0)], 0.0),
        ([], None),
    ],
)
def test_when_a_disk_is_full(samples: list[tuple[float, int]], expected: float | None) -> None:
    found = seconds_to_full(samples)
    assert (found == expected) if expected is not None else isinstance(found, Unknown)
