"""The download and verify jobs with the real library: what is there afterwards decides, nothing else."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from console.demo.hub import FakeHub, model_files, text
from tests.support.hub import BOB, Job, ask_one, environment, new_hub
from tests.support.jobbox import until
from tests.support.patience import PATIENCE_S

REPO = "moonshotai/Kimi-K2.6"
SHARD = "model-00002-of-00003.safetensors"
MIB = 1 << 20


@pytest.fixture
def hub() -> Iterator[FakeHub]:
    hub = new_hub()
    hub.add(REPO, model_files(3, 3 * MIB))
    with hub:
        yield hub


class Place:
    """A job directory, a target, a box's environment."""

    def __init__(self, hub: FakeHub, root: Path) -> None:
        self.root, self.job, self.hub = root / "models" / "Kimi's $(x)\nK2", root / "job", hub
        self.job.mkdir()
        self.jobs: list[Job] = []
        self.env = environment(hub, root / "home")

    def start(self, job: str = "download", **more: Any) -> Job:
        (self.job / "progress.ndjson").unlink(missing_ok=True)
        config = {
            "job": job,
            "env": self.env,
            "repo": REPO,
            "path": str(self.root),
            "backoff_s": 0.05,
        }
        self.jobs.append(Job(config | more, folder=self.job))
        return self.jobs[-1]

    def run(self, job: str = "download", **more: Any) -> tuple[int, dict[str, Any]]:
        return self.start(job, **more).end()

    def present(self) -> Any:
        """What a plan would count as there."""
        return ask_one({"op": "repo", "repo": REPO, "path": str(self.root)}, self.env)["present"]

    def stored(self) -> Any:
        return ask_one({"op": "stored", "paths": [str(self.root)]}, self.env)[0]


@pytest.fixture
def place(hub: FakeHub, tmp_path: Path) -> Iterator[Place]:
    place = Place(hub, tmp_path)
    yield place
    for job in place.jobs:
        job.close()


def kinds(end: dict[str, Any]) -> dict[str, str]:
    return {item["path"]: item["kind"] for item in end["bad"]}


def fetched(hub: FakeHub) -> list[str]:
    """Names of the files whose bytes were asked for."""
    return [path.rpartition("/")[2] for method, path, _ in hub.requests if method == "GET" and "/lfs/" in path]


@pytest.mark.parametrize("xet", [False, True], ids=["http", "xet"])
def test_a_download_ends_with_every_hash_proved(hub: FakeHub, place: Place, xet: bool) -> None:
    hub.xet = xet
    code, end = place.run()
    assert (code, end["result"], end["ok"], end["bad"]) == (0, "ok", 9, [])
    assert end["present_bytes"] == end["total_bytes"] == sum(item.size for item in hub.repos[REPO].files().values())
    stored = place.stored()
    assert (stored["proof"], stored["repo"], stored["commit"]) == ("sha256", REPO, hub.repos[REPO].branches["main"])
    assert stored["orphans"] == 0


def test_a_given_manifest_is_not_asked_for_again(hub: FakeHub, place: Place) -> None:
    looked = ask_one({"op": "repo", "repo": REPO}, place.env)
    job = place.start(commit=looked["commit"], files=looked["files"])
    assert job.end()[1]["result"] == "ok"
    assert [line for line in job.lines() if line["phase"] == "manifest"] == []


def test_a_second_run_fetches_nothing(hub: FakeHub, place: Place) -> None:
    place.run()
    hub.requests.clear()
    assert place.run()[0] == 0
    assert fetched(hub) == []


def test_progress_counts_the_manifests_bytes_on_the_disk(hub: FakeHub, place: Place) -> None:
    hub.faults.rate_bytes_s = 1.5 * MIB
    job = place.start(verify=False)
    middle = job.wait_for(
        lambda line: line.get("phase") == "downloading" and 0 < line["present_bytes"] < line["total_bytes"]
    )
    hub.faults.rate_bytes_s = 0.0
    code, end = job.end()
    assert (code, end["result"]) == (0, "ok")
    assert middle["total_bytes"] == end["total_bytes"]
    shares = [line["present_bytes"] for line in job.lines() if "present_bytes" in line]
    assert shares == sorted(shares)
    assert middle["eta_s"] is None or middle["eta_s"] > 0


