"""Every state of a GPU as its row: what stands there, and what never does."""

from __future__ import annotations

from typing import Any

import pytest

from console.events import HostEvent, Stamped
from console.events.host import (
    GpuGauges,
    GpuProcess,
    GpuProcesses,
    GpuProcessesSampled,
    GpusExpected,
    GpusIdentified,
    MigDevice,
)
from console.events.link import LinkChanged
from console.state import HostState, State, reduce
from console.values import CleanText, Unknown, known
from console.views.gpu_health import HealthRow, health_rows, mig_lines
from console.views.gpus import GpuRow, gpu_notes, gpu_rows, gpu_title, program, ranges
from console.views.next import next_step
from console.views.status import status
from console.views.text import status_lines
from tests.support.gpu_facts import GIB, gauges, health, healthy, held, identified, identity, sampled, topology

NOT_VISIBLE = Unknown("not visible here (other namespace or user)")
NOT_SUPPORTED = Unknown("n/a: not supported by this GPU")
MIG = Unknown("n/a: MIG is on")
SPIN = {"util_pct": 100, "power_w": 95.0, "memory_util_pct": 0}


def silent(state: str, reason: str) -> HostEvent:
    names = [name for name in GpuGauges.__struct_fields__ if name not in ("uuid", "state", "state_reason")]
    nothing = dict.fromkeys(names, Unknown(state))
    return sampled(gauges(0, state=state, state_reason=CleanText(reason), **nothing))


def box(*events: HostEvent | tuple[float, HostEvent]) -> HostState:
    state = State()
    for number, event in enumerate(events, 1):
        t, fact = event if isinstance(event, tuple) else (1.0, event)
        reduce(state, Stamped(number, t, fact))
    return state.hosts["box"]


def row(*events: HostEvent | tuple[float, HostEvent], now: float = 1.0) -> GpuRow:
    return gpu_rows(box(*events), now)[0]


