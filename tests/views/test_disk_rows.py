"""Every state of a disk as its row, its sentence and its JSON."""

from __future__ import annotations

from typing import Any

import pytest

from console.events import Stamped
from console.events.host import Disk, DisksSampled
from console.state import HostState, State, reduce
from console.values import CleanText, Unknown, known
from console.views.disks import disk_rows, disk_sentence, full_in_s
from console.views.next import next_step
from console.views.status import status
from console.views.text import status_lines
from tests.support.played import disk, link_up

GB = 10**9
NO_ANSWER = Unknown("no answer for 12 s")
STUCK = {"total_bytes": NO_ANSWER, "inodes_free": NO_ANSWER, "state": "stuck",
         "state_reason": CleanText("no answer for 12 s")}  # fmt: skip


def box(*samples: tuple[float, list[Disk]]) -> HostState:
    state = State()
    events = [(0.0, event) for event in link_up("box")]
    events += [(t, DisksSampled(host="box", disks=tuple(disks))) for t, disks in samples]
    for number, (t, event) in enumerate(events, 1):
        reduce(state, Stamped(number, t, event))
    return state.hosts["box"]


def one(available: int | Unknown = 500 * GB, **fields: Any) -> Disk:
    total = fields.pop("total_bytes", 1000 * GB)
    return disk("/data", available, total, device_id=CleanText("8:1"), **fields)


CASES: dict[str, tuple[Disk, str, str, str]] = {
    "plenty": (one(), "ok", "ok", ""),
    "full": (one(0, state="full"), "fail", "full", "disk /data full, 0 B left"),
    "no inodes": (
        one(state="full", state_reason=CleanText("no inodes left"), inodes_free=0),
        "fail", "full", "disk /data full: no inodes left, 500.0 GB left",
    ),
    "few inodes are as good as none": (
        one(inodes_free=12), "fail", "full", "disk /data full: 12 inodes left, 500.0 GB left",
    ),
    "inodes that nobody counts": (one(inodes_free=Unknown("n/a: no fixed number")), "ok", "ok", ""),
    "turned read-only": (
        one(state="read_only", read_only=True, state_reason=CleanText("turned read-only")),
        "fail", "read only", "disk /data read only: turned read-only",
    ),
    "stuck": (one(NO_ANSWER, **STUCK), "warn", "stuck", "disk /data stuck: no answer for 12 s"),
    "error": (
        one(Unknown("stale handle"), state="error", state_reason=CleanText("stale handle")),
        "fail", "error", "disk /data error: stale handle",
    ),
    "little left": (one(40 * GB), "warn", "low", "disk /data low, 40.0 GB left"),
    "a tenth of much is much": (one(600 * GB, total_bytes=8000 * GB), "ok", "ok", ""),
    "RAM": (one(GB, is_ram=True, fstype=CleanText("tmpfs")), "ok", "ok", ""),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_the_state_of_a_disk(case: str) -> None:
    given, kind, word, sentence = CASES[case]
    host = box((1.0, [given]))
    (row,) = disk_rows(host)
    assert (row.kind, row.word) == (kind, word)
    assert disk_sentence(host, given) == sentence
    assert next_step(host, 1.0).level == (kind if word not in ("ok", "low") else "ok")


def test_what_is_not_known_is_no_zero() -> None:
    (row,) = disk_rows(box((1.0, [one(NO_ANSWER, **STUCK)])))
    assert (row.used, row.used_text, row.left_text, row.left_full_text) == (None, "?", "?", "unknown")


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"is_ram": True, "fstype": CleanText("tmpfs")}, "tmpfs RAM"),
        ({"limited_by": CleanText("quota")}, "ext4 by quota"),
        ({"is_ram": True, "limited_by": CleanText("MemAvailable")}, "RAM by MemAvailable"),
        ({"reserved_bytes": 60 * GB}, "60.0 GB reserved for root"),
        ({"other_mounts": (CleanText("/srv"), CleanText("/var/lib/docker"))}, "also /srv, /var/lib/docker"),
        ({"fstype": CleanText("btrfs")}, "btrfs"),
    ],
)
def test_the_detail_says_what_it_is_and_what_limits_it(fields: dict[str, Any], words: str) -> None:
    (row,) = disk_rows(box((1.0, [one(**fields)])))
    assert words in row.detail


def filling(rate: float, left: int, noise: int = 0) -> HostState:
    """Twelve samples in a minute; every other one is off by `noise`."""
    times = [float(5 * step) for step in range(13)]
    samples = [left + int(rate * (60 - t)) + (noise if step % 2 else 0) for step, t in enumerate(times)]
    return box(*((t, [one(available)]) for t, available in zip(times, samples, strict=True)))


@pytest.mark.parametrize(
    ("rate", "left", "kind", "word"),
    [
        (0.6e9, 504 * GB, "fail", "full in 14 min"),
        (0.4e9, 504 * GB, "warn", "full in 21 min"),
        (1.0e9, 300 * GB, "fail", "full in 5 min"),
        (0.1e9, 500 * GB, "ok", "ok"),
        (0.0, 500 * GB, "ok", "ok"),
        (-1.0e9, 500 * GB, "ok", "ok"),
    ],
)
def test_time_to_full(rate: float, left: int, kind: str, word: str) -> None:
    host = filling(rate, left)
    (row,) = disk_rows(host)
    assert (row.kind, row.word) == (kind, word)
    expected = left / rate if rate > 0 else None
    found = status(host, 60.0)["disks"][0]["full_in_s"]
    assert known(found) is (expected is not None)
    if expected is not None:
        assert found == pytest.approx(expected, rel=0.01)
        assert ("full in" in "\n".join(status_lines(host, 60.0))) is (kind != "ok")


def test_noise_and_a_deleted_file_do_not_move_it() -> None:
    calm = full_in_s(filling(0.6e9, 504 * GB), one(504 * GB))
    noisy = full_in_s(filling(0.6e9, 504 * GB, noise=2 * GB), one(504 * GB))
    assert known(calm)
    assert known(noisy)
    assert noisy == pytest.approx(calm, rel=0.1)
    ring = [(float(5 * step), 600 * GB - 3 * GB * step + (40 * GB if step > 9 else 0)) for step in range(13)]
    deleted = box(*((t, [one(available)]) for t, available in ring))
    left_s = full_in_s(deleted, one(ring[-1][1]))
    assert known(left_s)
    assert left_s == pytest.approx(ring[-1][1] / 0.6e9, rel=0.2)


def test_a_writer_that_stopped_is_forgotten() -> None:
    busy = [(float(5 * step), [one(600 * GB - 3 * GB * step)]) for step in range(13)]
    still = [(60.0 + 5 * step, [one(564 * GB)]) for step in range(1, 40)]
    assert not known(full_in_s(box(*busy, *still), one(564 * GB)))


def test_the_worst_comes_first_and_ram_last() -> None:
    disks = [
        disk("/dev/shm", 90, 100, is_ram=True, device_id=CleanText("0:1")),
        disk("/models", 60, 100, device_id=CleanText("8:4")),
        disk("/", 30, 100, device_id=CleanText("8:2")),
        one(NO_ANSWER, **STUCK),
        disk("/full", 0, 100, state="full", device_id=CleanText("8:3")),
    ]
    assert [row.kind for row in disk_rows(box((1.0, disks)))] == ["fail", "warn", "ok", "ok", "ok"]
    assert disk_rows(box((1.0, disks)))[-1].mount == "/dev/shm"
