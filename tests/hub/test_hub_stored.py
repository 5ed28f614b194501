"""What is stored on a box: how far its files alone prove it, and what may be deleted when the disk is too small."""

from __future__ import annotations

import ctypes
import json
import os
import struct
import subprocess
from pathlib import Path
from typing import Any

import pytest

from console.demo.hub import Content, model_files
from console.gates.disk import Device, Need, Place, disk_gate
from console.payloads.hub import claims, quota
from tests.support.hub import ask_one, whole
from tests.support.jobbox import until

SHARD = "model-00002-of-00002.safetensors"


def lay(place: Path, files: dict[str, Content]) -> Path:
    place.mkdir(parents=True)
    for name, content in files.items():
        (place / name).write_bytes(whole(content))
    return place


def stored(place: Path, root: Path) -> dict[str, Any]:
    (model,) = ask_one({"op": "stored", "paths": [str(place)]}, {"HF_HOME": str(root / "hf")})
    found: dict[str, Any] = model
    return found


def test_a_directory_proves_what_its_own_files_say(tmp_path: Path) -> None:
    place = lay(tmp_path / "mine", model_files(2, 1000))
    proofs = [stored(place, tmp_path)["proof"]]
    for name in (SHARD, "model-00001-of-00002.safetensors", "tokenizer.json"):
        (place / name).unlink()
        proofs.append(stored(place, tmp_path)["proof"])
    (place / "tokenizer_config.json").unlink()
    assert [*proofs, stored(place, tmp_path)["proof"]] == ["names_sizes", "partial", "dummy", "dummy", "none"]


def test_the_librarys_cache_is_judged_by_its_snapshot(tmp_path: Path) -> None:
    root = tmp_path / "hf" / "hub" / "models--org--name"
    (root / "blobs").mkdir(parents=True)
    old, new = (lay(root / "snapshots" / commit, model_files(2, 1000)) for commit in ("a" * 40, "b" * 40))
    (root / "refs").mkdir()
    (root / "refs" / "main").write_text("a" * 40)
    (model,) = ask_one({"op": "inventory", "roots": []}, {"HF_HOME": str(tmp_path / "hf")})
    assert (model["repo"], model["commit"], model["proof"]) == ("org/name", "a" * 40, "names_sizes")
    (old / SHARD).unlink()
    assert stored(root, tmp_path)["proof"] == "partial"
    (root / "refs" / "main").unlink()
    os.utime(old, (1, 1))
    assert (stored(root, tmp_path)["commit"], stored(root, tmp_path)["proof"]) == (new.name, "names_sizes")


def test_no_model_is_deleted_by_mistake(tmp_path: Path) -> None:
    place = lay(tmp_path / "mine", model_files(1, 1000))
    link = tmp_path / "link"
    link.symlink_to(place)

    def why(path: str, dry_run: bool = False) -> str:
        told = ask_one({"op": "remove", "path": path, "dry_run": dry_run}, {})
        return f"{told['refused']}{told['removed']}"

    assert [why(path) for path in ("/", str(tmp_path), str(link), "/no/such")] == [
        "no_modelFalse", "no_modelFalse", "linkFalse", "missingFalse",
    ]  # fmt: skip
    with (place / "config.json").open():
        assert why(str(place)) == "openFalse"
    assert (why(str(place), dry_run=True), place.exists()) == ("False", True)
    assert (why(str(place)), place.exists()) == ("True", False)


def test_only_a_download_that_lives_claims_its_rest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    place = tmp_path / "gpudeck" / "jobs" / "download-1"
    place.mkdir(parents=True)
    process = subprocess.Popen(["sleep", "600"])
    start = int(Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[19])
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()

    def claiming(boot_id: str) -> list[str]:
        job = {"kind": "download", "key": "/m", "pid": process.pid, "start_ticks": start, "boot_id": boot_id}
        (place / "job.json").write_text(json.dumps(job))
        return [claim["job"] for claim in claims.read()]

    assert claiming(boot) == ["download-1"]
    assert claiming("another boot") == []
    process.kill()
    until(lambda: Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z")
    assert claiming(boot) == []  # a zombie: nobody has reaped it
    process.wait()


@pytest.mark.parametrize(
    ("limits", "left"),
    [
        ((1000, 500, 1024), 999 * 1024),  # the hard limit counts
        ((0, 500, 1024), 499 * 1024),
        ((1, 0, 5000), 0),
        ((0, 0, 5000), None),
    ],
)
def test_a_quota_leaves_what_is_below_its_limit(limits: tuple[int, int, int], left: int | None) -> None:
    answer = struct.pack("=8QI", *limits, 0, 0, 0, 0, 0, 3)
    assert quota.rest(answer) == left
    assert quota.rest(answer[:-4] + struct.pack("=I", 0)) is None


def test_a_quota_that_cannot_be_read_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    assert [quota.free_bytes(source) for source in ("tmpfs", "/dev/no-such-device", "server:/export")] == [None] * 3
    monkeypatch.setattr(ctypes, "CDLL", lambda *_, **__: object())
    assert quota.free_bytes("/dev/vda") is None


def test_a_disk_that_is_too_small_has_ways_out() -> None:
    gb = 10**9
    target, draft = ("org/target", Need(sizes=(595 * gb,), missing_files=1)), ("org/draft", Need(sizes=(7 * gb,)))
    place = Place(
        names=("org/target", "org/draft"),
        need=Need(sizes=(595 * gb, 7 * gb), missing_files=2),
        device=Device(mount="/", available_bytes=600 * gb),
        parts=(target, draft),
        others=(("/data", 700 * gb), ("/dev/shm", 20 * gb)),
        deletable=(("/models/old", 30 * gb),),
    )
    gate = disk_gate(place)
    assert (gate.state, gate.way_out[0]) == ("no", "Put it on /data: 98.0 GB would be left.")
    alone = next(way for way in gate.way_out if "alone on /dev/shm" in way)
    assert alone.startswith("Put org/draft alone on /dev/shm (memory: lost at reboot): 11.9 GB would be left.")
    assert alone.endswith("What stays on /: tight.")
    assert "Delete /models/old (30.0 GB): then fits." in gate.way_out
