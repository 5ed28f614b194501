"""`gpudeck sweep HOST FILE`: recipes × flags × datasets × concurrency, the server restarted between recipes.

Every measurement is a job on the box; this command only walks from one to the next, and starts where the last one
stopped: what is stored under the sweep's id is not measured again.
"""

from __future__ import annotations

import hashlib
import os
import time
from pathlib import Path
from typing import Any

import click
import msgspec

from console.bench.datasets import DatasetError, dataset
from console.bench.presets import PRESETS, Preset
from console.bench.sweep import Measured, Price, Skipped, Unit, price, remaining, runnable, units, within
from console.cli import serving
from console.cli.bench import Wish, finished, measured, prepared
from console.cli.boxes import connected, run
from console.cli.flags import Flags
from console.cli.follow import begin
from console.cli.hub import changing
from console.cli.output import emit, say, utc_now
from console.cli.preflight import ACCEPTABLE
from console.cli.recipe import recipe_book
from console.cli.runs import store, swept
from console.cli.status import settled
from console.cli.stop import DONE, FAILED, GATE, USAGE, StopError
from console.cli.sweep_servers import Servers
from console.config import ConfigError
from console.config.records import Recipe, Sweep
from console.config.sweeps import derive, load_sweep
from console.gates.plan import blockers
from console.session.live import LiveSession
from console.values import format_duration as duration
from console.values import known
from console.views.bench import list_lines
from console.workers.bench import BENCH_JOB
from console.workers.jobs import Started, user_at_laptop
from console.workers.whole_plan import WholePlan

RULES = ("arguments", "drafter")


@click.command("sweep")
@click.argument("host")
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--accept", default="", metavar="GATES", help="Gates to accept: tight, remote-code, adopt.")
@click.option("--budget", type=click.FloatRange(min=1), metavar="S", help="Measure what fits into so many seconds.")
@click.option("--window", type=click.FloatRange(1, 3600), metavar="S", help="Length of a measured window in seconds.")
@click.option("--isl", type=click.IntRange(1, 1 << 20), metavar="N", help="Input length in tokens (words for texts).")
@click.option("--osl", type=click.IntRange(2, 1 << 20), metavar="N", help="Output length in tokens.")
@click.option("--dataset", metavar="D", help="Instead of the file's, or the preset's.")
@click.option("--detach", is_flag=True, help="Start the next step, print its job and leave it.")
@click.option("--dry-run", is_flag=True, help="All gates of all recipes, the order, the price; nothing is stopped.")
@click.pass_obj
def command(flags: Flags, /, host: str, file: Path, accept: str, budget: float | None, **given: Any) -> int:
    """Measure all configurations of a sweep file; call it again to go on."""
    gates = tuple(one for one in accept.split(",") if one)
    if unfit := [one for one in gates if one not in ACCEPTABLE]:
        raise StopError(USAGE, f"{unfit[0]} is no gate that can be accepted; there are {', '.join(ACCEPTABLE)}.")
    recipes = recipe_book(flags, file if file.exists() else None)
    try:
        sweep = load_sweep(file, recipes)
        derived = [one for name in sweep.recipes for one in derive(recipes.get(name), sweep.matrix)]
    except ConfigError as error:
        raise StopError(USAGE, f"{error}.") from error
    if sweep.preset not in PRESETS:
        raise StopError(USAGE, f"There is no preset {sweep.preset!r}: {', '.join(PRESETS)}.")
    walk = _Sweeping(flags, host, sweep, derived, _preset(sweep, given), _datasets(sweep, given["dataset"]))
    walk.accept, walk.budget_s, walk.detach = gates, budget, given["detach"]
    return run(walk.run(given["dry_run"]))