@pytest.mark.parametrize("victim", [SHARD, "config.json"])
def test_a_truncated_file_is_found_even_with_its_old_date(place: Place, victim: str) -> None:
    place.run()
    file = place.root / victim
    before, size = file.stat(), file.stat().st_size
    with file.open("r+b") as handle:
        handle.truncate(size // 2)
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    code, end = place.run("verify")
    assert (code, end["result"], kinds(end)) == (7, "mismatch", {victim: "truncated"})
    assert (end["bad"][0]["expected_bytes"], end["bad"][0]["actual_bytes"]) == (size, size // 2)
    assert place.stored()["proof"] == "mismatch"


def test_a_flipped_byte_is_found_and_only_that_file_is_fetched_again(hub: FakeHub, place: Place) -> None:
    place.run()
    with (place.root / SHARD).open("r+b") as handle:
        handle.seek(1000)
        byte = handle.read(1)
        handle.seek(1000)
        handle.write(bytes([byte[0] ^ 1]))
    assert place.stored()["proof"] == "stale"
    code, end = place.run("verify")
    assert (code, kinds(end)) == (7, {SHARD: "corrupt"})
    assert end["bad"][0]["expected_sha256"] != end["bad"][0]["actual_sha256"]
    whole = place.stored()["total_bytes"]
    present = place.present()
    assert (present["missing_files"], present["present_bytes"]) == (1, whole - (place.root / SHARD).stat().st_size)
    hub.requests.clear()
    code, end = place.run()
    assert (code, end["result"]) == (0, "ok")
    assert fetched(hub) == [SHARD]
    assert place.stored()["proof"] == "sha256"
    assert place.present()["missing_files"] == 0


def test_missing_extra_and_shards_that_only_the_index_names(hub: FakeHub, place: Place) -> None:
    files = hub.repos[REPO].files()
    index = json.loads(files["model.safetensors.index.json"].head)
    index["weight_map"]["layers.9.weight"] = "model-00009-of-00003.safetensors"
    hub.repos[REPO].commit({**files, "model.safetensors.index.json": text(json.dumps(index))})
    code, end = place.run()
    assert (code, end["result"], kinds(end)) == (7, "mismatch", {"model-00009-of-00003.safetensors": "index_missing"})
    hub.repos[REPO].commit(files)
    assert place.run()[0] == 0
    (place.root / SHARD).unlink()
    (place.root / "notes.txt").write_text("mine")
    code, end = place.run("verify")
    assert (code, end["result"], kinds(end)) == (7, "incomplete", {SHARD: "missing", "notes.txt": "extra"})
    assert place.stored()["proof"] == "partial"
    assert place.run()[0] == 0  # an extra file alone is no failure


def test_two_revisions_mixed_are_named(hub: FakeHub, place: Place) -> None:
    place.run()
    old = hub.repos[REPO].branches["main"]
    new = hub.repos[REPO].commit({**model_files(3, 3 * MIB), SHARD: model_files(3, 3 * MIB, seed=5)[SHARD]})
    code, end = place.run("verify", commit=new)
    assert (code, kinds(end)) == (7, {SHARD: "wrong_revision"})
    hub.requests.clear()
    code, end = place.run(commit=new)
    assert (code, fetched(hub)) == (0, [SHARD])
    assert place.run("verify", commit=old)[0] == 7


def test_a_killed_run_keeps_whole_files_and_names_what_is_left_over(hub: FakeHub, place: Place) -> None:
    hub.faults.paths, hub.faults.rate_bytes_s = (SHARD,), 1.0 * MIB
    job = place.start()
    job.wait_for(lambda line: [item["path"] for item in line.get("in_flight", [])] == [SHARD] and line["files_ok"] == 8)
    job.process.kill()
    job.process.communicate()
    hub.faults.rate_bytes_s = 0.0
    until(lambda: place.stored()["orphans"], "the child dies with its parent, a moment later", PATIENCE_S)
    stored = place.stored()
    assert (stored["orphans"], stored["proof"]) == (1, "partial")
    hub.requests.clear()
    assert place.run()[0] == 0
    assert fetched(hub) == [SHARD]
    assert place.stored()["orphans"] == 1
    assert ask_one({"op": "remove_orphans", "path": str(place.root)}, place.env)["count"] == 1
    assert place.stored()["orphan_bytes"] == 0


def test_a_pause_finishes_the_files_in_flight_and_starts_none(hub: FakeHub, place: Place) -> None:
    hub.repos[REPO].commit(model_files(24, MIB))
    hub.faults.paths, hub.faults.rate_bytes_s = (".safetensors",), 0.5 * MIB
    job = place.start()
    job.wait_for(lambda line: bool(line.get("in_flight")))
    (place.job / "pause").touch()
    paused = job.wait_for(lambda line: line["phase"] == "paused")
    hub.faults.rate_bytes_s = 0.0
    assert (paused["in_flight"], 0 < paused["files_ok"] < 24) == ([], True)
    assert any(line["phase"] == "draining" for line in job.lines())
    (place.job / "pause").unlink()
    assert job.end()[1]["result"] == "ok"


@pytest.mark.slow
def test_a_stalled_stream_is_started_again(hub: FakeHub, place: Place) -> None:
    hub.faults.paths, hub.faults.hang = (SHARD,), True
    job = place.start(stall_s=0.8)
    stalled = job.wait_for(lambda line: line.get("state") == "stalled")
    hub.faults.hang = False
    code, end = job.end()
    assert (stalled["phase"], code, end["result"]) == ("waiting", 0, "ok")
    assert place.stored()["orphans"] == 0  # what the ended child had open is gone


@pytest.mark.slow
def test_a_xet_store_that_answers_503_for_ever_is_tried_again_with_backoff_then_left(
    hub: FakeHub, place: Place
) -> None:
    hub.xet, hub.faults.cas_status = True, 503  # the library retries in silence
    job = place.start(stall_s=1.5, backoff_s=0.1)
    code, end = job.end(90.0)
    waits = [(line["state"], line["wait_s"]) for line in job.lines() if line["phase"] == "waiting"]
    assert (code, end["result"]) == (0, "ok")
    assert waits == [("stalled", 0.1), ("stalled", 0.2)]
    assert [line["xet"] for line in job.lines() if line["phase"] == "downloading"][-1] is False
    assert place.stored()["orphans"] == 0


def test_a_broken_xet_store_is_left_for_plain_http(hub: FakeHub, place: Place) -> None:
    hub.xet, hub.faults.cas_status = True, 403
    job = place.start()
    code, end = job.end()
    assert (code, end["result"]) == (0, "ok")
    assert any(line.get("state") == "xet_failed" for line in job.lines())
    assert any(line.get("xet") is False for line in job.lines())


def test_the_hubs_bad_moments_are_waited_for(hub: FakeHub, place: Place) -> None:
    hub.faults.status, hub.faults.status_left = 503, 2
    job = place.start()
    assert job.end()[0] == 0
    assert [line["state"] for line in job.lines() if line["phase"] == "waiting"] == ["hub_error", "hub_error"]


@pytest.mark.slow
def test_a_cut_connection_costs_nothing_but_time(hub: FakeHub, place: Place) -> None:
    hub.faults.paths, hub.faults.cut_after_bytes, hub.faults.cut_left = (SHARD,), MIB, 2
    assert place.run()[0] == 0


def test_right_size_and_wrong_bytes_is_a_failure(hub: FakeHub, place: Place) -> None:
    hub.faults.corrupt = True
    code, end = place.run()
    assert (code, end["result"]) == (7, "mismatch")
    assert set(kinds(end).values()) == {"corrupt"}


def test_a_gate_ends_the_job_at_once_with_its_name(hub: FakeHub, place: Place) -> None:
    hub.repos[REPO].gate = "manual"
    place.root.mkdir(parents=True)
    (place.root / "config.json").write_text("{}")
    place.env["HF_TOKEN"] = BOB
    code, end = place.run()
    assert (code, end["result"], end["state"]) == (1, "failed", "request_needed")
    assert BOB not in json.dumps(end)


@pytest.mark.parametrize(
    ("revision", "include", "state"), [("v9", [], "revision_missing"), ("main", ["*.nope"], "nothing_matched")]
)
def test_what_cannot_be_downloaded_is_a_failure(place: Place, revision: str, include: list[str], state: str) -> None:
    code, end = place.run(revision=revision, include=include)
    assert (code, end["result"], end["state"]) == (1, "failed", state)


def test_a_filter_takes_exactly_its_files(place: Place) -> None:
    code, end = place.run(include=["*.json"], exclude=["tokenizer*"])
    assert (code, end["files"]) == (0, 3)
    assert sorted(path.name for path in place.root.glob("[!.]*")) == [
        "config.json", "generation_config.json", "model.safetensors.index.json",
    ]  # fmt: skip


def test_a_target_that_is_a_file(place: Place) -> None:
    place.root.parent.mkdir(parents=True)
    place.root.write_text("mine")
    code, end = place.run()
    assert (code, end["state"]) == (1, "not_a_directory")
    assert place.root.read_text() == "mine"


def test_an_unknown_size_is_never_downloaded(hub: FakeHub, place: Place) -> None:
    hub.faults.no_sizes = True
    code, end = place.run()
    assert (code, end["state"]) == (1, "sizes_unknown")
