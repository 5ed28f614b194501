"""The arithmetic of the disk, on every number of the vectors."""

from __future__ import annotations

import json
import math
import os
import re
from pathlib import Path
from typing import Any

import pytest

from console.gates.disk import Claims, Device, Need, fill, fit, join, without_orphans, worst
from console.payloads.hub import disk
from console.payloads.hub.disk import space
from console.values import Unknown, format_bytes, known

VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "disk_fit.json").read_text())
HANG = Unknown("no answer")


def df_range(tool: str, text: str) -> tuple[float, float]:
    """The bytes that a text of df can mean: more than the first, at most the second. df rounds up, to whole units
    from 10 and to tenths below. Raises ValueError for another text."""
    match = re.fullmatch(r"(\d+(?:\.\d)?)([KMGTPE])", text)
    if not match:
        raise ValueError(f"not a size of df: {text!r}")
    base = 1024.0 if tool == "df -h" else 1000.0
    unit, value = base ** ("KMGTPE".index(match[2]) + 1), float(match[1])
    step = 0.1 if value <= 10 else 1.0
    if value == 1:  # a smaller number would be shown in the smaller unit
        step = 1 / base
    return (value - step) * unit, value * unit


def of_kind(kind: str) -> pytest.MarkDecorator:
    chosen = [vector for vector in VECTORS if vector["input"]["kind"] == kind]
    assert chosen
    return pytest.mark.parametrize("vector", chosen, ids=lambda vector: vector["id"])


def need_of(given: dict[str, Any]) -> Need:
    sizes = given.get("sizes", [given.get("need_bytes")])
    unknown = Unknown("the Hub did not say")
    return Need(
        sizes=tuple(unknown if size is None else size for size in sizes),
        have_bytes=given.get("have_bytes", 0),
        missing_files=given.get("files_missing", 0),
    )


@of_kind("fit")
def test_fit(vector: dict[str, Any]) -> None:
    given, expected = vector["input"], vector["expected"]
    device = Device(
        fstype=given.get("fstype", "ext4"),
        available_bytes=HANG if given["avail_bytes"] is None else given["avail_bytes"],
        quota_free_bytes=given.get("quota_free_bytes"),
        inodes_free=given.get("inodes_free"),
        read_only=given.get("read_only", False),
        problem=given.get("statvfs", ""),
    )
    claims = Claims(
        other_bytes=given.get("other_claims_bytes", 0),
        xet_bytes=given.get("xet_charge_bytes", 0),
        reserve_bytes=given.get("reserve_bytes", 0),
        orphan_bytes=given.get("orphan_bytes", 0),
    )
    need = need_of(given)
    found = fit(need, device, claims)
    assert found.verdict == expected["verdict"].lower()
    assert list(found.reasons) == expected["reasons"]
    for key in ("remaining_bytes", "peak_bytes", "budget_bytes", "headroom_bytes", "margin_bytes", "unknown_files"):
        if key in expected:
            assert getattr(found, key) == expected[key], key
    if "verdict_if_orphans_deleted" in expected:
        assert without_orphans(need, device, claims) == expected["verdict_if_orphans_deleted"].lower()


@of_kind("df_text")
def test_a_text_of_df_is_a_range(vector: dict[str, Any]) -> None:
    low, high = df_range(vector["input"]["tool"], vector["input"]["text"])
    tolerance = vector["tolerance"]["abs_bytes"]
    assert low == pytest.approx(vector["expected"]["low_exclusive"], abs=tolerance)
    assert high == pytest.approx(vector["expected"]["high_inclusive"], abs=tolerance)