ONE = identified(identity(0))
ADVICE = healthy(health(0, recovery_action=CleanText("reset the GPU")))
CASES: dict[str, tuple[tuple[HostEvent, ...], str, str]] = {
    "not sampled yet": ((ONE,), "unknown", "wait"),
    "idle": ((ONE, sampled(gauges(0))), "ok", "ok"),
    "power cap is normal": ((ONE, sampled(gauges(0, throttle=("power_cap",)))), "ok", "ok"),
    "heat": ((ONE, sampled(gauges(0, throttle=("thermal",)))), "warn", "HOT"),
    "hardware thermal is both": ((ONE, sampled(gauges(0, throttle=("thermal", "hw_slowdown")))), "fail", "SLOW"),
    "power brake": ((ONE, sampled(gauges(0, throttle=("power_cap", "hw_slowdown")))), "fail", "SLOW"),
    "close to its limit": ((ONE, sampled(gauges(0, temperature_c=89))), "fail", "HOT"),
    "lost": ((ONE, silent("lost", "the GPU has fallen off the bus")), "fail", "LOST"),
    "hung": ((ONE, silent("hung", "no answer for 45 s")), "fail", "HUNG"),
    "reset required": ((ONE, silent("reset_required", "the GPU must be reset")), "fail", "RESET"),
    "no handle": ((ONE, silent("error", "Unknown Error (handle)")), "fail", "ERROR"),
    "missing": ((ONE, sampled(gauges(0)), identified()), "fail", "MISSING"),
    "narrow link": ((ONE, sampled(gauges(0)), healthy(health(0, pcie_width=8))), "fail", "PCIE"),
    "idle link saves power": ((ONE, sampled(gauges(0)), healthy(health(0, pcie_gen=1))), "ok", "ok"),
    "uncorrected ECC": ((ONE, sampled(gauges(0)), healthy(health(0, ecc_uncorrected=1))), "fail", "ECC"),
    "remap pending": ((ONE, sampled(gauges(0)), healthy(health(0, remap_pending=True))), "warn", "REMAP"),
    "driver's advice": ((ONE, sampled(gauges(0)), ADVICE), "fail", "RESET"),
    "settings are no state": ((ONE, sampled(gauges(0)), healthy(health(0, persistence=False))), "ok", "ok"),
    "held by nobody": ((ONE, sampled(gauges(0, memory_used_bytes=5 * GIB)), held(0)), "warn", "HELD"),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_the_state_of_a_gpu(case: str) -> None:
    events, kind, word = CASES[case]
    shown = row(*events)
    assert (shown.kind, shown.word) == (kind, word)


@pytest.mark.parametrize(("value", "text"), [(NOT_SUPPORTED, "n/a"), (Unknown("timeout"), "?"), (0, "0%")])
def test_cannot_failed_and_not_yet_look_different(value: Any, text: str) -> None:
    assert row(ONE, sampled(gauges(0, util_pct=value))).util_text == text
    assert row(ONE).util_text == "-"
    assert row(ONE).memory_text == "-/100.0"


def test_a_silent_gpu_shows_no_zero_anywhere() -> None:
    for state in ("lost", "hung", "error"):
        shown = row(ONE, sampled(gauges(0, util_pct=90)), silent(state, "x"))
        texts = (shown.util_text, shown.heat_text, shown.power_text, shown.clock_text)
        assert texts == ("?", "?", "?", "?")
        assert (shown.util, shown.memory, shown.memory_text) == (None, None, "?/100.0")


def test_mig_has_no_utilisation_and_its_parts_have_memory() -> None:
    part = MigDevice(
        uuid=CleanText("MIG-1"), name=CleanText("MIG 1g.18gb"), memory_total_bytes=18 * GIB, memory_used_bytes=2 * GIB
    )
    parent = identified(identity(0, mig_enabled=True, mig_devices=(part,)))
    host = box(parent, sampled(gauges(0, util_pct=MIG, memory_util_pct=MIG)))
    (shown,) = gpu_rows(host, 1.0)
    assert (shown.util, shown.util_text, shown.mode, shown.word) == (None, "n/a", "MIG", "ok")
    assert mig_lines(host) == ["GPU 0: MIG 1g.18gb  2.0 GiB of 18.0 GiB used, utilisation n/a (MIG)  MIG-1"]
    assert "n/a (MIG)" in "\n".join(status_lines(host, 1.0))
    gpu = status(host, 1.0)["gpus"][0]
    assert gpu["util_pct"] == MIG
    assert gpu["mig_devices"] == (part,)


def test_unified_memory_is_tagged_and_has_no_link() -> None:
    nothing = Unknown("n/a: unified memory, no PCIe link")
    links = dict.fromkeys(("pcie_gen", "pcie_gen_max", "pcie_width", "pcie_width_max", "pcie_replays"), nothing)
    chip = identified(identity(0, name=CleanText("NVIDIA GB10"), unified_memory=True, power_limit_w=NOT_SUPPORTED))
    used = sampled(gauges(0, memory_used_bytes=40 * GIB, memory_reserved_bytes=NOT_SUPPORTED))
    host = box(chip, used, healthy(health(0, **links)))
    assert gpu_title(host) == "1 × NVIDIA GB10, unified memory"
    (shown,) = health_rows(host, 1.0)
    assert (shown.pcie, shown.settings) == ("n/a", "unified memory")
    assert [note.finding.kind for note in gpu_notes(host, 1.0)] == ["info"]


def health_row(**fields: Any) -> HealthRow:
    return health_rows(box(ONE, sampled(gauges(0)), healthy(health(0, **fields))), 1.0)[0]


@pytest.mark.parametrize(
    ("fields", "shown"),
    [
        ({}, {"ecc": "0/0", "remapped": "0/0", "pcie": "5 x16", "settings": ""}),
        ({"ecc_uncorrected": 2, "ecc_corrected": 7}, {"ecc": "2/7", "ecc_ink": "fail"}),
        ({"ecc_enabled": False}, {"ecc": "off", "ecc_ink": ""}),
        ({"ecc_uncorrected": NOT_SUPPORTED, "ecc_corrected": NOT_SUPPORTED}, {"ecc": "n/a/n/a"}),
        ({"remapped_uncorrected": 1, "remap_pending": True}, {"remapped": "1/0 pending", "remapped_ink": "warn"}),
        ({"remapped_uncorrected": 1, "remap_failed": True}, {"remapped": "1/0 failed", "remapped_ink": "fail"}),
        ({"pcie_width": 8}, {"pcie": "5 x8 of x16", "pcie_ink": "fail"}),
        ({"pcie_gen": 1}, {"pcie": "1 x16", "pcie_ink": ""}),
    ],
)
def test_the_health_of_a_gpu(fields: dict[str, Any], shown: dict[str, str]) -> None:
    found = health_row(**fields)._asdict()
    assert {name: found[name] for name in shown} == shown


def test_health_that_was_not_read_is_a_dash() -> None:
    (shown,) = health_rows(box(ONE), 1.0)
    assert (shown.ecc, shown.remapped, shown.pcie, shown.nvlinks, shown.limits, shown.energy) == ("-",) * 6


def test_what_limits_the_clock_is_grey_amber_or_red() -> None:
    inks = [
        health_rows(box(ONE, sampled(gauges(0, throttle=throttle))), 1.0)[0].limits_ink
        for throttle in (("power_cap",), ("thermal",), ("thermal", "hw_slowdown"), ("idle",))
    ]
    assert inks == ["dim", "warn", "fail", "dim"]


def processes(*given: tuple[int, Any, Any]) -> GpuProcessesSampled:
    listed = tuple(GpuProcess(pid=pid, user=user, command=command, memory_bytes=GIB) for pid, user, command in given)
    return GpuProcessesSampled(host="box", gpus=(GpuProcesses(uuid=CleanText("GPU-0"), processes=listed),))


def test_owners_are_programs_and_those_of_other_namespaces_are_numbers() -> None:
    mine = (7, CleanText("root"), CleanText("/v/bin/python3 -m sglang.launch_server --tp 8"))
    shown = row(ONE, sampled(gauges(0)), processes(mine, (4711, NOT_VISIBLE, NOT_VISIBLE)))
    assert shown.owner == "root:sglang.launch_server, pid 4711 (not visible here)"


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("sglang::scheduler_TP0", "sglang TP0"),
        ("/usr/bin/python3 /home/x/train.py --lr 1", "train.py"),
        ("/usr/bin/python3 -u run.py", "run.py"),
        ("python", "python"),
        ("python -m", "python"),
        ("[nvidia-smi] <defunct>", "[nvidia-smi]"),
        ("", ""),
    ],
)
def test_the_name_of_a_program(command: str, name: str) -> None:
    assert program(command) == name


