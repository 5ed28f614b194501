"""The worker on a real agent of this machine: facts, fallback, claims, watching."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest

from console.config.records import HostConfig
from console.demo.hub import FakeHub, model_files, text
from console.events import Event, Stamped
from console.events import hub as facts
from console.payloads.hub.child import answered
from console.remote.local import open_local_agent
from console.state import HostState, State, reduce
from console.values import clean, known
from console.values.secrets import Secret
from console.views.jobs import find_job
from console.workers import jobs
from console.workers.box import Box
from console.workers.hub import HubError, Want, check_token, look, place_of, read_inventory
from console.workers.hub_gates import config_of, hub_gates, listing_of
from console.workers.hub_jobs import Transfer, spec_of
from console.workers.hub_watch import HubWatch
from console.workers.hub_wishes import ask_again, put_token, verify_all
from console.workers.looks import Looks
from tests.support.hub import BOB, GOOD, WRONG, environment, new_hub
from tests.support.jobbox import JobBox
from tests.support.patience import PATIENCE_S

TARGET, DRAFTER, CODED = "moonshotai/Kimi-K2.6", "z-lab/Kimi-K2.6-DFlash", "org/coded"
MIB = 1 << 20


@pytest.fixture
def hub() -> Iterator[FakeHub]:
    hub = new_hub()
    hub.add(TARGET, model_files(4, MIB))
    hub.add(DRAFTER, model_files(1, MIB, seed=7), gate="manual")
    config = {"model_type": "odd", "auto_map": {"AutoConfig": "configuration_odd.OddConfig"}}
    hub.add(CODED, {**model_files(1, 1000, seed=3, config=config), "configuration_odd.py": text("print()\n")})
    with hub:
        yield hub


def shell(*words: str) -> bool:
    """Whether the program ended well."""
    return subprocess.run(words, check=False, capture_output=True).returncode == 0


class Scene:
    """A connected box, and the state that its facts make."""

    def __init__(self, box: Box, state: State, told: list[Event]) -> None:
        self.box, self.state, self.told = box, state, told
        self.heard = asyncio.Event()
        self.looks = Looks(box.name)

    @property
    def host(self) -> HostState:
        return self.state.hosts[self.box.name]

    async def until(self, condition: Callable[[], object], seconds: float = PATIENCE_S) -> None:
        """Wait until the facts have made it true."""
        async with asyncio.timeout(seconds):
            while not condition():
                self.heard.clear()
                await self.heard.wait()

    def phase(self, repo: str) -> str:
        """Where the download of a repository is."""
        entry = self.host.hub.repos.get(clean(repo))
        return entry.download.phase if entry and entry.download else ""

    def told_of(self, kind: type[Event]) -> bool:
        """Whether such a fact came."""
        return any(isinstance(event, kind) for event in self.told)


@pytest.fixture
async def scene(hub: FakeHub, tmp_path: Path) -> AsyncIterator[Scene]:
    env = environment(hub, tmp_path / "hf", BOB, XDG_STATE_HOME=str(tmp_path / "state"))
    agent = await open_local_agent(sys.executable, env)
    state, told = State(hosts={"box": HostState("box")}), []
    config = HostConfig(name="box", ssh="box", env=env, dir=str(tmp_path / "models"), python=sys.executable)

    def publish(event: Event) -> None:
        told.append(event)
        stamped = Stamped(seq=len(told), t=float(len(told)), event=event)
        reduce(state, stamped)
        here.looks.hear(stamped)
        here.heard.set()

    here = Scene(Box("box", agent, publish, config), state, told)
    yield here
    await agent.close()
    JobBox(tmp_path / "state").clear()


def wants(tmp_path: Path, *repos: str) -> list[Want]:
    return [Want(repo=repo, path=str(tmp_path / "models" / repo.rpartition("/")[2])) for repo in repos]


async def test_target_and_drafter_in_one_look(scene: Scene, hub: FakeHub, tmp_path: Path) -> None:
    target, draft = await look(scene.box, place_of(scene.box), wants(tmp_path, TARGET, DRAFTER))
    assert (target.access.access, draft.access.access) == ("ready", "request_needed")
    assert (draft.access.who, draft.access.origin) == ("bob", "box")
    gates = hub_gates([target, draft], scene.host, trusted=False)
    assert [gate.verdict for gate in gates if gate.name == "access"] == ["pass", "block"]
    (disk,) = (gate for gate in gates if gate.name == "disk")
    sizes = sum(item.size for repo in (TARGET, DRAFTER) for item in hub.repos[repo].files().values())
    assert (disk.numbers["need_bytes"], disk.numbers["have_bytes"]) == (sizes, 0)
    assert {repo.id for repo in scene.host.hub.repos.values()} == {TARGET, DRAFTER}
    assert scene.host.hub.token_state == "valid"
    assert listing_of(target).total_bytes == sum(item.size for item in hub.repos[TARGET].files().values())


async def test_code_of_a_repository_is_asked_for_once(scene: Scene, tmp_path: Path) -> None:
    (looked,) = await look(scene.box, place_of(scene.box), wants(tmp_path, CODED))
    assert known(config_of(looked))

    def code(trusted: bool, accepted: frozenset[str] = frozenset()) -> tuple[str, str]:
        gate = next(
            g for g in hub_gates([looked], scene.host, trusted=trusted, accepted=accepted) if g.name == "remote_code"
        )
        return gate.verdict, gate.state

    gates = hub_gates([looked], scene.host, trusted=True)
    mark = next(gate.numbers["fingerprint"] for gate in gates if gate.name == "remote_code")
    assert code(False) == ("block", "refused")
    assert code(True) == ("block", "ask")
    assert code(True, frozenset({mark})) == ("pass", "trusted")
    assert code(False, frozenset({mark})) == ("block", "refused")


async def test_a_box_without_the_library_gets_this_laptops_answers(scene: Scene, hub: FakeHub, tmp_path: Path) -> None:
    bare = tmp_path / "bare"
    shell(sys.executable, "-m", "venv", "--without-pip", str(bare))
    place = place_of(scene.box, python=str(bare / "bin" / "python"))
    (looked,) = await look(scene.box, place, wants(tmp_path, TARGET))
    assert (looked.access.access, looked.access.origin) == ("ready", "laptop")
    assert looked.manifest is not None
    assert len(looked.manifest.files) == len(hub.repos[TARGET].files())
    assert "laptop" in looked.gate.sentence
    assert scene.host.hub.library_missing == clean(place.python)
    assert (await check_token(scene.box, place)).state == "unproved"


async def test_a_helper_that_cannot_run_is_one_sentence(scene: Scene) -> None:
    with pytest.raises(HubError, match="/nowhere/python"):
        await look(scene.box, place_of(scene.box, python="/nowhere/python"), [Want(repo=TARGET)])


async def test_a_running_download_claims_its_rest_and_is_followed(scene: Scene, hub: FakeHub, tmp_path: Path) -> None:
    hub.faults.paths, hub.faults.rate_bytes_s = (".safetensors",), 0.2 * MIB
    want, other = wants(tmp_path, TARGET, CODED)
    watching = asyncio.create_task(HubWatch(scene.host, looks_first=False).run(lambda: scene.box, scene.looks))
    frames = asyncio.create_task(_take_jobs(scene))
    started = await jobs.start(scene.box, spec_of("download", place_of(scene.box), Transfer(want=want)))
    await scene.until(lambda: scene.phase(want.repo) == "downloading")
    (looked,) = await look(scene.box, place_of(scene.box), [other])
    assert 3 * MIB < looked.claims.other_bytes < 5 * MIB
    with pytest.raises(jobs.JobRefusedError, match="download"):
        await jobs.start(scene.box, spec_of("download", place_of(scene.box), Transfer(want=want)))
    hub.faults.rate_bytes_s = 0.0
    await scene.until(lambda: scene.told_of(facts.RepoVerified))
    assert scene.host.hub.repos[clean(TARGET)].verified.result == "ok"  # type: ignore[union-attr]
    (model,) = await read_inventory(scene.box, place_of(scene.box), [str(tmp_path / "models")])
    assert (model.proof, model.repo) == ("sha256", TARGET)
    assert started.kind == "download"
    for task in (watching, frames):
        task.cancel()
    await asyncio.gather(watching, frames, return_exceptions=True)


@pytest.mark.slow
async def test_what_began_and_ended_between_two_looks_is_told(scene: Scene, hub: FakeHub, tmp_path: Path) -> None:
    (want,) = wants(tmp_path, TARGET)
    linked, looks = [scene.box], []

    def connected() -> Box | None:
        looks.append(scene.host.jobs.jobs)
        return linked[0] if linked else None

    frames = asyncio.create_task(_take_jobs(scene))
    watching = asyncio.create_task(HubWatch(scene.host, looks_first=False).run(connected, scene.looks))
    await scene.until(lambda: known(scene.host.jobs.jobs))
    seen = len(looks)
    while len(looks) < seen + 2:  # noqa: ASYNC110 - it has looked, and found nothing
        await asyncio.sleep(0.02)
    linked.clear()
    started = await jobs.start(scene.box, spec_of("download", place_of(scene.box), Transfer(want=want)))
    await scene.until(lambda: (job := find_job(scene.host, started.id)) and job.state == "exited")
    assert not scene.told_of(facts.RepoVerified)
    linked.append(scene.box)
    await scene.until(lambda: scene.told_of(facts.RepoVerified))
    for task in (watching, frames):
        task.cancel()
    await asyncio.gather(watching, frames, return_exceptions=True)


@pytest.mark.slow
async def test_a_download_that_is_stopped_is_no_longer_shown_as_one(scene: Scene, hub: FakeHub, tmp_path: Path) -> None:
    hub.faults.paths, hub.faults.rate_bytes_s = ("1.safetensors", "4.safetensors"), 0.02 * MIB
    (want,) = wants(tmp_path, TARGET)
    watching = asyncio.create_task(HubWatch(scene.host, looks_first=True).run(lambda: scene.box, scene.looks))
    frames = asyncio.create_task(_take_jobs(scene))
    started = await jobs.start(scene.box, spec_of("download", place_of(scene.box), Transfer(want=want)))
    await scene.until(lambda: scene.phase(want.repo) == "downloading")
    await jobs.stop(scene.box, started.id, 0.0)
    repo = scene.host.hub.repos[clean(TARGET)]
    await scene.until(lambda: repo.fell_short is not None and repo.stored is not None)
    assert (repo.download, repo.fell_short and repo.fell_short.state) == (None, "ended_early")
    assert (repo.stored and repo.stored.proof) == "partial"
    for task in (watching, frames):
        task.cancel()
    await asyncio.gather(watching, frames, return_exceptions=True)


async def _take_jobs(scene: Scene) -> None:
    """The job samples of the agent, as the link's worker would hand them on."""
    from console.workers.samples import fact_of

    async for frame in scene.box.agent.frames():
        if frame.k == "JobsSampled" and (fact := fact_of("box", frame.k, frame.d)):
            scene.box.publish(fact)