@of_kind("fit_from_df_text")
def test_the_low_end_of_a_text_decides(vector: dict[str, Any]) -> None:
    given, expected = vector["input"], vector["expected"]
    low, high = df_range(given["tool"], given["text"])
    at_low = fit(need_of(given), Device(available_bytes=math.floor(low) + 1))
    at_high = fit(need_of(given), Device(available_bytes=math.floor(high)))
    assert [at_low.verdict, at_high.verdict] == [
        expected["verdict_at_low"].lower(),
        expected["verdict_at_high"].lower(),
    ]
    assert known(at_low.margin_bytes)
    assert known(at_high.margin_bytes)
    assert at_low.margin_bytes == pytest.approx(expected["margin_low_bytes"], abs=1)
    assert at_high.margin_bytes == pytest.approx(expected["margin_high_bytes"], abs=1)
    assert worst([at_low.verdict, at_high.verdict]) == expected["use"].lower()


@of_kind("show_bytes")
def test_bytes_are_shown_in_both_units(vector: dict[str, Any]) -> None:
    assert format_bytes(vector["input"]["bytes"]) == vector["expected"]["text"]


@of_kind("statvfs")
def test_usable_is_what_a_user_may_write(vector: dict[str, Any]) -> None:
    given, expected = vector["input"], vector["expected"]
    found = space(given["f_frsize"], given["f_blocks"], given["f_bfree"], given["f_bavail"])
    assert found["total_bytes"] == expected["total_bytes"]
    assert found["available_bytes"] == expected["usable_bytes"]
    assert found["reserved_bytes"] == expected["reserved_bytes"]
    used = found["total_bytes"] - found["available_bytes"] - found["reserved_bytes"]
    assert used == expected["used_bytes"]
    assert math.ceil(100 * used / (used + found["available_bytes"])) == expected["df_use_percent"]
    assert found["available_bytes"] / found["total_bytes"] == pytest.approx(
        expected["usable_fraction_of_total"], abs=vector["tolerance"]["usable_fraction_of_total"]
    )


@of_kind("time_to_full")
def test_when_the_disk_is_full(vector: dict[str, Any]) -> None:
    given, expected = vector["input"], vector["expected"]
    found = fill(given["avail_bytes"], given["write_bytes_per_s"], given["remaining_bytes"])
    assert found.seconds_to_full == pytest.approx(expected["seconds_to_full"], abs=vector["tolerance"]["abs_s"])
    assert found.seconds_to_done == pytest.approx(expected["seconds_to_done"], abs=vector["tolerance"]["abs_s"])
    assert found.full_before_done is expected["full_before_done"]


@of_kind("devices")
def test_what_shares_a_device_is_summed(vector: dict[str, Any]) -> None:
    given, expected = vector["input"], vector["expected"]
    verdicts = []
    for key, available in given["avail_by_device"].items():
        needs = [Need(sizes=(item["bytes"],)) for item in given["items"] if item["device"] == key]
        found = fit(join(needs), Device(key=key, available_bytes=available))
        verdicts.append(found.verdict)
        assert found.verdict == expected["per_device"][key]["verdict"].lower()
        assert found.margin_bytes == expected["per_device"][key]["margin_bytes"]
    assert worst(verdicts) == expected["overall"].lower()


def test_every_kind_of_vector_is_tested() -> None:
    kinds = {vector["input"]["kind"] for vector in VECTORS}
    assert kinds == {"fit", "df_text", "fit_from_df_text", "show_bytes", "statvfs", "time_to_full", "devices"}


@pytest.mark.parametrize(("memory", "group", "bound"), [(5, None, 5), (1 << 60, 7, 7), (None, None, None)])
def test_a_file_system_in_memory_has_no_more_room_than_the_memory(
    monkeypatch: pytest.MonkeyPatch, memory: int | None, group: int | None, bound: int | None
) -> None:
    monkeypatch.setattr(disk, "_memory_available", lambda: memory)
    monkeypatch.setattr(disk, "_group_available", lambda: group)
    found = disk.facts("/dev/shm")
    assert found["is_ram"] is True
    if bound is None:
        bound = os.statvfs("/dev/shm").f_bavail * os.statvfs("/dev/shm").f_frsize
    assert found["available_bytes"] == pytest.approx(bound, abs=64 << 20)  # others write there, too