def _preset(sweep: Sweep, given: dict[str, Any]) -> Preset:
    changes: dict[str, Any] = {"concurrency": tuple(sorted({*sweep.concurrency})), "repeats": sweep.repeats}
    changes |= {name: given[name] for name in ("isl",) if given[name]}
    if given["osl"]:
        changes |= {"osl": given["osl"], "osl_high": given["osl"]}
    if given["window"]:
        changes |= {"window_s": given["window"], "window_max_s": 2 * given["window"]}
    return msgspec.structs.replace(PRESETS[sweep.preset], **changes)


def _datasets(sweep: Sweep, given: str | None) -> dict[str, str]:
    """What is asked, by the name that a stored run knows it by. One that cannot be read ends the command."""
    chosen = (given,) if given else sweep.datasets or (PRESETS[sweep.preset].dataset,)
    try:
        return {dataset(os.path.expanduser(one), isl=1, vocabulary=1).name: one for one in chosen}
    except DatasetError as error:
        raise StopError(USAGE, f"dataset: {error}.") from error


class _Detached(Exception):
    """The next step runs on the box as this job."""

    def __init__(self, step: str, job: str) -> None:
        super().__init__(job)
        self.step, self.job = step, job


class _Sweeping:
    """One walk over what is left of a sweep."""

    accept: tuple[str, ...] = ()
    budget_s: float | None = None
    detach = False

    def __init__(
        self, flags: Flags, host: str, sweep: Sweep, recipes: list[Recipe], preset: Preset, datasets: dict[str, str]
    ) -> None:
        self.flags, self.host, self.sweep, self.preset, self.datasets = flags, host, sweep, preset, datasets
        self.recipes = {recipe.name: recipe for recipe in recipes}
        self.id = f"{sweep.name}@{sweep_hash(sweep, recipes, preset, datasets)}"
        self.failed: list[str] = []
        self.began = time.monotonic()

    async def run(self, dry_run: bool) -> int:
        async with connected(self.flags, self.host) as session:
            if not dry_run:
                changing(session, self.host, "no sweep")
            await settled(session, self.host)
            self.servers = Servers(self.flags, session, self.host, self.recipes)
            try:
                if not dry_run:
                    await self._take_up(session)
                return await self._walk(session, dry_run)
            except _Detached as left:
                say(self.flags, f"Detached in the step {left.step}; the same call again goes on with the sweep.")
                emit({"job": left.job, "step": left.step, "sweep": self.id})
                return DONE

    async def _walk(self, session: LiveSession, dry_run: bool) -> int:
        """The gates of all, then one unit after the other."""
        wholes, skipped, blocked = await self._gates(session)
        plan = self._plan(list(wholes))
        self._tell(skipped, blocked, plan)
        if blocked:
            raise StopError(GATE, " ".join(blocked))
        while plan and not dry_run:
            await self._unit(session, plan[0], wholes[plan[0].recipe])
            plan = [unit for unit in self._plan(list(wholes)) if unit.recipe not in self.failed]
            if plan:
                self._price(plan)
        if self.failed:
            await self.servers.back()
        self._emit(skipped, plan, points_of(self._left(list(wholes))), dry_run=dry_run)
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
                if self.detach:
                    raise _Detached("bench", job.id)
                say(self.flags, f"Taking up {job.id}.")
                fields = {name: getattr(job, name) for name in Started.__struct_fields__}
                await finished(self.flags, session, self.host, Started(**fields), quiet=True)

    async def _gates(self, session: LiveSession) -> tuple[dict[str, WholePlan], list[Skipped], list[str]]:
        """All gates of all recipes: plans that may run, combinations with a broken rule, every blocker once."""
        wholes: dict[str, WholePlan] = {}
        rules: dict[str, str] = {}
        blocked: list[str] = []
        for name, recipe in self.recipes.items():
            say(self.flags, f"Checking {name} …")
            running = self.servers.in_the_way(recipe)
            own = frozenset(pid for one in running if one.seen for pid in one.seen.processes)
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

    def _left(self, names: list[str]) -> list[Unit]:
        done: set[Measured] = {
            (run.manifest.recipe, run.manifest.load.get("dataset", ""), point.name)
            for run in swept(store(), self.id)
            for point in run.points
            if not point.aborted
        }
        return remaining(units(names, self.sweep.baseline or "", self.preset, list(self.datasets)), done)

    def _plan(self, names: list[str]) -> list[Unit]:
        """What is left to measure, and fits into what is left of the time."""
        left = self._left(names)
        if self.budget_s is None:
            return left
        rest_s = self.budget_s - (time.monotonic() - self.began)
        return within(left, self.preset, rest_s, self.servers.start_s, self.servers.running())

    async def _unit(self, session: LiveSession, unit: Unit, whole: WholePlan) -> None:
        """One server and its points. A recipe that does not start is left out, the others go on."""
        recipe = whole.plan.recipe
        try:
            if self.detach and self.servers.running() != recipe.name:
                raise _Detached("serve", await self.servers.begun(recipe, whole))
            server = await self.servers.ready(recipe, whole)
            preset = msgspec.structs.replace(self.preset, dataset=self.datasets[unit.dataset])
            wish = Wish(preset, unit.points, self._words(), self.id, self.sweep.baseline or "")
            spec = await prepared(session, self.host, server, recipe, wish)
            if self.detach:
                raise _Detached("bench", (await begin(session, self.host, spec))[0].id)
            await measured(self.flags, session, self.host, spec, detach=False, quiet=True)
        except StopError as error:
            if error.exit_code not in (FAILED, GATE):
                raise
            self.failed.append(recipe.name)
            say(self.flags, f"{recipe.name}: {error.sentence}")

    def _words(self) -> str:
        return f"gpudeck sweep {self.host} {self.sweep.name}.toml"

    def _tell(self, skipped: list[Skipped], blocked: list[str], plan: list[Unit]) -> None:
        for one in skipped:
            say(self.flags, f"Not run: {one.recipe}: {one.rule}")
        for sentence in blocked:
            say(self.flags, f"Blocked: {sentence}")
        self._price(plan)

    def _cost(self, plan: list[Unit]) -> Price:
        return price(plan, self.preset, self.servers.start_s, self.servers.running())

    def _price(self, plan: list[Unit]) -> None:
        cost = self._cost(plan)
        times = f"about {duration(cost.likely_s)}, at most {duration(cost.longest_s)}"
        say(self.flags, f"Server starts: {cost.starts}, points: {cost.points}; {times}.")

    def _emit(self, skipped: list[Skipped], plan: list[Unit], left: int, *, dry_run: bool) -> None:
        if left > points_of(plan) and self.budget_s is not None:
            say(self.flags, f"The rest does not fit into {duration(self.budget_s)}: call it again to go on.")
        cost, runs = self._cost(plan), swept(store(), self.id)
        if not self.flags.json_output:
            order = [" ".join((f"{unit.recipe}:", unit.dataset, *(p.name for p in unit.points))) for unit in plan]
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
                "units": [
                    {"recipe": u.recipe, "dataset": u.dataset, "points": [p.name for p in u.points]} for u in plan
                ],
                "left": left,
                "skipped": [msgspec.to_builtins(one) for one in skipped],
                "failed": self.failed,
                "likely_s": cost.likely_s,
                "longest_s": cost.longest_s,
            }
        )


def points_of(plan: list[Unit]) -> int:
    return sum(len(unit.points) for unit in plan)


def sweep_hash(sweep: Sweep, recipes: list[Recipe], preset: Preset, datasets: dict[str, str]) -> str:
    """Another question, another sweep: 8 hexadecimal digits over recipes, points, data sets and preset."""
    asked = [sweep, [(recipe.name, recipe.args) for recipe in recipes], preset, datasets]
    return hashlib.sha256(msgspec.json.encode(asked, order="sorted")).hexdigest()[:8]
