"""token, download, verify, models as their user runs them, on this machine and a Hub on loopback."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import venv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from console.demo.hub import FakeHub, model_files
from tests.support.gpudeck import Gpudeck
from tests.support.hub import BOB, CANARIES, GOOD, WRONG, new_hub, whole
from tests.support.jobbox import JobBox, until
from tests.support.laptop import Laptop

TARGET, DRAFTER = "moonshotai/Kimi-K2.6", "z-lab/Kimi-K2.6-DFlash"
SHARD = "model-00002-of-00004.safetensors"
MIB = 1 << 20


class Night:
    """A console on this machine whose Hub is the fake one; `models` is where repositories go."""

    def __init__(self, hub: FakeHub, root: Path) -> None:
        self.hub, self.gpudeck, self.models = hub, Gpudeck(Laptop(root)), root / "models"
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        self.env = {"HF_ENDPOINT": hub.endpoint, "HF_HOME": str(root / "hf"), "HOME": str(root), "PATH": path}

    def run(self, *words: str, stdin: str = "", **env: str) -> subprocess.CompletedProcess[str]:
        done = self.gpudeck.run(*words, stdin=stdin, **{**self.env, **env})  # type: ignore[arg-type]
        assert not any(canary in done.stdout + done.stderr for canary in CANARIES)
        return done

    def fetch(self, repo: str, *words: str, **env: str) -> subprocess.CompletedProcess[str]:
        return self.run("download", "local", repo, "--dir", str(self.models), "--accept", "tight", *words, **env)

    def start(self, *words: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            self.gpudeck.argv(*words), env=self.gpudeck.env | self.env, cwd=self.gpudeck.laptop.directory,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip

    def fetched(self) -> list[str]:
        return [path.rpartition("/")[2] for method, path, _ in self.hub.requests if method == "GET" and "/lfs/" in path]

    def running(self, kind: str) -> bool:
        """Whether a job of this kind runs, by its record."""
        jobs = (self.gpudeck.home / "state" / "gpudeck" / "jobs").glob(f"{kind}-*/job.json")
        return any(not (job.parent / "exit.json").exists() for job in jobs)

    def stored_bytes(self) -> int:
        temporary = self.models.glob("*/.cache/huggingface/download/*.incomplete")
        return sum(file.stat().st_size for file in [*self.models.glob("*/*.safetensors"), *temporary])


@pytest.fixture
def night(tmp_path: Path) -> Iterator[Night]:
    hub = new_hub()
    hub.add(TARGET, model_files(4, 2 * MIB))
    hub.add(DRAFTER, model_files(1, MIB, seed=7), gate="manual")
    with hub:
        one = Night(hub, tmp_path)
        yield one
        JobBox(one.gpudeck.home / "state").clear()


def test_a_token_is_proved_written_and_found_nowhere_else(night: Night, tmp_path: Path) -> None:
    record = tmp_path / "record.jsonl"
    done = night.run("token", "local", "set", "--record", str(record), stdin=BOB + "\n")
    assert (done.returncode, "bob" in done.stdout) == (0, True)
    refused = night.run("token", "local", "set", stdin=GOOD)
    assert (refused.returncode, "bob" in refused.stderr, "--yes" in refused.stderr) == (2, True, True)
    torn = night.run("token", "local", "set", "--yes", stdin=f"{GOOD}\n{WRONG}\n")
    assert (torn.returncode, "line break" in torn.stderr) == (2, True)
    assert night.run("token", "local", "set", "--yes", stdin=WRONG).returncode == 5
    shown = night.run("token", "local", "status", "--json", HF_TOKEN=GOOD)
    assert json.loads(shown.stdout)["token"] == {
        "state": "valid", "source": "env:HF_TOKEN", "who": "alice", "role": "read",
    }  # fmt: skip
    kept = [file for file in tmp_path.rglob("*") if file.is_file() and BOB in file.read_text(errors="replace")]
    assert kept == [tmp_path / "hf" / "token"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("https://huggingface.co/org/model/tree/main",), "did you mean org/model"),
        (("org /model",), "owner/name"),
        (("../etc",), "owner/name"),
        (("org/model; rm -rf /",), "owner/name"),
        (("org/model", "--dir", "models"), "absolute path"),
        (("org/model", "--dir", "/m", "--path", "/m/x"), "exclude each other"),
        (("org/model",), "--dir or --path"),
    ],
)
def test_what_cannot_be_a_repository_or_a_place(night: Night, words: tuple[str, ...], said: str) -> None:
    done = night.run("download", "local", *words)
    assert (done.returncode, said in done.stderr, done.stderr.count("\n")) == (2, True, 1)


def test_gates_end_a_download_before_it_begins(night: Night, tmp_path: Path) -> None:
    gated = night.fetch(DRAFTER)
    assert (gated.returncode, "GatedRepo" in gated.stderr) == (5, False)
    assert f"Open {night.hub.endpoint}/{DRAFTER} " in gated.stderr  # the Hub that the box asked
    would = night.fetch("no/such", "--dry-run")
    assert (would.returncode, "unknown: its files were not listed" in would.stdout) == (5, True)
    data = json.loads(night.fetch("no/such", "--dry-run", "--json").stdout)
    assert (data["missing_files"], data["have_bytes"]) == (None, None)
    assert night.fetch(TARGET, "--revision", "v9").returncode == 1
    assert night.fetch(TARGET, HF_ENDPOINT="http://127.0.0.1:9").returncode == 3
    night.models.write_text("a file")
    blocked = night.fetch(TARGET)
    assert (blocked.returncode, "is a file" in blocked.stderr) == (4, True)
    assert night.models.read_text() == "a file"


@pytest.mark.slow
def test_a_home_directory_is_the_boxs(night: Night, tmp_path: Path) -> None:
    done = night.run("download", "local", TARGET, "--dir", "~/m $(id)'\n", "--accept", "tight", "--json")
    assert (done.returncode, json.loads(done.stdout)["path"]) == (0, f"{tmp_path}/m $(id)'␊/Kimi-K2.6"), done.stderr
    assert night.run("verify", "local", TARGET, "--dir", "~/m $(id)'\n").returncode == 0
    assert not list(tmp_path.rglob("~*"))


def test_the_command_line_stands_above_the_recipe(night: Night) -> None:
    (night.gpudeck.laptop.directory / "gpudeck.toml").write_text(f'[recipes.r]\nmodel = "{TARGET}"\npath = "/x/y"')
    mounts = []
    for words in ((), ("--dir", "/dev/shm/models")):
        gates = json.loads(night.run("preflight", "local", "r", *words, "--json").stdout)["gates"]
        mounts += [gate["subject"] for gate in gates if gate["name"] == "disk"]
    assert (len(mounts), mounts[0] != mounts[1], mounts[1]) == (2, True, "/dev/shm")
    for words, said in (
        (("--dir", "models"), "absolute"),
        (("--draft", "a b"), "repository id"),
        (("--tp", "2"), "--tp"),
    ):
        done = night.run("preflight", "local", "r", *words)
        assert (done.returncode, said in done.stderr, done.stderr.count("\n")) == (2, True, 1), done.stderr


@pytest.mark.slow
def test_a_box_without_the_library_is_told_what_to_install(night: Night, tmp_path: Path) -> None:
    venv.EnvBuilder(symlinks=True, with_pip=False).create(tmp_path / "bare")
    bare = str(tmp_path / "bare" / "bin" / "python")
    for words in ((), ("--dry-run",)):
        done = night.fetch(TARGET, "--python", bare, *words)
        said = f"{bare} -m pip install 'huggingface_hub>=0.36,<3'"
        assert (done.returncode, said in done.stderr, "asked from this laptop" in done.stderr) == (1, True, True)
    assert not night.models.exists()
    unproved = night.run("verify", "local", TARGET, "--dir", str(night.models), "--python", bare)
    assert (unproved.returncode, f"{bare} has no huggingface_hub" in unproved.stderr) == (1, True), unproved.stderr


@pytest.mark.slow
def test_what_is_selected_and_what_a_dummy_start_needs(night: Night) -> None:
    nothing = night.fetch(TARGET, "--include", "*.nope")
    assert (nothing.returncode, "No file" in nothing.stderr) == (1, True)
    (night.gpudeck.laptop.directory / "gpudeck.toml").write_text(
        f'[recipes.r]\nmodel = "{TARGET}"\ndir = "{night.models}"\nargs = {{ load-format = "dummy" }}\n'
    )
    gates = json.loads(night.run("preflight", "local", "r", "--json").stdout)["gates"]
    (disk,) = (gate for gate in gates if gate["name"] == "disk")
    assert disk["numbers"]["need_bytes"] < MIB
    where = ("verify", "local", TARGET, "--dir", str(night.models))
    would = night.run(*where, "--dry-run")
    assert (would.returncode, "now none" in would.stdout, night.running("verify")) == (0, True, False)
    assert (night.run(*where).returncode, night.models.exists()) == (7, False)
    part = night.fetch(TARGET, "--exclude", "*.safetensors")
    assert (part.returncode, "index" in part.stderr) == (0, False), part.stderr
    assert [model["proof"] for model in models_of(night)] == ["dummy"]


@pytest.mark.slow
def test_the_night(night: Night, tmp_path: Path) -> None:
    """Gated, accepted, killed at 40 %, adopted, complete, truncated by hand, named, repaired, deleted."""
    night.run("token", "local", "set", stdin=BOB)
    assert night.fetch(DRAFTER).returncode == 5
    night.hub.repos[DRAFTER].standings["bob"] = "accepted"
    assert night.fetch(DRAFTER).returncode == 0

    night.hub.faults.paths, night.hub.faults.rate_bytes_s = (SHARD, "4-of-00004.safetensors"), 0.05 * MIB
    job = json.loads(night.fetch(TARGET, "--detach").stdout)["job"]
    until(lambda: night.stored_bytes() > 0.4 * 8 * MIB, "two fifths of the target")
    assert night.run("jobs", "local", "stop", job).returncode == 0
    assert night.run("wait", "local", "job", job).returncode == 1

    console = night.start("download", "local", TARGET, "--dir", str(night.models), "--accept", "tight")
    until(lambda: night.running("download"), "the second download")
    console.send_signal(signal.SIGKILL)
    console.communicate()
    night.hub.faults.rate_bytes_s = 0.0
    adopted = night.fetch(TARGET)
    assert (adopted.returncode, "proved" in adopted.stdout) == (0, True)

    shard = night.models / "Kimi-K2.6" / SHARD
    size = shard.stat().st_size
    os.truncate(shard, 1000)
    found = night.run("verify", "local", TARGET, "--dir", str(night.models), "--json")
    (bad,) = json.loads(found.stdout)["bad"]
    assert (found.returncode, bad["kind"], bad["expected_bytes"], bad["actual_bytes"]) == (7, "truncated", size, 1000)
    night.hub.requests.clear()
    assert night.fetch(TARGET).returncode == 0
    assert night.fetched() == [SHARD]

    with shard.open("rb"):
        assert night.run("models", "local", "rm", str(shard.parent), "--yes").returncode == 4
    assert night.run("models", "local", "rm", str(shard.parent), "--yes").returncode == 0
    assert not shard.parent.exists()


def models_of(night: Night) -> Any:
    return json.loads(night.run("models", "local", "list", "--dir", str(night.models), "--json").stdout)["models"]


def test_a_directory_of_ones_own_is_judged_by_its_headers(night: Night) -> None:
    place = night.models / "mine"
    place.mkdir(parents=True)
    for name, content in model_files(2, 1000).items():
        (place / name).write_bytes(whole(content))
    assert night.run("verify", "local", str(place)).returncode == 0
    (model,) = models_of(night)
    assert (model["proof"], model["repo"]) == ("names_sizes", None)
    os.truncate(place / "model-00002-of-00002.safetensors", 900)
    assert night.run("verify", "local", str(place)).returncode == 7
