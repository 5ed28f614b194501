"""The same helper under older generations of the library, each in an environment made for it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from console.demo.hub import FakeHub, model_files
from tests.support.hub import BOB, EXPIRED, GOOD, SCOPED, WRONG, Job, ask_one, environment, new_hub

REPO, GATED = "moonshotai/Kimi-K2.6", "z-lab/Kimi-K2.6-DFlash"
MIB = 1 << 20
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module", params=["0.36.2", "1.33.0"])
def python(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> str:
    """An interpreter with this generation of huggingface_hub."""
    place = tmp_path_factory.mktemp("venv") / request.param
    python = str(place / "bin" / "python")
    wanted = f"huggingface_hub[hf_xet]=={request.param}"
    install = [python, "-m", "pip", "install", "-q", "--disable-pip-version-check", wanted]
    for command in ([sys.executable, "-m", "venv", str(place)], install):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            said = (done.stderr + done.stdout).strip()
            pytest.skip(f"{wanted} cannot be installed here: {said[-200:]}")
    return python


@pytest.fixture
def hub() -> Iterator[FakeHub]:
    hub = new_hub()
    hub.page = 3
    hub.add(REPO, model_files(3, 2 * MIB))
    hub.add(GATED, model_files(1, MIB, seed=7), gate="manual")
    with hub:
        yield hub


def test_access_and_manifest(python: str, hub: FakeHub, tmp_path: Path) -> None:
    def state(repo: str, token: str | None, revision: str = "main", **env: str) -> str:
        request = {"op": "repo", "repo": repo, "revision": revision}
        return str(ask_one(request, environment(hub, tmp_path, token, **env), python)["access"]["state"])

    answer = ask_one({"op": "repo", "repo": REPO}, environment(hub, tmp_path), python)
    files = hub.repos[REPO].files()
    assert {file["path"]: file["size"] for file in answer["files"]} == {path: item.size for path, item in files.items()}
    assert (answer["access"]["state"], answer["index"]["total_size"]) == ("ready", 6 * MIB)
    assert state(GATED, None) == "login_required"
    assert state(GATED, BOB) == "request_needed"
    assert state(GATED, SCOPED) == "token_scope"
    assert state(REPO, WRONG) == state(REPO, EXPIRED) == "token_invalid"
    assert state("no/such", GOOD) == "not_visible_to_user"
    assert state("no/such", None) == "missing_or_private"
    assert state(REPO, None, "v9") == "revision_missing"
    assert state(REPO, None, HF_ENDPOINT="http://127.0.0.1:9") == "unreachable_refused"
    assert state(REPO, None, HF_HUB_OFFLINE="1") == "offline_mode"
    hub.repos[GATED].standings["bob"] = "accepted"
    assert state(GATED, BOB) == "ready"


def test_tokens(python: str, hub: FakeHub, tmp_path: Path) -> None:
    def state(token: str | None) -> str:
        return str(ask_one({"op": "token_status"}, environment(hub, tmp_path, token), python)["state"])

    assert [state(token) for token in (None, "", GOOD, WRONG, EXPIRED)] == [
        "absent", "empty", "valid", "rejected", "rejected",
    ]  # fmt: skip
    written = ask_one({"op": "token_set", "token": GOOD}, environment(hub, tmp_path), python)
    assert (written["written"], written["used"]["who"]) == (True, "alice")


@pytest.mark.parametrize("xet", [False, True], ids=["http", "xet"])
def test_download_verify_and_pause(python: str, hub: FakeHub, tmp_path: Path, xet: bool) -> None:
    hub.xet = xet
    job, root = tmp_path / "job", tmp_path / "models" / "K2"
    job.mkdir()
    config = {"env": environment(hub, tmp_path / "hf"), "repo": REPO, "path": str(root), "backoff_s": 0.05}
    code, end = Job({"job": "download", **config}, python, job).end(120.0)
    assert (code, end["result"], end["ok"]) == (0, "ok", 9)
    shard = root / "model-00001-of-00003.safetensors"
    with shard.open("r+b") as file:
        file.truncate(5)
    code, end = Job({"job": "verify", **config}, python, job).end()
    assert (code, [item["kind"] for item in end["bad"]]) == (7, ["truncated"])
    hub.faults.paths, hub.faults.rate_bytes_s = ("model-00001-of-00003.safetensors",), 0.0 if xet else 1.0 * MIB
    again = Job({"job": "download", **config}, python, job)
    if not xet:
        again.wait_for(lambda line: bool(line.get("in_flight")))
        (job / "pause").touch()
        again.wait_for(lambda line: line["phase"] == "draining")
        again.wait_for(lambda line: line["phase"] == "end")  # the one file in flight was the last one
    code, end = again.end(120.0)
    assert (code, end["result"]) == (0, "ok")
