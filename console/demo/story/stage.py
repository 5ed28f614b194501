"""The stage of a scene: the console's verbs, the world behind them, captions, and what prevented the mistake."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar

from console.bench.datasets import dataset
from console.bench.presets import Preset, planned
from console.demo.story.world import World
from console.events import Event, Stamped
from console.events.bench import PointMeasured
from console.events.hub import RepoVerified
from console.events.link import NoteWritten
from console.events.plan import Gate, GateChecked, PlanChecked
from console.events.serve import DeployStepped, MemoryReturned
from console.models.places import last_name
from console.state import HostState, State
from console.state.serve import ENDED, ServerState
from console.values import clean
from console.values.secrets import Secret
from console.views.jobs import find_job
from console.workers import bench, hub, jobs
from console.workers.box import Box
from console.workers.hub_jobs import Transfer, spec_of

LIMIT_S = 20.0
START_LIMIT_S = 60.0
MEASURE_LIMIT_S = 120.0
E = TypeVar("E", bound=Event)


class Console(Protocol):
    """What a scene does with the console: the verbs behind its keys."""

    state: State

    def publish(self, event: Event) -> None: ...

    def box(self, name: str) -> Box | None: ...

    async def wait(self, ready: Callable[[State], bool], timeout_s: float | None = None) -> bool: ...

    def check_recipe(self, host: str, recipe: str) -> str: ...

    def deploy(self, host: str, recipe: str, *, fetch: bool, accept: tuple[str, ...] = ()) -> str: ...

    def stop_server(self, host: str, server: str) -> str: ...

    async def set_token(self, host: str, token: Secret) -> str: ...

    async def ask_hub(self, host: str) -> str: ...

    async def verify_stored(self, host: str) -> str: ...

    def watch_runs(self) -> None: ...


class MissedError(Exception):
    """The mistake was not prevented; the sentence says what did not happen."""


class Stage:
    """One scene's view of the session. `prevented`: `seq` of the facts that did it, in the order of their finding.

    `pace_s`: how long a caption stays before the scene goes on; nobody reads along when it is 0.
    """

    def __init__(self, console: Console, world: World, host: str, pace_s: float) -> None:
        self.console, self.world, self.host_name = console, world, host
        self.prevented: list[int] = []
        self._facts: list[Stamped] = []
        self._pace_s = pace_s

    def take(self, stamped: Stamped) -> None:
        """A fact of the session."""
        self._facts.append(stamped)

    @property
    def host(self) -> HostState:
        return self.console.state.hosts[self.host_name]

    @property
    def box(self) -> Box:
        """The connected box. Raises MissedError while its link is down."""
        box = self.console.box(self.host_name)
        if box is None:
            raise MissedError("the box is not connected")
        return box

    async def say(self, caption: str) -> None:
        """A caption: a note, as a user's own, so that every screen and every replay shows it."""
        self.console.publish(NoteWritten(text=clean(caption)))
        await asyncio.sleep(self._pace_s)

    async def sees(self, kind: type[E], match: Callable[[E], bool] = lambda _: True, limit_s: float | None = None) -> E:
        """The first such fact since the scene began. Raises MissedError when none comes."""
        return (await self._found(kind, match, limit_s))[1]

    async def prevents(self, kind: type[E], match: Callable[[E], bool], limit_s: float | None = None) -> E:
        """The same, and it is what prevented the mistake."""
        seq, event = await self._found(kind, match, limit_s)
        self.prevented.append(seq)
        return event

    async def _found(self, kind: type[E], match: Callable[[E], bool], limit_s: float | None) -> tuple[int, E]:
        limit_s = LIMIT_S if limit_s is None else limit_s
        looked = 0
        found: list[tuple[int, E]] = []

        def look(_: State) -> bool:
            nonlocal looked
            new, looked = self._facts[looked:], len(self._facts)
            found.extend((one.seq, one.event) for one in new if isinstance(one.event, kind) and match(one.event))
            return bool(found)

        if not await self.console.wait(look, limit_s):
            raise MissedError(f"no {kind.__name__} as it should be within {limit_s:g} s")
        return found[0]

    def forget(self) -> None:
        """What was told so far no longer counts: the world is about to change."""
        self._facts.clear()

    # --- what a user does

    async def checked(
        self, recipe: str, name: str, states: Sequence[str], subject: str = "", *, counts: bool = True
    ) -> Gate:
        """Ask all gates of a recipe; this one answers in one of these states, which counts as preventing."""
        self.forget()
        if refused := self.console.check_recipe(self.host_name, recipe):
            raise MissedError(refused)
        await self.sees(PlanChecked, limit_s=START_LIMIT_S)
        return self.counted(name, states, subject) if counts else self._gate(name, states, subject)[1]

    async def stopped_by(self, recipe: str, name: str, states: Sequence[str], subject: str = "") -> Gate:
        """Deploy the recipe, which this gate must refuse in one of these states, before anything is changed."""
        end = await self._deploy(recipe, lambda step: (step.step, step.state) != ("preflight", "running"))
        if (end.step, end.state) != ("preflight", "failed"):
            raise MissedError(f"the deploy of {recipe} was not refused: {end.step}")
        if f"{name}: " not in end.sentence:
            raise MissedError(f"the gate {name} let it through: {end.sentence}")
        gate = self.counted(name, states, subject)
        await self.prevents(DeployStepped, lambda step: step.state == "failed", 0)
        return gate

    def counted(self, name: str, states: Sequence[str], subject: str = "") -> Gate:
        """What the gate answered since the last question, in one of these states; it counts as preventing."""
        seq, gate = self._gate(name, states, subject)
        self.prevented.append(seq)
        return gate

    def _gate(self, name: str, states: Sequence[str], subject: str) -> tuple[int, Gate]:
        """The gate's answer and the `seq` of it."""
        answers = [(one.seq, one.event.gate) for one in self._facts if isinstance(one.event, GateChecked)]
        for seq, gate in answers:
            if gate.name == name and gate.state in states and subject in gate.subject:
                return seq, gate
        told = ", ".join(f"{gate.name} {gate.state}" for _, gate in answers)
        raise MissedError(f"the gate {name} did not answer {' or '.join(states)} ({told})")

    async def deploys(self, recipe: str) -> None:
        """Bring the recipe up, unless it runs already."""
        server = self._server()
        if server is not None and server.phase == "ready" and self._recipe(server.id) == recipe:
            return
        await self.frees_gpus()
        over = await self._deploy(recipe, lambda step: step.state == "failed" or step.step == "ready")
        if over.state == "failed":
            raise MissedError(f"{recipe} does not come up: {over.sentence}")

    def _server(self) -> ServerState | None:
        """Our server that runs, whatever others run on this machine."""
        every = self.host.serve.servers.values()
        ours = [one for one in every if one.seen and one.seen.owner == "ours" and one.present]
        return next((one for one in ours if one.phase not in ENDED), None)

    def _recipe(self, server: str) -> str:
        job = find_job(self.host, server)
        return str(job.meta.get("recipe")) if job else ""

    async def _deploy(self, recipe: str, over: Callable[[DeployStepped], bool]) -> DeployStepped:
        self.forget()
        if refused := self.console.deploy(self.host_name, recipe, fetch=True, accept=("tight",)):
            raise MissedError(refused)
        return await self.sees(DeployStepped, over, START_LIMIT_S)

    async def frees_gpus(self) -> None:
        """Stop our server if one runs, and wait until its memory is back."""
        if server := self._server():
            self.forget()
            self.console.stop_server(self.host_name, server.id)
            await self.sees(MemoryReturned, limit_s=START_LIMIT_S)

    async def downloads(self, repo: str) -> str:
        """Start a download beside the console's other models; its job."""
        place = hub.place_of(self.box)
        want = hub.placed(self.box, hub.Want(repo=repo, path=f"{self.box.config.dir}/{last_name(repo)}"))
        (looked,) = await hub.look(self.box, place, [want])
        transfer = Transfer(want=want, commit=str(looked.access.commit), files=looked.files)
        return (await jobs.start(self.box, spec_of("download", place, transfer))).id

    async def proved(self, repo: str) -> RepoVerified:
        """Every byte of the repository is on the box and proved."""
        return await self.sees(RepoVerified, lambda fact: fact.repo == repo and fact.result == "ok", START_LIMIT_S)

    async def measures(self, preset: Preset) -> dict[str, Any]:
        """Measure the running server; its point as stored, and that counts."""
        server = self._server()
        if server is None or server.seen is None:
            raise MissedError("no server runs")
        job = find_job(self.host, server.id)
        subject = await bench.look(self.box, server.seen, self.host.hardware, job.meta if job else {}, None)
        data = dataset(preset.dataset, preset.isl, bench.vocabulary(subject))
        told = bench.manifest(self.box, subject, self.host.hardware, preset, data, "")
        python = bench.interpreter(self.box, subject, None)
        self.forget()
        await jobs.start(self.box, bench.job_spec(subject, preset, planned(preset), data, told, python, None))
        return (await self.prevents(PointMeasured, lambda _: True, MEASURE_LIMIT_S)).point
