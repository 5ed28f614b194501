"""The night on the demo box, over its real SSH server: gated, accepted, killed twice, adopted, broken, repaired.

The token is a canary: it may lie in its own file on the box, and nowhere else.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import threading
from collections.abc import AsyncIterator, Iterator
from functools import partial
from pathlib import Path
from urllib.request import urlopen

import pytest

from console.config import load_config
from console.demo.box import DemoBox, demo_box
from console.demo.shelf import DRAFT, TARGET, TOKEN
from console.session.live import LiveSession
from console.session.ways import Ways
from console.state.hub import Repo
from console.values import clean
from console.workers.hub import Want, look, place_of
from console.workers.hub_watch import HubWatch
from tests.support.gpudeck import Gpudeck
from tests.support.laptop import Laptop

SHARDS = tuple(f"{number}-of-00008.safetensors" for number in range(5, 9))
MIB = 1 << 20


class Canary:
    """Watches every command line of the machine for the token."""

    def __init__(self) -> None:
        self.seen: list[str] = []
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._over.wait(0.05):
            for process in Path("/proc").glob("[0-9]*/cmdline"):
                with contextlib.suppress(OSError):
                    if TOKEN.encode() in process.read_bytes():
                        self.seen.append(process.parent.name)

    def close(self) -> None:
        self._over.set()
        self._thread.join()


def holding(root: Path) -> list[Path]:
    """The files under a directory that hold the canary."""
    files = [file for file in root.rglob("*") if file.is_file() and not file.is_symlink()]
    return [file for file in files if TOKEN.encode() in file.read_bytes()]


class Night:
    """The demo box as the SSH alias `demo`, a host `box` that leads there, and a console session on it."""

    def __init__(self, box: DemoBox, gpudeck: Gpudeck, session: LiveSession) -> None:
        self.box, self.gpudeck, self.session = box, gpudeck, session

    async def run(self, *words: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        done = await asyncio.to_thread(self.gpudeck.run, *words, stdin=stdin)
        assert TOKEN not in done.stdout + done.stderr
        return done

    def start(self, *words: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            self.gpudeck.argv(*words), env=self.gpudeck.env, cwd=self.gpudeck.laptop.directory,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip

    @property
    def page(self) -> str:
        return f"{self.box.hub.endpoint}/{DRAFT}"

    @property
    def models(self) -> Path:
        return self.box.home / "models" / "Qwen3-Demo"

    def repo(self, name: str) -> Repo:
        return self.session.state.hosts["box"].hub.repo(clean(name))

    async def until(self, what: str, condition: object, seconds: float = 90.0) -> None:
        assert callable(condition)
        assert await self.session.wait(lambda _: bool(condition()), seconds), what

    def present(self, name: str) -> int:
        told = self.repo(name).download
        return told.present_bytes if told and isinstance(told.present_bytes, int) else 0


@pytest.fixture
def canary() -> Iterator[Canary]:
    watching = Canary()
    yield watching
    watching.close()


@pytest.fixture
async def night(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Night]:
    monkeypatch.setattr("console.session.live.HubWatch", partial(HubWatch, recheck_s=0.5))
    async with contextlib.AsyncExitStack() as resources:
        box = await resources.enter_async_context(demo_box())
        laptop = Laptop(tmp_path)
        laptop.config = box.ssh_config
        gpudeck = Gpudeck(laptop)
        gpudeck.config.write_text('[hosts.box]\nssh = "demo"\ndir = "~/models"\n')
        for name, value in gpudeck.env.items():
            monkeypatch.setenv(name, value)
        config = load_config(cwd=tmp_path, env=gpudeck.env)
        session = await resources.enter_async_context(LiveSession(Ways(config, None, None, resources)))
        session.looks_first = True
        session.add(config.host("box"))
        session.record_to(tmp_path / "night.jsonl")
        session.start()
        yield Night(box, gpudeck, session)


async def gate_opens(night: Night) -> None:
    """Without a token, with one, accepted: the watcher tells."""
    gated = await night.run("download", "box", DRAFT)
    assert (gated.returncode, f"Open {night.page} " in gated.stderr) == (5, True)
    assert (await night.run("token", "box", "set", stdin=TOKEN + "\n")).returncode == 0
    assert await night.session.ask_hub("box") == ""
    refused = await night.run("preflight", "box", "--model", TARGET, "--draft", DRAFT, "--tp", "1", "--json")
    gates = [gate for gate in json.loads(refused.stdout)["gates"] if gate["name"] == "access"]
    assert [gate["state"] for gate in gates] == ["ready", "request_needed"]
    shown = await night.run("download", "box", DRAFT, "--accept", "tight")
    assert (shown.returncode, "demo-user" in shown.stderr) == (5, True)


async def killed_twice_and_adopted(night: Night) -> None:
    """At 40 % the job is stopped; then the console is killed, and the job goes on."""
    faults = night.box.hub.faults
    faults.paths, faults.rate_bytes_s = SHARDS, 0.05 * MIB
    started = await night.run("download", "box", TARGET, "--accept", "tight", "--detach")
    job = json.loads(started.stdout)["job"]
    await night.until("two fifths", lambda: night.present(TARGET) > 0.4 * 32 * MIB)
    assert (await night.run("jobs", "box", "stop", job)).returncode == 0
    await night.until("the stop is shown", lambda: night.repo(TARGET).fell_short is not None)
    console = night.start("download", "box", TARGET, "--accept", "tight")
    await night.until("the second job is adopted", lambda: night.present(TARGET) > 0)
    console.send_signal(signal.SIGKILL)
    await asyncio.to_thread(console.wait)
    faults.rate_bytes_s = 0.0
    followed = await night.run("download", "box", TARGET, "--accept", "tight")
    assert (followed.returncode, "proved by hash" in followed.stdout) == (0, True), followed.stderr
    await night.until("the proof is seen", lambda: _proof(night.repo(TARGET)) == "sha256")


def _proof(repo: Repo) -> str:
    return repo.stored.proof if repo.stored else ""


async def truncated_and_repaired(night: Night) -> None:
    shard = night.models / "model-00002-of-00008.safetensors"
    stat = shard.stat()
    os.truncate(shard, 1000)
    os.utime(shard, ns=(stat.st_atime_ns, stat.st_mtime_ns))  # the old date does not help
    found = await night.run("verify", "box", TARGET)
    assert (found.returncode, f"1000 bytes instead of {stat.st_size}" in found.stdout) == (7, True), found.stdout
    night.box.hub.requests.clear()
    assert (await night.run("download", "box", TARGET, "--accept", "tight")).returncode == 0
    fetched = [
        path.rpartition("/")[2] for method, path, _ in night.box.hub.requests if method == "GET" and "/lfs/" in path
    ]
    assert fetched == [shard.name]


@pytest.mark.slow
async def test_the_night_on_the_demo_box(night: Night, canary: Canary, tmp_path: Path) -> None:
    assert await night.session.wait(lambda state: state.hosts["box"].hub.token is not None, 60)
    await gate_opens(night)
    connected = night.session.box("box")
    assert connected is not None
    await look(connected, place_of(connected), [Want(repo=DRAFT)])
    assert night.repo(DRAFT).opened_t is None
    (await asyncio.to_thread(urlopen, night.page, b"")).close()  # the button on its page
    await night.until("the opened gate is seen", lambda: night.repo(DRAFT).opened_t is not None)
    assert (await night.run("download", "box", DRAFT, "--accept", "tight")).returncode == 0
    await killed_twice_and_adopted(night)
    await truncated_and_repaired(night)
    listed = json.loads((await night.run("models", "box", "--json")).stdout)["models"]
    assert {(model["repo"], model["proof"]) for model in listed} == {(TARGET, "sha256"), (DRAFT, "sha256")}
    pictures, record = tmp_path / "pictures", tmp_path / "night.jsonl"
    shot = await night.run("--replay", str(record), "--svg", str(pictures))
    assert shot.returncode == 0, shot.stderr
    assert len(list(pictures.glob("*.svg"))) >= 8
    assert (await night.run("doctor", "box", "--bundle", str(tmp_path / "bundle.tar.gz"))).returncode in (0, 1)
    canary.close()
    assert canary.seen == []
    assert [file for file in holding(tmp_path) if file.name != "id_demo"] == []
    assert [file.name for file in holding(night.box.home)] == ["token"]
