"""The all-reduce program with a torch that plays NCCL: done, refused, hung, missing."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from console.remote.bundle import STAGE0, bundle, frame

TORCH = """
import os, time
bfloat16 = "bf16"
class cuda:
    set_device = staticmethod(lambda number: None)
    synchronize = staticmethod(lambda: time.sleep(0.002))
def ones(count, dtype, device):
    return count
"""
DISTRIBUTED = """
import os, time
_rank = None
def init_process_group(backend, rank, world_size):
    global _rank
    _rank = rank
    if os.environ["PLAY"] == "refuse" and rank == 1:
        raise RuntimeError("NCCL error: unhandled system error")
def all_reduce(data):
    if os.environ["PLAY"] == "hang" and _rank == 0:
        time.sleep(600)
"""


@pytest.fixture
def packages(tmp_path: Path) -> Path:
    folder = tmp_path / "torch"
    folder.mkdir()
    (folder / "__init__.py").write_text(TORCH)
    (folder / "distributed.py").write_text(DISTRIBUTED)
    return tmp_path


def reduce(play: str, packages: Path | None, limit_s: float = 60.0) -> dict[str, Any]:
    env = {"PLAY": play} | ({"PYTHONPATH": str(packages)} if packages else {})
    request = {"uuids": ["GPU-a", "GPU-b", "GPU-c"], "limit_s": limit_s, "bytes": 1 << 20, "env": env}
    done = subprocess.run(
        [sys.executable, "-I", "-u", "-c", STAGE0],
        input=frame(bundle("console.payloads.allreduce", request)),
        capture_output=True,
        timeout=90,
    )
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def test_all_ranks_reach_the_end(packages: Path) -> None:
    answer = reduce("fine", packages)
    assert (answer["ranks"], answer["stage"], answer["hung"], answer["error"]) == (3, "done", False, "")
    assert answer["busbw_bytes_s"] > 0


def test_a_hang_is_named_with_its_stage_and_nothing_is_left(packages: Path) -> None:
    answer = reduce("hang", packages, limit_s=2.0)
    assert (answer["stage"], answer["hung"], answer["busbw_bytes_s"]) == ("init", True, None)


def test_a_refusal_ends_at_once_with_its_words(packages: Path) -> None:
    answer = reduce("refuse", packages)
    assert answer["hung"] is False
    assert "unhandled system error" in answer["error"]
    assert answer["took_s"] < 60


def test_without_torch() -> None:
    answer = reduce("fine", None)
    assert (answer["stage"], answer["hung"]) == ("import", False)
    assert "torch" in answer["error"]