async def test_an_opened_gate_is_seen_and_told(scene: Scene, hub: FakeHub, tmp_path: Path) -> None:
    await look(scene.box, place_of(scene.box), wants(tmp_path, DRAFTER))
    repo = scene.host.hub.repos[clean(DRAFTER)]
    assert (repo.access and repo.access.access, repo.opened_t) == ("request_needed", None)
    hub.repos[DRAFTER].standings["bob"] = "accepted"
    watch = HubWatch(scene.host, looks_first=False, recheck_s=0.1)
    watching = asyncio.create_task(watch.run(lambda: scene.box, scene.looks))
    await scene.until(lambda: repo.opened_t is not None)
    watching.cancel()
    await asyncio.gather(watching, return_exceptions=True)
    assert repo.access is not None
    assert repo.access.access == "ready"


async def test_wishes_from_the_screen_answer_in_a_sentence(scene: Scene, hub: FakeHub, tmp_path: Path) -> None:
    assert await verify_all(scene.box, scene.host) == "Nothing on the box has a manifest to verify against."
    assert "rejects" in await put_token(scene.box, Secret(WRONG))
    assert "line break" in await put_token(scene.box, Secret(f"{GOOD}\n{BOB}"))
    said = await put_token(scene.box, Secret(GOOD))
    assert ("alice" in said, "HF_TOKEN" in said, GOOD in said) == (True, True, False)
    await look(scene.box, place_of(scene.box), wants(tmp_path, DRAFTER))
    hub.repos[DRAFTER].standings["bob"] = "accepted"
    assert await ask_again(scene.box, scene.host) == ""
    access = scene.host.hub.repos[clean(DRAFTER)].access
    assert access is not None
    assert access.access == "ready"