def test_seven_of_eight() -> None:
    seven = identified(*(identity(index) for index in range(7)))
    host = box(GpusExpected(host="box", count=8), seven, sampled(*(gauges(index) for index in range(7))))
    assert gpu_title(host) == "7 of 8 × H200"
    assert "7 of 8 × H200" in "\n".join(status_lines(host, 1.0))


def test_gpus_that_cannot_be_listed_tell_why_everywhere() -> None:
    reason = "driver/library version mismatch: running jobs keep working; reboot before the next launch"
    failed = GpusIdentified(
        host="box", gpus=Unknown(reason), driver_version=Unknown("not sampled yet"), cuda_version=Unknown("x")
    )
    host = box(failed)
    assert gpu_rows(host, 1.0) == health_rows(host, 1.0) == []
    assert reason in "\n".join(status_lines(host, 1.0))
    gpus = status(host, 1.0)["gpus"]
    assert not known(gpus)
    assert gpus.reason == reason


def test_the_same_of_several_gpus_is_one_note() -> None:
    all_of = range(4)
    host = box(
        identified(*map(identity, all_of)),
        sampled(*map(gauges, all_of)),
        healthy(*(health(index, persistence=False, pcie_width=8 if index == 2 else 16) for index in all_of)),
    )
    assert [(note.who, note.finding.kind) for note in gpu_notes(host, 1.0)] == [("GPU 2", "fail"), ("GPU 0-3", "warn")]
    assert ranges([5, 0, 1, 3]) == "0-1, 3, 5"


def test_the_json_has_health_links_and_findings() -> None:
    spin = [(float(t), sampled(gauges(0, **SPIN))) for t in range(1, 40)]
    found = status(box(ONE, *spin, healthy(health(0)), topology(1)), 39.0)
    gpu = found["gpus"][0]
    assert gpu["health"]["ecc_uncorrected"] == 0
    assert gpu["findings"][0]["severity"] == "warn"
    assert "spin-hang suspected" in gpu["findings"][0]["sentence"]
    assert found["topology"]["all_reduce"]["verdict"] == "ok"
    assert found["xid"] == []
    bare = status(box(ONE), 1.0)
    assert not known(bare["topology"])
    assert not known(bare["gpus"][0]["health"])


def test_a_suspicion_outlives_one_other_sample_and_no_more() -> None:
    spin = [(float(t), sampled(gauges(0, **SPIN))) for t in range(1, 31)]
    blip = (31.0, sampled(gauges(0, util_pct=40, power_w=300.0)))
    assert row(ONE, *spin, blip, now=31.0).word == "SPIN?"
    works = [(float(t), sampled(gauges(0, util_pct=99, power_w=600.0, memory_util_pct=40))) for t in range(31, 38)]
    assert row(ONE, *spin, *works, now=38.0).word == "ok"
    again = (38.0, sampled(gauges(0, **SPIN)))
    assert row(ONE, *spin, *works, again, now=39.0).word == "ok"


def test_next_names_the_worst_first() -> None:
    both = identified(identity(0), identity(1))
    fine = sampled(gauges(0), gauges(1))
    sick = healthy(health(0, remap_pending=True), health(1, pcie_width=8))
    up = LinkChanged(host="box", state="up")
    step = next_step(box(up, both, fine, sick), 1.0)
    assert (step.level, step.sentence.startswith("GPU 1: PCIe x8")) == ("fail", True)
    pending = next_step(box(up, both, fine, healthy(health(0, remap_pending=True), health(1))), 1.0)
    assert (pending.level, pending.key) == ("warn", "2")
    mild = next_step(box(up, both, fine, healthy(health(0, persistence=False), health(1))), 1.0)
    assert "persistence" not in mild.sentence
