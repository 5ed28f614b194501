"""Every fact has its reducer; folding is pure; what the GPUs and the link went through shows in the state."""

from __future__ import annotations

import pytest

from console.events import ALL_EVENTS, HostEvent, Stamped
from console.events.host import DisksSampled, GpuGauges, GpuIdentity, GpusIdentified, GpusSampled, ProbeStuck
from console.events.link import HeartbeatHeard, LinkChanged
from console.state import State, reduce
from console.state.reduce import HOST_REDUCERS
from console.state.session import REDUCERS
from console.values import CleanText, Unknown, known


@pytest.mark.parametrize("kind", ALL_EVENTS, ids=lambda kind: kind.__name__)
def test_every_fact_has_its_reducer(kind: type) -> None:
    assert kind in (HOST_REDUCERS if issubclass(kind, HostEvent) else REDUCERS)


def identity(index: int) -> GpuIdentity:
    return GpuIdentity(
        index=index, uuid=CleanText(f"GPU-{index}"), pci_bus_id=Unknown("x"), name=CleanText("H200"),
        memory_total_bytes=100, power_limit_w=700.0,
    )  # fmt: skip


def gauges(index: int, util: int | Unknown = 50) -> GpuGauges:
    return GpuGauges(
        uuid=CleanText(f"GPU-{index}"), state="ok", memory_used_bytes=1, memory_reserved_bytes=1, memory_free_bytes=98,
        util_pct=util, power_w=100.0, temperature_c=40, sm_clock_mhz=1000, throttle=(),
    )  # fmt: skip


def listed(*indices: int) -> GpusIdentified:
    gpus = tuple(identity(index) for index in indices)
    return GpusIdentified(host="box", gpus=gpus, driver_version=CleanText("580"), cuda_version=Unknown("x"))


def fold(*events: HostEvent) -> State:
    state = State()
    for number, event in enumerate(events, 1):
        reduce(state, Stamped(number, number / 2, event))
    return state


def test_a_gpu_that_vanishes_keeps_its_row_and_comes_back() -> None:
    sampled = GpusSampled(host="box", gpus=(gauges(0), gauges(1)))
    state = fold(listed(0, 1), sampled, listed(0))
    gpus = state.hosts["box"].hardware.gpus
    assert known(gpus)
    assert (gpus["GPU-0"].missing_since_t, gpus["GPU-1"].missing_since_t) == (None, 1.5)
    assert gpus["GPU-1"].gauges == gauges(1)
    reduce(state, Stamped(4, 2.0, listed(0, 1)))
    assert gpus_of(state)["GPU-1"].missing_since_t is None


def gpus_of(state: State) -> dict[str, object]:
    gpus = state.hosts["box"].hardware.gpus
    assert known(gpus)
    return gpus  # type: ignore[return-value]


def test_gpus_that_cannot_be_listed_are_unknown_with_the_reason() -> None:
    state = fold(GpusSampled(host="box", gpus=Unknown("nvmlInit hangs")))
    assert state.hosts["box"].hardware.gpus == Unknown("nvmlInit hangs")


def test_history_keeps_gaps_and_is_bounded() -> None:
    samples = [GpusSampled(host="box", gpus=(gauges(0, Unknown("not supported")),)) for _ in range(1000)]
    state = fold(listed(0), *samples)
    ring = gpus_of(state)["GPU-0"].util_ring  # type: ignore[attr-defined]
    assert len(ring) == 300
    assert set(ring) == {Unknown("not supported")}


def test_boxes_are_apart_and_changes_are_counted_by_slice() -> None:
    state = fold(
        LinkChanged(host="a", state="up"), HeartbeatHeard(host="b", skew_s=0.1), DisksSampled(host="b", disks=())
    )
    assert state.hosts["a"].revisions == {"link": 1, "alerts": 1}
    assert state.hosts["b"].revisions == {"link": 1, "hardware": 1, "alerts": 1}


def test_a_stuck_probe_is_forgotten_when_it_answers() -> None:
    stuck = ProbeStuck(host="box", probe=CleanText("disks"), stuck_s=12.0)
    again = ProbeStuck(host="box", probe=CleanText("disks"), stuck_s=0.0)
    assert fold(stuck).hosts["box"].hardware.stuck == {"disks": 12.0}
    assert fold(stuck, again).hosts["box"].hardware.stuck == {}


def test_folding_can_be_split_anywhere() -> None:
    events = [
        listed(0, 1),
        GpusSampled(host="box", gpus=(gauges(0), gauges(1))),
        listed(0),
        LinkChanged(host="box", state="lost"),
    ]
    whole = fold(*events)
    again = fold(*events)
    assert whole == again
