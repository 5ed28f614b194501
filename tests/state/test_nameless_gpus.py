"""A GPU that does not tell its UUID keeps the row that it had, and never becomes a second one."""

from __future__ import annotations

from console.events.host import XidReported
from console.values import CleanText, Unknown, known
from tests.support.gpu_facts import folded, gauges, gpu_of, identified, identity, name_of, sampled

NAMELESS = CleanText("index:1")
SILENT = identity(1, uuid=NAMELESS, name=Unknown("the GPU does not answer"))


def test_it_is_the_one_that_had_this_number() -> None:
    hardware = folded(
        (0.0, identified(identity(0), identity(1))),
        (1.0, sampled(gauges(0), gauges(1))),
        (2.0, identified(identity(0), SILENT)),  # a new agent, after a reconnect
        (3.0, sampled(gauges(0), gauges(1, uuid=NAMELESS, state="hung"))),
    )
    assert known(hardware.gpus)
    assert list(hardware.gpus) == ["GPU-0", "GPU-1"]
    gpu = gpu_of(hardware, 1)
    assert (gpu.identity.name, gpu.missing_since_t) == ("H200", None)
    assert gpu.gauges is not None
    assert gpu.gauges.state == "hung"


def test_the_row_of_one_that_told_its_name_later_is_not_missing() -> None:
    hardware = folded(
        (0.0, identified(identity(0), SILENT)),
        (1.0, sampled(gauges(0), gauges(1, uuid=NAMELESS, state="hung"))),
        (2.0, identified(identity(0), identity(1))),
    )
    assert known(hardware.gpus)
    assert list(hardware.gpus) == ["GPU-0", "GPU-1"]


def test_one_without_a_past_is_a_row_of_its_own() -> None:
    hardware = folded((0.0, identified(identity(0), SILENT)), (1.0, sampled(gauges(1, uuid=NAMELESS, state="lost"))))
    assert known(hardware.gpus)
    assert list(hardware.gpus) == ["GPU-0", "index:1"]
    found = hardware.gpu("index:1")
    assert found is not None
    assert found.gauges is not None
    assert found.gauges.state == "lost"


def test_an_xid_that_a_new_agent_reads_again_is_one() -> None:
    def xid(number: int, at: float) -> XidReported:
        bus = CleanText("00000000:01:00.0")
        return XidReported(host="box", uuid=name_of(0), pci_bus_id=bus, xid=number, at=at, source="kernel")

    hardware = folded((0.0, xid(79, 1000.0)), (60.0, xid(79, 1000.4)), (61.0, xid(31, 1000.4)), (62.0, xid(79, 1003.0)))
    assert [(one.fact.xid, one.fact.at) for one in hardware.xids] == [(79, 1000.0), (31, 1000.4), (79, 1003.0)]
