"""A console at work when something breaks: real sshd, a proxy before it, fake GPUs, a job that runs on the box."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import json
import re
import shutil
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from textual.pilot import Pilot

from console.app import ConsoleApp
from console.cli.follow import follow
from console.config import Config, HostConfig, Settings
from console.events import Event
from console.journal import Recording
from console.session.live import LiveSession
from console.session.replay import Replay
from console.session.ways import Ways
from console.values import known
from console.views.jobs import find_job
from console.workers.jobs import Started
from tests.support.fakes import Fleet
from tests.support.fault_log import limit
from tests.support.frames import frame
from tests.support.jobbox import JobBox, record
from tests.support.laptop import Laptop
from tests.support.patience import PATIENCE_S
from tests.support.proxy import Proxy, proxy
from tests.support.sshd import Sshd, User, sshd
from tests.support.wire import BOX, Wire

COUNT = """
import json, os, time
file = os.open(os.environ["GPUDECK_JOB_DIR"] + "/progress.ndjson", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
for number in range(100000):
    data = json.dumps({"n": number}).encode() + b"\\n"
    while data:
        try:
            data = data[os.write(file, data):]
        except OSError:
            time.sleep(0.05)
    time.sleep(0.1)
"""
MARK = "GPUDECK_FAULT_SCENE"
READS = ("Get", "nvmlInit", "nvmlShutdown", "nvmlErrorString", "EventSet", "RegisterEvents", "Validate")


def marked(mark: str) -> dict[int, str]:
    """The processes of a scene's box, its sshd aside, with their command lines."""
    found = {}
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if f"{MARK}={mark}".encode() in (process / "environ").read_bytes().split(b"\0"):
                found[int(process.name)] = (
                    (process / "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
                )
    return {pid: words for pid, words in found.items() if words and "sshd" not in words}


def guards(pid: int) -> bool:
    """Whether this is the process beside an agent that sees to its end."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/comm").read_text() == "gpudeck-guard\n"
    return False


class BoxSide:
    """What is on the box: its server, its home, its GPUs, a job of an earlier day that goes on counting."""

    def __init__(self, server: Sshd, place: Path, someone: User | None, fleet: Fleet | None) -> None:
        self.server, self.place, self.user, self.fleet = server, place, someone, fleet
        self.home = someone.home if someone else place
        self.mark = place.name
        self.options: list[str] = []
        self.inside: Sequence[str] = ()
        self.wire: Wire | None = None
        self.variables = {MARK: self.mark, "HOME": str(self.home)}
        self.jobs = JobBox(self.home / ".local" / "state")
        self.jobs.env = self.jobs.env | self.variables
        self.python = sys.executable
        if someone:  # who may not look into our own directories
            self.python = shutil.which("python3", path="/usr/local/bin:/usr/bin:/bin") or "python3"
            self.jobs.prefix = ("runuser", "-u", someone.name, "--", self.python, *self.jobs.prefix[1:])
        self.job = Path()

    def switch_on(self) -> None:
        """Start sshd as it is configured now."""
        variables = " ".join(f'"{name}={value}"' for name, value in self.variables.items())
        self.server.start(*self.options, f"SetEnv {variables}", inside=self.inside)

    def plug(self, wire: Wire) -> None:
        """Its server runs at the other end of the cable."""
        self.wire, self.inside, self.server.address = wire, wire.inside, BOX

    def work(self) -> None:
        self.job = self.jobs.run(self.python, "-c", COUNT)

    @property
    def counted(self) -> list[int]:
        """What the job has written so far."""
        text = (self.job / "progress.ndjson").read_text()
        return [json.loads(line)["n"] for line in text.splitlines(keepends=True) if line.endswith("\n")]

    def agents(self) -> list[int]:
        """The agents that run now: what is ours, belongs to no job, and guards no agent."""
        return [pid for pid in self._ours() if not guards(pid)]

    def _ours(self) -> list[int]:
        kept = record(self.job)
        return [pid for pid in marked(self.mark) if pid not in (kept["pid"], kept["runner_pid"])]

    async def ended(self, pids: Sequence[int]) -> None:
        """Wait until none of these processes is there, nor the guard of an agent that is gone."""
        async with asyncio.timeout(PATIENCE_S):
            while set(pids) & marked(self.mark).keys() or len(self._ours()) > 2 * len(self.agents()):  # noqa: ASYNC110
                await asyncio.sleep(0.05)

    def left(self) -> list[str]:
        """What is there and must not be: processes, files, calls that change a GPU. For after the console's end."""
        kept = [f"process {pid}: {marked(self.mark).get(pid)}" for pid in self._ours()]
        state = self.jobs.root.parent
        kept += [f"file {path}" for path in state.iterdir() if path.name != "jobs"]
        kept += [f"file {path}" for path in (state / "jobs").iterdir() if path not in (self.job, state / "jobs/.lock")]
        calls = set(self.fleet.calls()) if self.fleet else set()
        return kept + [f"call {name}" for name in calls if not any(word in name for word in READS)]


@dataclass
class Scene:
    """`says` waits for words on the screen; everything else is there to be broken. A box on a wire has no proxy."""

    box: BoxSide
    between: Proxy
    laptop: Laptop
    session: LiveSession
    app: ConsoleApp
    pilot: Pilot[Any]
    names: list[str]
    lines: list[int] = field(default_factory=list)

    async def says(self, words: Sequence[str], within_s: float) -> float:
        """Wait until all words (regular expressions) are on the screen at once; how long it took."""
        began = time.monotonic()

        def seen() -> bool:
            screen = self.screen
            return all(re.search(word, screen) for word in words)

        await self.until(seen, limit(within_s), f"{words} on the screen")
        return time.monotonic() - began

    @property
    def screen(self) -> str:
        return frame(self.app)

    async def until(self, test: Callable[[], object], within_s: float, what: str = "") -> None:
        try:
            async with asyncio.timeout(within_s):
                while not test():
                    if self.session.failure is not None:
                        raise self.session.failure
                    await asyncio.sleep(0.05)
        except TimeoutError:
            raise AssertionError(f"not within {within_s:g} s: {what or test}\n{self.screen}") from None

    async def healthy(self, within_s: float = PATIENCE_S) -> None:
        """All is known again, as of now: link, GPUs, the job with its identity."""
        now = self.session.now()
        for name in self.names:
            await self.until(lambda name=name: self._whole(name, now), within_s, f"{name} whole again")  # type: ignore[misc]

    def _whole(self, name: str, since: float) -> bool:
        host = self.session.state.hosts[name]
        job = find_job(host, self.box.job.name)
        fresh = known(host.link.heard_t) and host.link.heard_t > since and host.link.state == "up"
        told = self.box.fleet is None or (known(host.hardware.gpus) and len(host.hardware.gpus) == 8)
        kept = record(self.box.job)
        return fresh and told and job is not None and (job.state, job.pid) == ("running", kept["pid"])

    def follow(self) -> asyncio.Task[Any]:
        """Follow the job as a command does; each line that is told goes to `lines`."""
        job = find_job(self.session.state.hosts[self.names[0]], self.box.job.name)
        assert job is not None
        started = Started(**{name: getattr(job, name) for name in Started.__struct_fields__})
        told: Callable[[dict[str, Any]], None] = lambda line: self.lines.append(line["n"])  # noqa: E731
        return asyncio.create_task(follow(self.session, self.names[0], started, told, None))


@contextlib.contextmanager
def box_side(
    someone: User | None = None, *, gpus: bool = True, prepare: Callable[[BoxSide], None] = lambda box: None
) -> Iterator[BoxSide]:
    """A box that is switched on; its job ends with it, and its files."""
    place = Path(tempfile.mkdtemp(prefix="gpudeck-scene-"))
    place.chmod(0o755)
    try:
        with sshd() as server:
            box = BoxSide(server, place, someone, Fleet(place) if gpus else None)
            prepare(box)
            box.work()
            try:
                box.switch_on()
                yield box
            finally:
                box.jobs.clear()
    finally:
        shutil.rmtree(place, ignore_errors=True)


@contextlib.asynccontextmanager
async def scene(
    tmp_path: Path,
    *,
    someone: User | None = None,
    gpus: bool = True,
    prepare: Callable[[BoxSide], None] = lambda box: None,
    consoles: int = 1,
) -> AsyncIterator[Scene]:
    """A box and a console that watches it, about to connect; at the end everything is gone but the record."""
    with box_side(someone, gpus=gpus, prepare=prepare) as box:
        async with proxy(box.server.port) as between, _console(tmp_path, box, between, consoles) as one:
            yield one


@contextlib.asynccontextmanager
async def _console(tmp_path: Path, box: BoxSide, between: Proxy, count: int) -> AsyncIterator[Scene]:
    laptop = Laptop(tmp_path)
    user = box.user.name if box.user else "root"
    key = laptop.key("id_box")
    address, port = (box.server.address, box.server.port) if box.wire else ("127.0.0.1", between.port)
    options = (f"HostName {address}", "ConnectTimeout 4")
    box.server.authorize(Path(f"{key}.pub"), user)
    laptop.trust(box.server.known_hosts_line(f"[{address}]:{port}"))
    names = [laptop.host("box" if at == 0 else f"box{at}", port, key, user, *options) for at in range(count)]
    env = box.fleet.env() if box.fleet else {}
    hosts = {name: HostConfig(name=name, ssh=name, env=env) for name in names}
    config = Config(settings=Settings(ssh_config=str(laptop.config)), hosts=hosts, origins={})
    async with contextlib.AsyncExitStack() as resources, LiveSession(Ways(config, None, None, resources)) as session:
        for name in names:
            session.add(hosts[name])
        session.record_to(tmp_path / "record.jsonl")
        app = ConsoleApp(session)
        async with app.run_test(size=(120, 40)) as pilot:
            yield Scene(box, between, laptop, session, app, pilot, names)
    gc.collect()


def check_record(path: Path, session: LiveSession) -> list[Event]:
    """No fact is lost or doubled, and the file tells the state in which the console ended. All facts."""
    recording = Recording(path)
    facts = list(recording.facts())
    assert [stamped.seq for stamped in facts] == list(range(1, session.state.seq + 1))
    assert recording.warnings == []
    replay = Replay(path)
    replay.advance()
    assert replay.state == session.state
    return [stamped.event for stamped in facts]
