"""`gpudeck sweep HOST FILE`: recipes × flags × concurrency, the server restarted between recipes, resumable.

Every measurement is a job on the box; this command only walks from one to the next, and starts where the last one
stopped: what is stored under the sweep's id is not measured again.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import click
import msgspec

from console.bench.presets import PRESETS, Preset
from console.bench.sweep import Measured, Price, Skipped, Unit, price, remaining, runnable, units, within
from console.cli import serving
from console.cli.bench import Wish, finished, measured, prepared
from console.cli.boxes import connected, run
from console.cli.flags import Flags
from console.cli.follow import asking, box_of
from console.cli.hub import changing
from console.cli.output import emit, say, utc_now
from console.cli.preflight import ACCEPTABLE, book
from console.cli.runs import store, swept
from console.cli.status import settled
from console.cli.stop import DONE, FAILED, GATE, INTERRUPTED, TIMED_OUT, USAGE, StopError
from console.config import ConfigError
from console.config.records import Recipe, Sweep
from console.config.sweeps import derive, load_sweep
from console.gates.plan import blockers
from console.session.live import LiveSession
from console.state import HostState
from console.state.serve import ServerState
from console.values import format_duration as duration
from console.values import known
from console.views.bench import list_lines
from console.views.jobs import find_job
from console.views.serve import owner, servers
from console.workers import serve_swap
from console.workers.bench import BENCH_JOB
from console.workers.jobs import Started, user_at_laptop
from console.workers.whole_plan import WholePlan

RULES = ("arguments", "drafter")


@click.command("sweep")
@click.argument("host")
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--accept", default="", metavar="GATES", help="Gates to accept: tight, remote-code, adopt.")
@click.option("--budget", type=click.FloatRange(min=1), metavar="S", help="Measure what fits into this time.")
@click.option("--window", type=click.FloatRange(1, 3600), metavar="S", help="Length of a measured window.")
@click.option("--isl", type=click.IntRange(1, 1 << 20), metavar="N", help="Input length.")
@click.option("--osl", type=click.IntRange(2, 1 << 20), metavar="N", help="Output length.")
@click.option("--dataset", metavar="D", help="Instead of the preset's.")
@click.option("--dry-run", is_flag=True, help="All gates of all recipes, the order, the price; nothing is stopped.")
@click.pass_obj
def command(flags: Flags, /, host: str, file: Path, accept: str, budget: float | None, **given: Any) -> int:
    """Measure all configurations of a sweep file; call it again to go on."""
    gates = tuple(one for one in accept.split(",") if one)
    if unfit := [one for one in gates if one not in ACCEPTABLE]:
        raise StopError(USAGE, f"{unfit[0]} is no gate that can be accepted; there are {', '.join(ACCEPTABLE)}.")
    recipes = book(flags)
    try:
        sweep = load_sweep(file, recipes)
        derived = [one for name in sweep.recipes for one in derive(recipes.get(name), sweep.matrix)]
    except ConfigError as error:
        raise StopError(USAGE, f"{error}.") from error
    if sweep.preset not in PRESETS:
        raise StopError(USAGE, f"There is no preset {sweep.preset!r}: {', '.join(PRESETS)}.")
    return run(_Sweeping(flags, host, sweep, derived, _preset(sweep, given), gates, budget).run(given["dry_run"]))


def _preset(sweep: Sweep, given: dict[str, Any]) -> Preset:
    changes: dict[str, Any] = {"concurrency": tuple(sorted(sweep.concurrency)), "repeats": sweep.repeats}
    changes |= {name: given[name] for name in ("isl", "dataset") if given[name]}
    if given["osl"]:
        changes |= {"osl": given["osl"], "osl_high": given["osl"]}
    if given["window"]:
        changes |= {"window_s": given["window"], "window_max_s": 2 * given["window"]}
    return msgspec.structs.replace(PRESETS[sweep.preset], **changes)


class _Sweeping:
    """One walk over what is left of a sweep."""

    def __init__(
        self,
        flags: Flags,
        host: str,
        sweep: Sweep,
        recipes: list[Recipe],
        preset: Preset,
        accept: tuple[str, ...],
        budget_s: float | None,
    ) -> None:
        self.flags, self.host, self.sweep, self.preset = flags, host, sweep, preset
        self.recipes = {recipe.name: recipe for recipe in recipes}
        self.accept, self.budget_s = accept, budget_s
        self.id = f"{sweep.name}@{sweep_hash(sweep, recipes, preset)}"
        self.failed: list[str] = []

    async def run(self, dry_run: bool) -> int:
        async with connected(self.flags, self.host, follows=not dry_run) as session:
            if not dry_run:
                changing(session, self.host, "no sweep")
            await settled(session, self.host)
            if not dry_run:
                await self._take_up(session)
            wholes, skipped, blocked = await self._gates(session)
            plan = self._plan(list(wholes))
            self._tell(skipped, blocked, plan)
            if blocked:
                raise StopError(GATE, " ".join(blocked))
            if dry_run:
                self._emit(session, skipped, plan, dry_run=True)
                return DONE
            while plan:
                await self._unit(session, plan[0], wholes[plan[0].recipe])
                plan = [unit for unit in self._plan(list(wholes)) if unit.recipe not in self.failed]
                if plan:
                    self._price(price(plan, self.preset))
            self._emit(session, skipped, plan, dry_run=False)
        if self.failed:
            raise StopError(FAILED, f"Not measured: {', '.join(self.failed)}. Call it again to go on.")
        return DONE

    async def _take_up(self, session: LiveSession) -> None:
        """A measurement of an earlier walk goes on: follow it before anything is stopped."""
        found = session.state.hosts[self.host].jobs.jobs
        for job in found if known(found) else ():
            if job.kind == BENCH_JOB and job.state == "running":
                if job.by != user_at_laptop():
                    raise StopError(GATE, f"{job.by} measures on {self.host} since {job.started} (job {job.id}).")
                say(self.flags, f"Taking up {job.id}.")
                fields = {name: getattr(job, name) for name in Started.__struct_fields__}
                await finished(self.flags, session, self.host, Started(**fields), quiet=True)

    async def _gates(self, session: LiveSession) -> tuple[dict[str, WholePlan], list[Skipped], list[str]]:
        """All gates of all recipes: plans that may run, combinations with a broken rule, every blocker once."""
        ports = [recipe.port for recipe in self.recipes.values()]
        running = [_in_the_way(session.state.hosts[self.host], port) for port in dict.fromkeys(ports)]
        own = frozenset(pid for one in running if one and one.seen for pid in one.seen.processes)
        wholes: dict[str, WholePlan] = {}
        rules: dict[str, str] = {}
        blocked: list[str] = []
        for name, recipe in self.recipes.items():
            say(self.flags, f"Checking {name} …")
            whole = await serving.planned(
                session, self.host, serving.recipe_on(session, self.host, recipe), self.accept, own
            )
            stops = blockers(whole.plan.gates, self.accept)
            broken = next((gate for gate in stops if gate.name in RULES), None)
            if broken is not None and "+" in name:
                rules[name] = broken.sentence
                continue
            blocked += [f"{name}: {gate.name}: {gate.sentence}" for gate in stops]
            blocked += [f"{name}: {one}" for one in whole.missing if not stops]
            wholes[name] = whole
        _, skipped = runnable(list(self.recipes), rules)
        return wholes, skipped, list(dict.fromkeys(blocked))

    def _plan(self, names: list[str]) -> list[Unit]:
        done: set[Measured] = {
            (run.manifest.recipe, point.name)
            for run in swept(store(), self.id)
            for point in run.points
            if not point.aborted
        }
        left = remaining(units(names, self.sweep.baseline or "", self.preset), done)
        return within(left, self.preset, self.budget_s) if self.budget_s else left

    async def _unit(self, session: LiveSession, unit: Unit, whole: WholePlan) -> None:
        """One server start and its points. A recipe that does not start is left out, the others go on."""
        recipe = whole.plan.recipe
        try:
            server_id = await self._serve(session, recipe, whole)
            server = session.state.hosts[self.host].serve.servers[server_id]
            wish = Wish(self.preset, unit.points, self._words(), self.id, self.sweep.baseline or "")
            spec = await prepared(session, self.host, server, recipe, wish)
            await measured(self.flags, session, self.host, spec, detach=False, quiet=True)
        except StopError as error:
            if error.exit_code in (INTERRUPTED, TIMED_OUT):
                raise
            self.failed.append(recipe.name)
            say(self.flags, f"{recipe.name}: {error.sentence}")

    async def _serve(self, session: LiveSession, recipe: Recipe, whole: WholePlan) -> str:
        """The id of the recipe's ready server; another one is stopped first."""
        state = session.state.hosts[self.host]
        running = _in_the_way(state, recipe.port)
        if running is not None:
            job = find_job(state, running.id)
            if job is not None and job.meta.get("recipe") == recipe.name:
                return str((await serving.followed(self.flags, session, self.host, running.id)).id)
            say(self.flags, f"Stopping {running.id}.")
            with asking(), serving.refusing():
                await serve_swap.stopped(box_of(session, self.host), state, running, None)
        started, _ = await serving.started(session, self.host, whole)
        return str((await serving.followed(self.flags, session, self.host, started.id)).id)

    def _words(self) -> str:
        return f"gpudeck sweep {self.host} {self.sweep.name}.toml"

    def _tell(self, skipped: list[Skipped], blocked: list[str], plan: list[Unit]) -> None:
        for one in skipped:
            say(self.flags, f"Not run: {one.recipe}: {one.rule}")
        for sentence in blocked:
            say(self.flags, f"Blocked: {sentence}")
        self._price(price(plan, self.preset))

    def _price(self, cost: Price) -> None:
        times = f"about {duration(cost.likely_s)}, at most {duration(cost.longest_s)}"
        say(self.flags, f"{cost.starts} server starts, {cost.points} points: {times}.")

    def _emit(self, session: LiveSession, skipped: list[Skipped], plan: list[Unit], *, dry_run: bool) -> None:
        cost = price(plan, self.preset)
        runs = swept(store(), self.id)
        if not self.flags.json_output:
            order = [f"{unit.recipe}: {' '.join(point.name for point in unit.points)}" for unit in plan]
            click.echo("\n".join(order if dry_run else list_lines(runs)))
            return
        emit(
            {
                "schema": "gpudeck.sweep/1",
                "ts": utc_now(),
                "host": self.host,
                "sweep": self.id,
                "dry_run": dry_run,
                "runs": [one.id for one in runs],
                "units": [{"recipe": u.recipe, "points": [p.name for p in u.points]} for u in plan],
                "skipped": [msgspec.to_builtins(one) for one in skipped],
                "failed": self.failed,
                "likely_s": cost.likely_s,
                "longest_s": cost.longest_s,
            }
        )


def _in_the_way(state: HostState, port: int) -> ServerState | None:
    """The server to replace: the one on the recipe's port, else ours. A stranger's elsewhere is left alone."""
    found = servers(state)
    present = [one for one in found if one.present and one.seen is not None] if known(found) else []
    mine = [one for one in present if owner(one) != "foreign"]
    return next((one for one in present if one.seen and one.seen.port == port), next(iter(mine), None))


def sweep_hash(sweep: Sweep, recipes: list[Recipe], preset: Preset) -> str:
    """Another question, another sweep: 8 hexadecimal digits over recipes, points and preset."""
    text = msgspec.json.encode([sweep, [(recipe.name, recipe.args) for recipe in recipes], preset], order="sorted")
    return hashlib.sha256(text).hexdigest()[:8]
