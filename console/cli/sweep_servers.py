"""The servers of a sweep: one recipe after the other, and the way back to the server that ran before."""

from __future__ import annotations

import time
from collections.abc import Mapping

import msgspec

from console.bench.presets import SERVER_START_S
from console.cli import serving
from console.cli.flags import Flags
from console.cli.follow import asking, box_of
from console.cli.output import say
from console.cli.stop import StopError
from console.config.records import Recipe
from console.gates.in_the_way import in_the_way
from console.session.live import LiveSession
from console.state import HostState
from console.state.serve import ServerState
from console.values import known
from console.views.jobs import find_job
from console.workers import serve_swap
from console.workers.serve import Secrets
from console.workers.whole_plan import WholePlan


class Servers:
    """What is served on the box while a sweep walks. `start_s`: how long the longest start of this walk took."""

    def __init__(self, flags: Flags, session: LiveSession, host: str, recipes: Mapping[str, Recipe]) -> None:
        self._flags, self._session, self._host, self._recipes = flags, session, host, recipes
        self._before: list[serve_swap.Incumbent] = []
        self._started_s = 0.0

    @property
    def start_s(self) -> float:
        return self._started_s or SERVER_START_S

    @property
    def state(self) -> HostState:
        return self._session.state.hosts[self._host]

    def running(self) -> str:
        """The recipe of the sweep that is served now, empty when it is none of them."""
        return next((self._recipe_name(one) for one in self._own()), "")

    def in_the_way(self, recipe: Recipe) -> list[ServerState]:
        """What has to go for it: servers on its port or its GPUs, and the sweep's own; what serves elsewhere stays."""
        return list({one.id: one for one in (*self._own(), *in_the_way(self.state, recipe))}.values())

    def _own(self) -> list[ServerState]:
        """Running servers of the sweep's recipes."""
        found = self.state.serve.servers.values()
        return [one for one in found if one.present and self._recipe_name(one) in self._recipes]

    async def begun(self, recipe: Recipe, whole: WholePlan) -> str:
        """The job of the recipe's server, started unless it runs; another server is stopped first. Raises StopError."""
        running = next((one for one in self._own() if self._recipe_name(one) == recipe.name), None)
        if running is not None:
            return str(running.id)
        await self._stop(self.in_the_way(_pinned(recipe, whole)))
        started, _ = await serving.started(self._session, self._host, whole)
        return str(started.id)

    async def ready(self, recipe: Recipe, whole: WholePlan) -> ServerState:
        """The recipe's server, proved ready. Raises StopError."""
        began = time.monotonic()
        known_before = self.running() == recipe.name
        job = await self.begun(recipe, whole)
        server = await serving.followed(self._flags, self._session, self._host, job)
        if not known_before:
            self._started_s = max(self._started_s, time.monotonic() - began)
        return server

    async def _stop(self, running: list[ServerState]) -> None:
        """Stop them; the last ones that were ready are what a failed sweep goes back to."""
        box = box_of(self._session, self._host)
        with asking(), serving.refusing():
            ready = [one for one in running if one.phase == "ready"]
            taken = [await serve_swap.capture(box, self.state, one, self._secrets(one)) for one in ready]
            self._before = taken or self._before
            for one in running:
                say(self._flags, f"Stopping {one.id}.")
                await serve_swap.stopped(box, self.state, one, None)

    def _secrets(self, server: ServerState) -> Secrets:
        old = self._recipes.get(self._recipe_name(server))
        old = old or serving.recipe_of(self._flags, self._session, self._host, server)
        return serving.secrets_of(old) if old else Secrets()

    def _recipe_name(self, server: ServerState) -> str:
        job = find_job(self.state, server.id)
        return str(job.meta.get("recipe") or "") if job else ""

    async def back(self) -> None:
        """When nothing is served any more where the sweep was, what was stopped last comes back."""
        if any(self.in_the_way(one) for one in self._recipes.values()):
            return
        for one in self._before:
            say(self._flags, f"Nothing is served: {one.server} comes back.")
            with asking():
                job = await serve_swap.bring_back(box_of(self._session, self._host), one)
            try:
                if job is not None:
                    await serving.followed(self._flags, self._session, self._host, job.id)
            except StopError as error:
                say(self._flags, error.sentence)


def _pinned(recipe: Recipe, whole: WholePlan) -> Recipe:
    """The recipe on the GPUs that its plan chose."""
    env = whole.plan.launch.env if known(whole.plan.launch) else {}
    uuids = [uuid for uuid in env.get("CUDA_VISIBLE_DEVICES", "").split(",") if uuid]
    return msgspec.structs.replace(recipe, gpus=tuple(uuids)) if uuids else recipe
