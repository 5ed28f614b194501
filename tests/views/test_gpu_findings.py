"""What deserves attention about a GPU, told once and for the right reason."""

from __future__ import annotations

from typing import Any

import pytest

from console.events import HostEvent
from console.events.host import XidReported
from console.state.xid_meaning import MEANINGS, xid_meaning, xid_sentence
from console.values import CleanText, Unknown, known
from console.views.gpu_findings import gpu_findings, orphan_bytes
from tests.support.gpu_facts import GIB, folded, gauges, gpu_of, health, healthy, held, identified, identity, sampled

SPIN = {"util_pct": 100, "power_w": 95.0, "memory_util_pct": 0}


def findings(*events: tuple[float, HostEvent], now_t: float = 100.0) -> list[tuple[str, str]]:
    return [(found.kind, found.sentence) for found in gpu_findings(gpu_of(folded(*events)), now_t)]


def one(t: float = 0.0, **fields: Any) -> tuple[float, HostEvent]:
    return t, sampled(gauges(0, **fields))


LISTED = (0.0, identified(identity(0)))


def test_a_well_gpu_has_no_findings() -> None:
    assert findings(LISTED, one(util_pct=99, power_w=650.0, memory_util_pct=40), (1.0, healthy(health(0)))) == []


@pytest.mark.parametrize(("lasts", "kind"), [(19.0, None), (20.0, "warn"), (59.0, "warn"), (60.0, "fail")])
def test_a_spin_hang_is_suspected_after_a_while(lasts: float, kind: str | None) -> None:
    found = findings(LISTED, one(10.0, **SPIN), one(11.0, **SPIN), now_t=10.0 + lasts)
    assert [one_kind for one_kind, _ in found] == ([kind] if kind else [])
    assert all("spin-hang" in sentence and "95 W" in sentence for _, sentence in found)


@pytest.mark.parametrize(
    "other",
    [
        {"util_pct": 97},
        {"power_w": 210.0},
        {"memory_util_pct": 3},
        {"memory_util_pct": Unknown("n/a")},
        {"power_w": Unknown("n/a")},
        {"util_pct": Unknown("hung")},
    ],
)
def test_one_other_reading_starts_the_suspicion_again(other: dict[str, Any]) -> None:
    assert findings(LISTED, one(0.0, **SPIN), one(50.0, **{**SPIN, **other}), one(90.0, **SPIN)) == []


def test_a_narrow_link_is_a_fault_and_a_slow_one_only_under_load() -> None:
    narrow = (1.0, healthy(health(0, pcie_width=8)))
    slow = (1.0, healthy(health(0, pcie_gen=1)))
    idle, busy = one(2.0), one(2.0, util_pct=90, power_w=600.0)
    assert [kind for kind, _ in findings(LISTED, idle, narrow)] == ["fail"]
    assert findings(LISTED, idle, slow) == []
    assert findings(LISTED, busy, slow, now_t=11.0) == []
    assert findings(LISTED, busy, slow, now_t=12.0) == [("warn", "PCIe generation 1 instead of 5 under load")]


def test_replays_are_told_for_a_minute_and_not_at_the_first_look() -> None:
    first, more = (1.0, healthy(health(0, pcie_replays=7))), (61.0, healthy(health(0, pcie_replays=9)))
    assert findings(LISTED, first) == []
    assert [kind for kind, _ in findings(LISTED, first, more, now_t=121.0)] == ["warn"]
    assert findings(LISTED, first, more, now_t=122.0) == []


@pytest.mark.parametrize(
    ("fields", "kind", "words"),
    [
        ({"ecc_uncorrected": 2}, "fail", "2 uncorrected ECC errors"),
        ({"remap_pending": True}, "warn", "waits for a GPU reset"),
        ({"remap_failed": True}, "fail", "replace the GPU"),
        ({"recovery_action": CleanText("drain P2P")}, "fail", "drain P2P"),
        ({"persistence": False}, "warn", "nvidia-smi -pm 1"),
        ({"ecc_enabled": False}, "info", "ECC is off"),
        ({"compute_mode": CleanText("prohibited")}, "warn", "prohibited"),
    ],
)
def test_health_findings(fields: dict[str, Any], kind: str, words: str) -> None:
    [(found, sentence)] = findings(LISTED, one(), (1.0, healthy(health(0, **fields))))
    assert found == kind
    assert words in sentence


def test_unknown_health_is_no_finding() -> None:
    unknown = dict.fromkeys(health(0).__struct_fields__[1:], Unknown("n/a"))
    assert findings(LISTED, one(), (1.0, healthy(health(0, **unknown)))) == []


@pytest.mark.parametrize(("heat", "kind"), [(81, None), (82, "warn"), (88, "warn"), (89, "fail"), (93, "fail")])
def test_heat_is_measured_against_the_gpus_own_limit(heat: int, kind: str | None) -> None:
    assert [found for found, _ in findings(LISTED, one(temperature_c=heat))] == ([kind] if kind else [])


def test_a_lowered_power_limit_and_mig() -> None:
    lowered = (0.0, identified(identity(0, power_limit_w=450.0, mig_enabled=True)))
    assert findings(lowered, one()) == [
        ("warn", "power limit 450 W, the default is 700 W"),
        ("info", "MIG is on: 0 devices inside; utilisation n/a (MIG)"),
    ]


def test_memory_that_nobody_holds() -> None:
    used = one(memory_used_bytes=13 * GIB)
    assert findings(LISTED, used) == [], "the processes are not known yet"
    assert findings(LISTED, used, (1.0, held(0, 13 * GIB))) == []
    [(kind, sentence)] = findings(LISTED, used, (1.0, held(0)))
    assert kind == "warn"
    assert "14.0 GB (13.0 GiB)" in sentence
    unknown = orphan_bytes(gpu_of(folded(LISTED, used, (1.0, held(0, GIB, Unknown("driver"))))))
    assert not known(unknown)
    v1 = one(memory_used_bytes=13 * GIB, memory_reserved_bytes=Unknown("n/a"))
    assert not known(orphan_bytes(gpu_of(folded(LISTED, v1, (1.0, held(0))))))


def test_the_worst_comes_first() -> None:
    sick = (1.0, healthy(health(0, ecc_enabled=False, persistence=False, remap_failed=True)))
    assert [kind for kind, _ in findings(LISTED, one(), sick)] == ["fail", "warn", "info"]


def test_xids_have_meanings() -> None:
    fact = XidReported(host="box", uuid=CleanText("GPU-3"), pci_bus_id=Unknown("x"), xid=79, at=1.0, source="nvml")
    assert xid_sentence(fact, 3).startswith("Xid 79 on GPU 3: the GPU has fallen off the bus")
    assert "an unknown GPU" in xid_sentence(fact, None)
    assert {8, 46, 48, 63, 64, 74, 79, 94, 95, 119, 120} <= MEANINGS.keys()
    assert (xid_meaning(31).kind, xid_meaning(63).kind, xid_meaning(119).kind) == ("info", "warn", "fail")
    assert "does not know" in xid_meaning(9999).sentence