def test_a_mount_that_does_not_answer_holds_nobody() -> None:
    before = time.monotonic()
    assert answered(lambda: time.sleep(60), 0.2) == (None, "hang")
    assert time.monotonic() - before < 60.0


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting needs root")
async def test_a_really_full_and_a_read_only_disk(scene: Scene, hub: FakeHub, tmp_path: Path) -> None:
    place, mount = place_of(scene.box), tmp_path / "small"
    mount.mkdir()
    if not shell("mount", "-t", "tmpfs", "-o", "size=10m", "tmpfs", str(mount)):
        pytest.skip("this machine mounts nothing")
    try:
        hub.repos[TARGET].commit(model_files(4, 4 * MIB))
        want = Want(repo=TARGET, path=str(mount / "model"))
        (looked,) = await look(scene.box, place, [want])
        gate = next(gate for gate in hub_gates([looked], scene.host, trusted=False) if gate.name == "disk")
        assert (gate.verdict, gate.state, looked.disk and looked.disk.is_ram) == ("block", "no", True)
        started = await jobs.start(scene.box, spec_of("download", place, Transfer(want=want)))
        told = [line async for line in _to_the_end(scene.box, started.directory)]
        assert (told[-1]["result"], told[-1]["state"]) == ("failed", "disk_full")
        assert shell("mount", "-o", "remount,ro", str(mount))
        (looked,) = await look(scene.box, place, [want])
        gate = next(gate for gate in hub_gates([looked], scene.host, trusted=False) if gate.name == "disk")
        assert (gate.state, "read-only" in gate.sentence) == ("no", True)
    finally:
        shell("umount", "-l", str(mount))


async def _to_the_end(box: Box, directory: str) -> AsyncIterator[dict[str, object]]:
    async for line in jobs.progress(box, directory):
        yield line
        if line["phase"] == "end":
            return


async def test_no_token_in_any_command_line_or_fact(scene: Scene, hub: FakeHub, tmp_path: Path) -> None:
    hub.faults.delay_s = 0.15
    looking = asyncio.create_task(look(scene.box, place_of(scene.box, env={"HF_TOKEN": GOOD}), wants(tmp_path, TARGET)))
    seen = b""
    while not looking.done():
        for process in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                seen += process.read_bytes()
            except OSError:
                continue
        await asyncio.sleep(0.01)
    assert await looking
    assert GOOD.encode() not in seen
    assert GOOD not in repr(scene.told)
