"""Sentences of the Hub's side: each with its numbers, none from an unknown."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from console.config.accepted import accept, accepted_file, read_accepted
from console.events import Event, Stamped
from console.events import hub as facts
from console.events.host import Disk, DisksSampled
from console.gates.remote_code import fingerprint
from console.state import State, reduce
from console.values import Unknown, clean, dump_json
from console.views.hub import index_sentence, repos_value, token_sentence, token_value, total_bytes
from console.views.hub_models import model_lines
from console.views.hub_transfers import download_sentence, drain_sentence, transfer_rows, verify_lines, verify_value

HOST, REPO, COMMIT = "box", clean("org/model"), clean("a" * 40)


def state_of(*events: Event) -> State:
    state = State()
    for number, event in enumerate(events, 1):
        reduce(state, Stamped(seq=number, t=float(number), event=event))
    return state


def manifest(*sizes: int | None, index: int | None = None, absent: tuple[str, ...] = ()) -> facts.ManifestRead:
    files = tuple(
        facts.ManifestFile(
            path=clean(f"model-{number}.safetensors"), size_bytes=Unknown("not said") if size is None else size,
            sha256=COMMIT, git_sha1=Unknown("an LFS file"),
        )
        for number, size in enumerate(sizes)
    )  # fmt: skip
    return facts.ManifestRead(
        host=HOST, repo=REPO, revision=clean("main"), commit=COMMIT, files=files,
        index_total_bytes=Unknown("no index") if index is None else index, index_absent=tuple(map(clean, absent)),
    )  # fmt: skip


def progress(**fields: object) -> facts.DownloadProgressed:
    base = {
        "total_bytes": 100_000_000_000, "present_bytes": 10_000_000_000, "rate_bytes_s": 24e6, "eta_s": 3750.0,
        "files": 10, "files_ok": 1, "phase": "downloading",
    }  # fmt: skip
    whole: dict[str, Any] = {**base, **fields}
    return facts.DownloadProgressed(
        host=HOST, job=clean("download-1"), repo=REPO, path=clean("/data/models/model"), **whole
    )


def disk(mount: str, available: int | Unknown) -> Disk:
    return Disk(
        mount=clean(mount), device=clean("x"), fstype=clean("ext4"), total_bytes=10**12, available_bytes=available,
        reserved_bytes=0, inodes_free=Unknown("not counted"), read_only=False, is_ram=False, state="ok",
    )  # fmt: skip


def test_unknown_sizes_are_counted_and_named_never_summed() -> None:
    assert total_bytes(manifest(5, 7)) == 12
    total = total_bytes(manifest(5, None, None))
    assert isinstance(total, Unknown)
    assert total.reason == "2 files without a size, first model-1.safetensors"


@pytest.mark.parametrize(
    ("read", "said"),
    [
        (manifest(1000, 1000, index=1990), ""),
        (manifest(1000, 1000), ""),
        (manifest(10**9, 10**9, index=10**9), "The index says 1.0 GB"),
        (manifest(10**9, index=2 * 10**9), "the files are 1.0 GB"),
        (manifest(1000, index=990, absent=("model-9.safetensors",)), "1 shards that are not there"),
    ],
)
def test_the_index_is_a_cross_check(read: facts.ManifestRead, said: str) -> None:
    assert said in index_sentence(read)
    assert bool(said) == bool(index_sentence(read))


def test_the_disk_that_fills_first_is_told_in_time() -> None:
    full = state_of(DisksSampled(host=HOST, disks=(disk("/", 10**12), disk("/data", 20_000_000_000))), progress())
    (row,) = transfer_rows(full.hosts[HOST])
    assert (row.kind, row.left) == ("fail", "full in 13 min 53 s")
    roomy = state_of(DisksSampled(host=HOST, disks=(disk("/", 10**9), disk("/data", 10**12))), progress())
    assert transfer_rows(roomy.hosts[HOST])[0].left == "1 h 2 min"
    blind = state_of(DisksSampled(host=HOST, disks=(disk("/data", Unknown("stuck")),)), progress())
    assert transfer_rows(blind.hosts[HOST])[0].kind == "busy"


def test_a_pause_and_a_stop_say_what_they_cost() -> None:
    flying = tuple(
        facts.InFlight(path=clean(f"f{number}"), bytes=4_000_000_000, size_bytes=9_000_000_000) for number in range(2)
    )
    said = drain_sentence(progress(in_flight=flying, rate_bytes_s=1e9))
    assert said == "2 files in flight: a pause finishes them in 10 s, a stop throws away 8.0 GB."
    assert "unknown" in drain_sentence(progress(in_flight=flying, rate_bytes_s=Unknown("nothing moved")))
    nothing = Unknown("not told")
    assert "unknown of unknown" in download_sentence(progress(present_bytes=nothing, total_bytes=nothing))


def test_a_verification_as_lines_and_data() -> None:
    bad = facts.BadFile(
        path=clean("m.safetensors"), kind="truncated", expected_bytes=5, actual_bytes=3, expected_sha256=COMMIT,
        actual_sha256=Unknown("not hashed"),
    )  # fmt: skip
    told = facts.RepoVerified(
        host=HOST, repo=REPO, commit=COMMIT, path=clean("/x"), result="mismatch", files=2, ok=1, bad=(bad,),
        total_bytes=10, present_bytes=8,
    )  # fmt: skip
    assert verify_lines(told)[1] == "  truncated  m.safetensors  3 bytes instead of 5"
    value = verify_value(told)
    assert '"actual_sha256":null,"actual_sha256_reason":"not hashed"' in dump_json(value["bad"][0])


def test_what_was_not_asked_is_null_with_its_reason() -> None:
    state = state_of(DisksSampled(host=HOST, disks=()))
    host = state.hosts[HOST]
    assert (token_value(host), repos_value(host)) == (Unknown("not asked yet"), Unknown("not checked yet"))
    asked = state_of(facts.InventoryRead(host=HOST, models=()))
    assert repos_value(asked.hosts[HOST]) == []
    assert model_lines(()) == ["No model is stored in the directories that the console knows."]


@pytest.mark.parametrize("state", ["absent", "empty", "malformed", "unproved", "rejected", "valid", "unreachable"])
def test_every_state_of_a_token_has_its_sentence(state: facts.TokenState) -> None:
    token = facts.TokenChecked(
        host=HOST, state=state, source=clean("env:HF_TOKEN"), who=clean("alice"), role=clean("read"),
        endpoint=clean("https://huggingface.co"), path=clean("/root/.cache/huggingface/token"), shape=clean("quotes"),
    )  # fmt: skip
    said = token_sentence(token)
    assert said.endswith(".")
    assert "  " not in said


def test_an_answer_of_the_hub_changes_what_is_known_of_the_token() -> None:
    nobody = Unknown("not proved")
    token = facts.TokenChecked(host=HOST, state="valid", source=clean("file"), who=clean("bob"), role=clean("read"))
    answer = facts.AccessChecked(host=HOST, repo=REPO, revision=clean("main"), access="token_invalid", commit=nobody)
    assert state_of(token, answer).hosts[HOST].hub.token_state == "rejected"


def test_what_was_accepted_is_kept_on_the_laptop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert read_accepted() == frozenset()
    code = (facts.CodeFile(path=clean("modeling.py"), sha256=clean("b" * 64)),)
    mark = fingerprint(REPO, COMMIT, code)
    accept(mark)
    accept("another")
    assert read_accepted() == {mark, "another"}
    assert accepted_file().stat().st_mode & 0o777 == 0o600
    assert fingerprint(REPO, clean("c" * 40), code) != mark
    assert fingerprint(REPO, COMMIT, (facts.CodeFile(path=clean("modeling.py"), sha256=Unknown("not fetched")),)) == ""
