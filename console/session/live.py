"""The live session: links, workers, bus and recorder. It lives outside the Textual app."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from console import __version__
from console.bus import Bus
from console.config.edit import args_toml
from console.config.errors import ConfigError
from console.config.paths import runs_dir
from console.config.records import HostConfig, Recipe
from console.events import Event, Stamped
from console.events.bench import RunBegan
from console.events.jobs import JobAction
from console.events.link import NoteWritten, RecorderFailed, WorkerFailed
from console.journal import Header, Recorder, new_header
from console.session import recipes
from console.session.picker import Choice
from console.session.ways import Ways
from console.state import HostState, State, reduce
from console.supervisor import Supervisor
from console.values import CleanText, clean
from console.values.secrets import Secret, redact
from console.workers import jobs
from console.workers.bench_start import recipe_of, start_bench
from console.workers.bench_watch import BenchWatch
from console.workers.box import Box
from console.workers.deploy import adopt_server, check_recipe, deploy, read_older, stop_server
from console.workers.engine import flag_problem
from console.workers.hub_watch import HubWatch
from console.workers.hub_wishes import ask_again, put_token, remove_stored, verify_all
from console.workers.link import LinkWorker
from console.workers.looks import Looks
from console.workers.run_notes import RunNotes
from console.workers.runs_watch import RunsWatch
from console.workers.serve_watch import ServeWatch
from console.workers.tunnel import tunnel

if TYPE_CHECKING:
    from console.demo.box import DemoBox

RecipeWork = Callable[[Box, HostState, Recipe], Coroutine[Any, Any, None]]


class LiveSession:
    """Boxes by name. Leaving its `async with` cancels everything AND waits for it."""

    def __init__(self, ways: Ways, *, read_only: bool = False, demo: bool = False) -> None:
        """`ways` opens the boxes. Nothing connects before `start`."""
        self.header: Header = new_header(__version__, (), datetime.now(UTC))
        self.state = State()
        self.bus = Bus()
        self.demo = demo
        self.read_only = read_only
        self.supervisor = Supervisor(self._task_failed)
        self.failure: BaseException | None = None
        self.looks_first = False  # ask the Hub about token and models at each connection: a console does
        self.links: dict[str, LinkWorker] = {}
        self._ways = ways
        self._shelf = recipes.Shelf()
        self._notes = RunNotes(runs_dir())
        self._started = False
        self._watches_runs = False
        self._recorder: Recorder | None = None
        self._record_path: Path | None = None
        self._changed = asyncio.Event()
        self.bus.listen(self._reduce)
        self.bus.listen(self._note)

    @property
    def controls(self) -> LiveSession:
        """What only a live session can do."""
        return self

    def add(self, host: HostConfig) -> None:
        """Take a further box into the session; it connects at once when the session was started."""
        self.links[host.name] = LinkWorker(host, self.publish, self._ways)
        self.state.hosts[host.name] = HostState(host.name)
        self.header = new_header(__version__, tuple(self.links), datetime.fromisoformat(self.header.started))
        self._begin_recording()
        if self._started:
            self._start(host.name)

    def record_to(self, path: Path) -> None:
        """Record to a new file from now on, or, while there is no box yet, from the first one on."""
        self._record_path = path
        self._begin_recording()

    def _begin_recording(self) -> None:
        path = self._record_path
        if path is None or not self.links or self._recorder is not None:
            return
        try:
            self._recorder = Recorder(path, self.header, partial(self._recorder_failed, path))
        except OSError as error:
            self._record_path = None
            self._recorder_failed(path, error.strerror or str(error))
            return
        self.bus.listen(self._recorder.record)

    def start(self) -> None:
        """Begin to connect."""
        self._started = True
        for name in self.links:
            self._start(name)

    def _start(self, name: str) -> None:
        """The tasks of one box: its link, and what watches through it."""
        link = self.links[name]
        self.supervisor.start(f"link {name}", link.run())
        host = self.state.hosts[name]
        for kind, watch in (
            ("hub", HubWatch(host, self.looks_first)),
            ("bench", BenchWatch(host, runs_dir())),
            ("servers", ServeWatch(host)),
        ):
            looks = Looks(name)
            self.bus.listen(looks.hear)
            self.supervisor.start(f"{kind} {name}", watch.run(lambda: link.box, looks))

    def again(self, host: str) -> None:
        """Connect to this box again now."""
        self.links[host].again()

    def choices(self) -> AsyncIterator[Sequence[Choice]]:
        """The boxes that can be opened, and again whenever more is known of the way to one."""
        return self._ways.picker.rows()

    def open_host(self, name: str) -> None:
        """Open a further box."""
        self.add(self._ways.config.host(name))

    def change_job(self, host: str, action: JobAction, job_id: str) -> str:
        """Ask the box to stop, pause or resume a job; the state tells what came of it. Why it cannot, or nothing."""
        return self._ask(host, f"{action} {job_id}", lambda box: jobs.request(box, action, job_id))

    def _ask(self, host: str, task: str, work: Callable[[Box], Coroutine[Any, Any, None]]) -> str:
        """Ask something of a connected box; why that cannot be, or nothing."""
        box = self.box(host)
        if box is None:
            return f"The link to {host} is {self.state.hosts[host].link.state}."
        self.supervisor.start(f"{task} {self.state.seq}", work(box))
        return ""

    def recipe_names(self) -> Sequence[str]:
        """The recipes in reach of this directory."""
        return self._shelf.names()

    def recipe_problem(self) -> str:
        """What is wrong with the recipes' files, or nothing."""
        return self._shelf.problem()

    def check_recipe(self, host: str, recipe: str, accept: tuple[str, ...] = ()) -> str:
        """Ask every gate of a recipe, unless they are being asked. Why it cannot be asked, or nothing."""
        if any(name.startswith(f"check {host} {recipe} ") for name in self.supervisor.running()):
            return ""
        return self._with_recipe(host, recipe, "check", partial(check_recipe, accept=accept))

    def deploy(self, host: str, recipe: str, *, fetch: bool, accept: tuple[str, ...] = ()) -> str:
        """Bring a recipe up, with `fetch` downloading what is missing. Why it cannot begin, or nothing."""
        try:
            secrets = recipes.secrets(self._shelf.get(recipe))
        except ConfigError as error:
            return f"{error}."
        work = partial(deploy, secrets=secrets, fetch=fetch, accept=accept)
        return self._with_recipe(host, recipe, "deploy", work)

    def recipe_args(self, recipe: str) -> str:
        """The flags of a recipe as TOML, empty when there is no such recipe any more."""
        try:
            return args_toml(self._shelf.get(recipe))
        except ConfigError:
            return ""

    def edit_recipe(self, host: str, recipe: str, args: str) -> tuple[str, str]:
        """Derive a recipe with other flags for this session: (its name, why not); one of them is empty."""
        box = self.box(host)
        knows = partial(flag_problem, box.config if box else self.links[host].host)
        try:
            return self._shelf.edit(recipe, args, knows), ""
        except ConfigError as error:
            return "", f"{error}."

    def _with_recipe(self, host: str, name: str, verb: str, work: RecipeWork) -> str:
        try:
            recipe = self._shelf.on(name, box.config if (box := self.box(host)) else self.links[host].host)
        except ConfigError as error:
            return f"{error}."
        return self._ask(host, f"{verb} {host} {name}", lambda box: work(box, self.state.hosts[host], recipe))

    async def set_token(self, host: str, token: Secret) -> str:
        """Write the box's Hugging Face token; what came of it, in a sentence."""
        box = self.box(host)
        return await put_token(box, token) if box else f"The link to {host} is down."

    async def ask_hub(self, host: str) -> str:
        """Ask again for token, access and what is stored. Why it could not be asked, or nothing."""
        box = self.box(host)
        return await ask_again(box, self.state.hosts[host]) if box else ""

    async def verify_stored(self, host: str) -> str:
        """Verify every stored repository; what was started, in a sentence."""
        box = self.box(host)
        return await verify_all(box, self.state.hosts[host]) if box else f"The link to {host} is down."

    async def remove_stored(self, host: str, path: str) -> str:
        """Delete a stored model unless it is in use; what came of it, in a sentence."""
        box = self.box(host)
        return await remove_stored(box, path) if box else f"The link to {host} is down."

    def read_older_log(self, host: str, server: str, *, fresh: bool) -> None:
        """Read back older lines of a server's log, one request at a time."""
        box, name = self.box(host), f"older {server}"
        if box is not None and name not in self.supervisor.running():
            self.supervisor.start(name, read_older(box, self.state.hosts[host], server, fresh=fresh))

    def toggle_tunnel(self, host: str, box_port: int) -> None:
        """Open a tunnel to a port of the box, or close the one that is open."""
        name, link = f"tunnel {host}", self.links[host]
        if name in self.supervisor.running():
            self.supervisor.start(f"close {name} {self.state.seq}", self.supervisor.stop(name))
            return
        facts = tunnel(
            link.host, self.state.hosts[host], box_port, lambda: link.link, self.publish, lambda: self.state.seq
        )
        self.supervisor.start(name, facts)

    def stop_server(self, host: str, server: str) -> str:
        """Stop a server; the state tells what came of it. Why it cannot be asked, or nothing."""
        return self._ask(host, f"stop {server}", lambda box: stop_server(box, self.state.hosts[host], server))

    def adopt_server(self, host: str, server: str) -> str:
        """Adopt a server; the state tells what came of it. Why it cannot be asked, or nothing."""
        return self._ask(host, f"adopt {server}", lambda box: adopt_server(box, self.state.hosts[host], server))

    def watch_runs(self) -> None:
        """List the stored runs as facts from now on."""
        if not self._watches_runs:
            self._watches_runs = True
            self.supervisor.start("runs", RunsWatch(runs_dir(), self.publish).run())

    def bench(self, host: str, server: str, preset: str, concurrency: tuple[int, ...] = ()) -> str:
        """Measure a server; the state tells what comes of it. Why it cannot begin, or nothing."""
        box, state = self.box(host), self.state.hosts[host]
        if box is None:
            return f"The link to {host} is {state.link.state}."
        recipe = recipe_of(state, server)
        try:
            key = recipes.secrets(self._shelf.get(recipe)).flags.get("api-key") if recipe else None
        except ConfigError as error:
            return str(error)
        self.supervisor.start(
            f"bench {server} {self.state.seq}", start_bench(box, state, server, preset, concurrency, key)
        )
        return ""

    def accept_host_key(self, host: str) -> None:
        """Trust the host key that the box showed last, and connect again."""
        self.links[host].accept_host_key()

    def shell_command(self, host: str) -> Sequence[str]:
        """The arguments of an interactive shell on the box."""
        return self._ways.shell_command(self.links[host].host)

    async def demo_box(self) -> DemoBox:
        """The demo box behind the host of that name, for whoever plays its world."""
        return await self._ways.demo_box()

    @property
    def recording(self) -> str:
        """The name of the file that is recorded to, or empty."""
        return self._recorder.path.name if self._recorder and self._recorder.recording else ""

    def now(self) -> float:
        """Seconds since the session started."""
        return self.bus.now()

    def publish(self, event: Event) -> None:
        """Tell a fact."""
        self.bus.publish(event)

    def note(self, text: CleanText, host: str) -> str:
        """Keep a note with the recording and the runs that it is about. Why it is kept nowhere, or nothing."""
        self.publish(NoteWritten(text=text, host=host))
        if self.recording or not self._notes.failed:
            return ""
        return f"Nothing is recorded, and no report takes the note: {self._notes.failed}."

    def box(self, name: str) -> Box | None:
        """The connected box, or None while its link is down."""
        return self.links[name].box

    async def wait(self, ready: Callable[[State], bool], timeout_s: float | None = None) -> bool:
        """Wait until the state is as wanted; False when the time is over. Raises what broke a worker."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                while not ready(self.state):
                    if self.failure is not None:
                        raise self.failure
                    self._changed.clear()
                    await self._changed.wait()
        return ready(self.state)

    def _reduce(self, stamped: Stamped) -> None:
        reduce(self.state, stamped)
        self._changed.set()

    def _note(self, stamped: Stamped) -> None:
        if isinstance(stamped.event, NoteWritten | RunBegan):
            self._notes.hear(stamped.event, self.state.hosts.values(), self.header.at(stamped.t))

    def _recorder_failed(self, path: Path, reason: str) -> None:
        self.publish(RecorderFailed(path=clean(str(path)), reason=clean(reason)))

    def _task_failed(self, name: str, error: BaseException) -> None:
        self.failure = error
        reason = redact(f"{type(error).__name__}: {error}")
        self.publish(WorkerFailed(task=clean(name), reason=clean(reason)))
        self._changed.set()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.supervisor.stop()
        if self._recorder:
            self._recorder.close()
