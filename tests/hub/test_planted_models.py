"""What comes with a model leads nowhere else, ends, and breaks nothing: indexes, headers, proofs, listings."""

from __future__ import annotations

import json
import os
import resource
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from console.demo.hub import model_files, text
from console.payloads.hub import local, proof, strangers, verify
from console.payloads.hub.client import MOST_BYTES, Client
from console.payloads.introspect import headers
from tests.hub.test_hub_commands import TARGET, Night
from tests.support.hub import GOOD, new_hub
from tests.support.jobbox import JobBox

DEEP = b"[" * 50_000 + b"]" * 50_000
ENTRY = {"size": 1, "sha256": None, "git_sha1": "0" * 40, "proved": None}
PROOF = {"schema": 1, "repo": "a/b", "commit": "c", "verified": 1.0, "files": {"a.bin": ENTRY}, "bad": []}
INDEXES: dict[str, bytes] = {
    "deep": b'{"weight_map": ' + DEEP + b"}",
    "numbers": json.dumps({"weight_map": {"a": 5, "b": "x.safetensors"}}).encode(),
    "elsewhere": json.dumps({"weight_map": {"a": "../../../etc/passwd"}}).encode(),
    "a list": b"[]",
    "no map": b'{"weight_map": 7}',
}
PROOFS: dict[str, bytes] = {
    "deep": json.dumps(PROOF).encode()[:-1] + b', "x": ' + DEEP + b"}",
    "elsewhere": json.dumps({**PROOF, "files": {"../../.ssh/authorized_keys": ENTRY}}).encode(),
    "absolute": json.dumps({**PROOF, "files": {"/etc/passwd": ENTRY}}).encode(),
    "bad elsewhere": json.dumps({**PROOF, "bad": [{"path": "../x", "kind": "corrupt"}]}).encode(),
    "no entries": json.dumps({**PROOF, "files": {"a.bin": 5}}).encode(),
    "no sizes": json.dumps({**PROOF, "files": {"a.bin": {**ENTRY, "size": "x"}}}).encode(),
    "no list": json.dumps({**PROOF, "bad": 7}).encode(),
}


@pytest.fixture
def model(tmp_path: Path) -> Path:
    for name in ("config.json", "tokenizer.json"):
        (tmp_path / name).write_text("{}")
    return tmp_path


@pytest.mark.parametrize("name", INDEXES)
def test_an_index_that_lies_proves_nothing(name: str, model: Path) -> None:
    (model / "model.safetensors.index.json").write_bytes(INDEXES[name])
    assert local.proof(str(model), local.check(str(model))) in ("none", "dummy")
    assert list(verify.index_missing(str(model), set())) == []


@pytest.mark.parametrize("name", PROOFS)
def test_a_proof_that_somebody_brought_along_is_none(name: str, model: Path) -> None:
    file = Path(proof.path_of(str(model)))
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps(PROOF))
    assert proof.read(str(model)) == PROOF
    file.write_bytes(PROOFS[name])
    assert proof.read(str(model)) is None


PLANTS: dict[str, Callable[[Path], Any]] = {
    "device": lambda path: path.symlink_to("/dev/zero"),
    "pipe": os.mkfifo,
    "deep header": lambda path: path.write_bytes(struct.pack("<Q", len(DEEP) + 7) + b'{"x": ' + DEEP + b"}"),
    "strange header": lambda path: path.write_bytes(struct.pack("<Q", 11) + b'{"x": [1] }'),
}


@pytest.mark.parametrize("plant", PLANTS)
def test_a_shard_that_is_none(plant: str, model: Path) -> None:
    PLANTS[plant](model / "model.safetensors")
    assert local.proof(str(model), local.check(str(model))) in ("none", "dummy", "partial")
    (row,) = headers.read({"path": str(model)})["files"]
    assert row["expected_bytes"] is None
    assert row["problem"]


@pytest.mark.parametrize("plant", ["device", "pipe"])
def test_an_index_that_is_no_file(plant: str, model: Path) -> None:
    PLANTS[plant](model / "model.safetensors.index.json")
    assert local.check(str(model))["bad"]


@pytest.mark.parametrize("path", ["../x", "a/../../x", "/etc/passwd", "", "a//b", ".", "a/.", "a\0b", None, 5])
def test_names_that_lead_elsewhere(path: object) -> None:
    assert not strangers.inside(path)


@pytest.mark.parametrize("path", ["a", "a/b.safetensors", ".gitattributes", "a..b/c", "..."])
def test_names_that_do_not(path: str) -> None:
    assert strangers.inside(path)


def test_an_answer_without_end_takes_no_more_memory_than_it_may() -> None:
    before = resource.getrlimit(resource.RLIMIT_DATA)
    answer, refusal = Client({}).call(lambda: bytearray(MOST_BYTES + (1 << 20)))
    assert answer is None
    assert refusal is not None
    assert (refusal["state"], refusal["class"]) == ("unknown", "MemoryError")
    assert resource.getrlimit(resource.RLIMIT_DATA) == before
    assert Client({}).call(lambda: "whole")[0] == "whole"


@pytest.fixture
def night(tmp_path: Path) -> Iterator[Night]:
    with new_hub() as hub:
        one = Night(hub, tmp_path)
        one.env["HF_TOKEN"] = GOOD
        yield one
        JobBox(one.gpudeck.home / "state").clear()


@pytest.mark.slow
@pytest.mark.parametrize("path", ["../../victim", "a/../../../victim"])
def test_a_hub_that_names_a_file_elsewhere_deletes_nothing(night: Night, tmp_path: Path, path: str) -> None:
    """What differs from the listing is deleted and fetched again: nothing outside may be in the listing."""
    victim = tmp_path / "victim"
    victim.write_text("mine")
    night.hub.add(TARGET, {**model_files(1, 1000), path: text("theirs, longer")})
    for command, *accept in (("download", "--accept", "tight"), ("verify",)):
        done = night.run(command, "local", TARGET, "--dir", str(night.models), *accept)
        assert done.returncode not in (0, 124), done.stdout
        assert "outside of the repository" in done.stderr
    assert victim.read_text() == "mine"
