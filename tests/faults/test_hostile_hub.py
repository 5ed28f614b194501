"""A Hub that attacks the terminal: file names, owners, configurations and the texts of its errors."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from console.demo.hub import FakeHub, User, model_files, text
from tests.hub.test_hub_commands import TARGET, Night
from tests.support.fault_log import tell
from tests.support.hostile import CORPUS, LINES, MARK, typed
from tests.support.hub import GOOD
from tests.support.jobbox import JobBox
from tests.support.pty_app import foreign, strays

TEXTS = [line.decode("utf-8", "replace") for line in LINES]
NAMES = [words.replace("/", "|").replace("\0", "")[:60] for words in TEXTS]


@pytest.fixture
def night(tmp_path: Path) -> Iterator[Night]:
    hub = FakeHub({GOOD: User(TEXTS[0])})
    config = {"architectures": [" ".join(TEXTS)], "model_type": TEXTS[1], "auto_map": {"AutoModel": TEXTS[2]}}
    hub.add(TARGET, model_files(1, 1000, config=config) | {f"{name}.json": text(name) for name in NAMES})
    with hub:
        one = Night(hub, tmp_path)
        one.env["HF_TOKEN"] = GOOD
        yield one
        JobBox(one.gpudeck.home / "state").clear()


def shown(night: Night, place: Path, *words: str, keys: str = "", marked: bool = True) -> bytes:
    """What a command writes to its terminal, which is harmless and tells, with `marked`, what is hostile."""
    first = MARK.encode() if keys else b""
    written = b"".join(typed(night.gpudeck.argv(*words), night.gpudeck.env | night.env, place, keys, first))
    assert not foreign(written)
    assert not strays(written)
    assert (MARK.encode() in written) == marked, written[-2000:]
    return written


@pytest.mark.slow
def test_a_hostile_hub(night: Night, tmp_path: Path) -> None:
    shown(night, tmp_path, "token", "local", "status")
    fetch = ("download", "local", TARGET, "--dir", str(night.models), "--accept", "tight")
    shown(night, tmp_path, *fetch, marked=False)
    (night.models / NAMES[2]).mkdir()
    for name, content in model_files(1, 10).items():
        (night.models / NAMES[2] / name).write_bytes(content.head)
    shown(night, tmp_path, "models", "local", "list", "--dir", str(night.models))
    for name in NAMES:
        os.truncate(night.models / "Kimi-K2.6" / f"{name}.json", 3)
    record = tmp_path / "record.jsonl"
    shown(night, tmp_path, "verify", "local", TARGET, "--dir", str(night.models), "--record", str(record))
    recipe = f'[recipes.r]\nmodel = "{TARGET}"\npath = {json.dumps(str(night.models / "Kimi-K2.6"))}\n'
    (tmp_path / "gpudeck.toml").write_text(recipe)
    shown(night, tmp_path, "preflight", "local", "r")
    night.hub.faults.status, night.hub.faults.status_left, night.hub.faults.paths = 403, 10**6, (TARGET, "main")
    for night.hub.faults.status_text in ("\n".join(TEXTS), *TEXTS[:3]):
        shown(night, tmp_path, *fetch, "--record", str(tmp_path / f"{len(list(tmp_path.iterdir()))}.jsonl"))
    shown(night, tmp_path, "local", keys="128q")
    recordings = [*tmp_path.glob("*.jsonl"), *tmp_path.rglob("recordings/*.jsonl")]
    assert len(recordings) >= 3
    assert not [path for path in recordings if foreign(path.read_bytes()) or strays(path.read_bytes())]
    words = "a Hub's file names, owner, configuration and errors, and a model's directory"
    tell("hostile Hub", f"{len(CORPUS)} kinds of hostile text as {words}", None, None, "none", "nothing")
