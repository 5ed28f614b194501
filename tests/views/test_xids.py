"""Xids as a person reads them: the last of each GPU, how often, and what it means."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from console.events import Stamped
from console.events.host import GpusIdentified, XidReported
from console.events.link import LinkChanged
from console.state import HostState, State, reduce
from console.values import CleanText, Unknown, known
from console.views.next import next_step
from console.views.status import status
from console.views.text import status_lines
from console.views.xids import xid_lines, xids_value
from tests.support.gpu_facts import gauges, identified, identity, sampled

NOON = datetime(2026, 1, 31, 14, 2, 11, tzinfo=UTC).timestamp()
FAR = Unknown("no GPU is listed at this address")


def xid(number: int, *, index: int | None = 0, age_s: float = 0.0, at: float = NOON) -> XidReported:
    uuid = CleanText(f"GPU-{index}") if index is not None else FAR
    return XidReported(
        host="box", uuid=uuid, pci_bus_id=CleanText(f"0000:0{index}:00.0"), xid=number,
        at=at - age_s, age_s=age_s, source="kernel",
    )  # fmt: skip


def box(*facts: XidReported, t: float = 100.0) -> HostState:
    listed: GpusIdentified = identified(identity(0), identity(1))
    first = [LinkChanged(host="box", state="up"), listed, sampled(gauges(0), gauges(1))]
    state = State()
    for number, event in enumerate([*first, *facts], 1):
        reduce(state, Stamped(number, t, event))
    return state.hosts["box"]


def test_the_last_of_a_gpu_with_its_time_and_count() -> None:
    host = box(xid(31, age_s=3600.0), xid(79, age_s=90_000.0), xid(79))
    ((kind, line),) = xid_lines(host, 100.0)
    assert kind == "fail"
    assert line.startswith("GPU 0: last Xid 79, 14:02:11Z, 2 in 24 h: the GPU has fallen off the bus")
    assert line in "\n".join(status_lines(host, 100.0))


def test_an_old_one_has_its_date_and_a_gpu_that_is_gone_its_address() -> None:
    (_, line) = xid_lines(box(xid(63, index=None, age_s=2 * 86400.0)), 100.0)[0]
    assert line.startswith("0000:0None:00.0: last Xid 63, 2026-01-29 14:02:11Z, 0 in 24 h")


@pytest.mark.parametrize(("number", "age_s", "level"), [(63, 0.0, "warn"), (31, 0.0, "ok"), (63, 7200.0, "ok")])
def test_next_tells_news_that_are_no_programs_fault(number: int, age_s: float, level: str) -> None:
    assert next_step(box(xid(number, age_s=age_s)), 100.0).level == level


def test_the_json_has_them_all() -> None:
    first, second = status(box(xid(31), xid(63, index=1)), 100.0)["xid"]
    assert (first["xid"], first["gpu_index"], first["severity"]) == (31, 0, "info")
    assert (second["at"], second["gpu_index"]) == ("2026-01-31T14:02:11.000Z", 1)


def test_a_moment_of_a_hostile_recording_breaks_nothing() -> None:
    for at in (1e300, -1e300):
        host = box(xid(79, at=at))
        assert "at an unknown time" in xid_lines(host, 100.0)[0][1]
        assert not known(xids_value(host)[0]["at"])
