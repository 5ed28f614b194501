"""The servers of a sweep: one recipe after the other, and the way back to the server that ran before."""

from __future__ import annotations

import time
from collections.abc import Mapping

from console.bench.presets import SERVER_START_S
from console.cli import serving
from console.cli.flags import Flags
from console.cli.follow import asking, box_of
from console.cli.output import say
from console.cli.stop import StopError
from console.config.records import Recipe
from console.session.live import LiveSession
from console.state import HostState
from console.state.serve import ServerState
from console.values import known
from console.views.jobs import find_job
from console.views.serve import owner, servers
from console.workers import serve_swap
from console.workers.serve import Secrets
from console.workers.whole_plan import WholePlan


class Servers:
    """What is served on the box while a sweep walks. `start_s`: how long the longest start of this walk took."""

    def __init__(self, flags: Flags, session: LiveSession, host: str, recipes: Mapping[str, Recipe]) -> None:
        self._flags, self._session, self._host, self._recipes = flags, session, host, recipes
        self._before: serve_swap.Incumbent | None = None
        self._started_s = 0.0

    @property
    def start_s(self) -> float:
        return self._started_s or SERVER_START_S

    @property
    def state(self) -> HostState:
        return self._session.state.hosts[self._host]

    def running(self) -> str:
        """The recipe of the sweep that is served now, empty when it is none of them."""
        for recipe in self._recipes.values():
            server = in_the_way(self.state, recipe.port)
            if server is not None and self._recipe_name(server) == recipe.name:
                return recipe.name
        return ""

    async def begun(self, recipe: Recipe, whole: WholePlan) -> str:
        """The job of the recipe's server, started unless it runs; another server is stopped first. Raises StopError."""
        running = in_the_way(self.state, recipe.port)
        if running is not None and self._recipe_name(running) == recipe.name:
            return str(running.id)
        if running is not None:
            await self._stop(running)
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

    async def _stop(self, running: ServerState) -> None:
        """Stop it; the last one that was ready is what a failed sweep goes back to."""
        box = box_of(self._session, self._host)
        with asking(), serving.refusing():
            if running.phase == "ready":
                self._before = await serve_swap.capture(box, self.state, running, self._secrets(running))
            say(self._flags, f"Stopping {running.id}.")
            await serve_swap.stopped(box, self.state, running, None)

    def _secrets(self, server: ServerState) -> Secrets:
        old = self._recipes.get(self._recipe_name(server))
        old = old or serving.recipe_of(self._flags, self._session, self._host, server)
        return serving.secrets_of(old) if old else Secrets()

    def _recipe_name(self, server: ServerState) -> str:
        job = find_job(self.state, server.id)
        return str(job.meta.get("recipe") or "") if job else ""

    async def back(self) -> None:
        """When nothing is served any more, the server that was stopped last comes back."""
        if self._before is None or any(in_the_way(self.state, one.port) for one in self._recipes.values()):
            return
        say(self._flags, f"Nothing is served: {self._before.server} comes back.")
        with asking():
            job = await serve_swap.bring_back(box_of(self._session, self._host), self._before)
        try:
            if job is not None:
                await serving.followed(self._flags, self._session, self._host, job.id)
        except StopError as error:
            say(self._flags, error.sentence)


def in_the_way(state: HostState, port: int) -> ServerState | None:
    """The server to replace: the one on the recipe's port, else ours. A stranger's elsewhere is left alone."""
    found = servers(state)
    present = [one for one in found if one.present and one.seen is not None] if known(found) else []
    mine = [one for one in present if owner(one) != "foreign"]
    return next((one for one in present if one.seen and one.seen.port == port), next(iter(mine), None))
