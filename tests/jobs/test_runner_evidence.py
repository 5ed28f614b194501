"""Evidence on a full disk, memory kills with proof, log caps, and removal."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.jobbox import JobBox, drained, ended, log, logged, record, until
from tests.support.small_disk import small_disk

MiB = 1 << 20


@pytest.fixture
def small_box(tmp_path: Path) -> Iterator[JobBox]:
    """A box whose state lies on a disk of one MiB."""
    with small_disk(tmp_path / "small") as place:
        box = JobBox(place)
        yield box
        with contextlib.suppress(OSError):
            (place / "filler").unlink()
        box.clear()


def fill(place: Path) -> None:
    """Until not one byte more fits."""
    with (place / "filler").open("ab", buffering=0) as filler, contextlib.suppress(OSError):
        while True:
            filler.write(b"x" * 512)


def test_a_full_disk_loses_no_evidence(small_box: JobBox) -> None:
    place = small_box.root.parents[1]
    ending = small_box.run("sh", "-c", "read line; exit 7", stdin="")
    drained(ending)
    waiting = small_box.run("sh", "-c", f"while [ ! -e {place}/go ]; do sleep 0.05; done; echo lost words; exit 42")
    (place / "go.not").touch()
    fill(place)
    (place / "go.not").rename(place / "go")
    assert (ended(waiting)["code"], ended(waiting)["signal"]) == (42, None)
    assert drained(waiting)["stopped_by"] is None
    assert log(waiting) == "", "the log's own words had no room"


def test_a_stop_on_a_full_disk_still_stops(small_box: JobBox) -> None:
    job = small_box.run("sleep", "600")
    fill(small_box.root.parents[1])
    assert small_box.call("pause", id=job.name, by="me@laptop")["paused"]
    assert not small_box.call("resume", id=job.name, by="me@laptop")["paused"]
    assert small_box.call("pause", id=job.name, by="me@laptop")["paused"]
    small_box.stop(job, 600)
    small_box.stop(job, 1)
    drained(job)
    assert ended(job)["signal"] == 15


def test_nothing_starts_on_a_full_disk_and_nothing_is_left(small_box: JobBox) -> None:
    small_box.root.mkdir(parents=True)
    fill(small_box.root.parents[1])
    answer = small_box.start("sleep", "600")
    assert answer["errno"] == 28
    assert list(small_box.root.glob("test-*")) == []


def test_a_log_beyond_its_cap_is_cut_and_the_writer_goes_on(box: JobBox) -> None:
    job = box.program(
        "import time\nfor n in range(4000): print(f'{n:06} ' + 'x' * 500, flush=True)\n"
        "print('done', flush=True); time.sleep(600)",
        log_cap_bytes=MiB // 2,
    )  # fmt: skip
    until(lambda: (job / "log.1").exists(), "log.1")
    until(lambda: (job / "log").stat().st_size <= MiB // 2, "the cut")
    kept = (job / "log.1").read_text() + log(job)
    assert "bytes of log before this line are in log.1" in logged(job, "gpudeck:")
    assert "done" in kept
    assert (job / "log.1").stat().st_mode & 0o777 == 0o600
    assert len(list(job.glob("log*"))) == 2


def test_a_log_without_room_for_a_copy_is_cut_all_the_same(small_box: JobBox) -> None:
    job = small_box.program(
        "import os, time\nfor n in range(1200): os.write(1, b'x' * 511 + b'\\n')\ntime.sleep(600)",
        log_cap_bytes=MiB // 2,
    )  # fmt: skip
    assert "were cut, no room for them" in logged(job, "gpudeck:")
    assert not (job / "log.1").exists()


def memory_cgroup(name: str) -> Path | None:
    """A fresh memory cgroup with a limit of 64 MiB, where the system lets us make one."""
    for base, limit in (("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), ("/sys/fs/cgroup", "memory.max")):
        group = Path(base) / name
        if not (Path(base) / "cgroup.procs").exists():
            continue
        with contextlib.suppress(OSError):
            group.mkdir()
            (group / limit).write_text(str(64 * MiB))
            return group
    return None


def test_a_memory_kill_is_proved_by_the_cgroups_counter(box: JobBox) -> None:
    group = memory_cgroup(f"gpudeck-test-{os.getpid()}")
    if group is None:
        pytest.skip("needs the right to make a memory cgroup")
    try:
        grown = (
            "import os, sys\nopen(sys.argv[1], 'w').write(str(os.getpid()))\n"
            "os.execv(sys.executable, [sys.executable, '-I', '-u', '-c', sys.argv[2]])"
        )
        inside = JobBox(box.root.parents[1])
        inside.prefix = (sys.executable, "-c", grown, str(group / "cgroup.procs"))
        job = inside.program("import time; time.sleep(0.2)\nheap = [bytearray(1 << 20) for _ in range(512)]")
        end = ended(job)
        drained(job)
        assert end["signal"] == 9
        assert end["reason"] == "killed by the kernel for memory"
        assert "oom_kill" in end["oom"] or "Killed process" in end["oom"]
    finally:
        until(lambda: not (group / "cgroup.procs").read_text(), "an empty cgroup")
        group.rmdir()


def test_prune_removes_what_has_ended(box: JobBox) -> None:
    done = box.run("true")
    drained(done)
    runs = box.run("sleep", "600")
    (box.root / "test-half").mkdir()
    theirs = box.root.parent / "theirs"
    theirs.mkdir()
    (theirs / "kept").touch()
    (box.root / "test-link").symlink_to(theirs)
    told = box.call("prune", all=False, dry_run=True)
    assert sorted(told["removed"]) == sorted([done.name, "test-half"])
    assert done.exists()
    assert box.call("prune", all=False)["running"] == [runs.name]
    assert {path.name for path in box.root.glob("test-*")} == {runs.name, "test-link"}
    assert (theirs / "kept").exists()


def test_prune_all_refuses_while_a_job_runs_and_then_lists_what_stays(box: JobBox, tmp_path: Path) -> None:
    model = tmp_path / "model"
    proof = model / ".cache" / "gpudeck" / "proof.json"
    proof.parent.mkdir(parents=True)
    proof.write_text("{}")
    token = tmp_path / "hf" / "token"
    token.parent.mkdir()
    token.write_text("hf_x")
    box.env |= {"HF_HOME": str(token.parent), "XDG_CONFIG_HOME": str(tmp_path / "config")}
    unit = tmp_path / "config" / "systemd" / "user" / "gpudeck-k26.service"
    unit.parent.mkdir(parents=True)
    unit.touch()
    adopted = box.root.parent / "adopted" / "4711-1.json"
    job = box.run("sleep", "600", meta={"path": str(model)})
    adopted.parent.mkdir()
    adopted.write_text("{}")
    refused = box.call("prune", all=True)
    assert (refused["running"], refused["removed"]) == ([job.name], [])
    assert proof.exists()
    box.stop(job, 0)
    drained(job)
    answer = box.call("prune", all=True)
    assert (answer["removed"], answer["proofs"]) == ([job.name], [str(proof)])
    assert answer["stays"] == {"units": [unit.name], "models": [str(model)], "tokens": [str(token)]}
    assert model.exists()
    assert token.exists()
    assert not proof.parent.exists()
    assert answer["adopted"] == [str(adopted)]
    assert not adopted.exists()
    assert list(box.root.glob("test-*")) == []


def test_models_and_proofs_of_jobs_that_are_gone_are_found_where_the_box_keeps_models(
    box: JobBox, tmp_path: Path
) -> None:
    for name in ("proved", "plain", "other"):
        (tmp_path / "models" / name).mkdir(parents=True)
    proof = tmp_path / "models" / "proved" / ".cache" / "gpudeck" / "proof.json"
    proof.parent.mkdir(parents=True)
    proof.write_text("{}")
    (tmp_path / "models" / "plain" / "config.json").write_text("{}")
    dirs = [str(tmp_path / "models"), str(tmp_path / "none")]
    answer = box.call("prune", all=True, dirs=dirs)
    assert answer["proofs"] == [str(proof)]
    assert answer["stays"]["models"] == [f"{dirs[0]}/plain", f"{dirs[0]}/proved"]
    assert not proof.exists()


def test_kill_9_between_record_and_prune_is_not_running(box: JobBox) -> None:
    job = box.run("sleep", "600")
    for who in ("runner_pid", "pid"):
        os.kill(record(job)[who], 9)
    until(lambda: box.call("prune", all=True, dry_run=True)["running"] == [], "not running")
    box.call("prune", all=True)
    assert not job.exists()
