"""`gpudeck bench HOST`: measures the running server with a load worker on the box, and stores the run."""

from __future__ import annotations

import asyncio
import os
import shlex
from typing import Any

import click
import msgspec

from console.bench.datasets import Dataset, DatasetError, dataset
from console.bench.presets import (
    EXACT,
    MAX_CONCURRENCY,
    PRESETS,
    SLOS,
    PlannedPoint,
    Preset,
    estimate,
    fitting,
    planned,
    spoken,
)
from console.bench.store import Run, run_json
from console.cli import serving
from console.cli.boxes import connected, run
from console.cli.flags import Flags
from console.cli.follow import asking, begin, box_of, follow
from console.cli.hub import changing
from console.cli.output import emit, say, utc_now
from console.cli.preflight import named
from console.cli.runs import found, store
from console.cli.status import settled
from console.cli.stop import DONE, FAILED, GATE, USAGE, StopError
from console.config.records import Recipe
from console.events.bench import StoringFailed
from console.session.live import LiveSession
from console.state import State
from console.state.bench import BenchRun
from console.state.serve import ServerState
from console.values import CleanText, clean
from console.views import bench as views
from console.views.jobs import find_job
from console.views.serve import main_server
from console.views.upset import unstored_sentence
from console.workers import bench as worker
from console.workers.jobs import JobSpec, Started

STORED_S = 60.0


def concurrency_list(text: str) -> tuple[int, ...]:
    """`1,8,64` as numbers, ascending. Raises StopError."""
    try:
        users = tuple(sorted({int(part) for part in text.split(",")}))
    except ValueError:
        users = ()
    if not users or users[0] < 1 or users[-1] > MAX_CONCURRENCY:
        raise StopError(USAGE, f"--concurrency takes numbers from 1 to {MAX_CONCURRENCY} with commas, not {text!r}.")
    return users


def preset_of(given: dict[str, Any]) -> Preset:
    """The named preset with what the command line changes."""
    preset = PRESETS[given["preset"]]
    changes: dict[str, Any] = {name: given[name] for name in ("isl", "repeats", "dataset", "backend") if given[name]}
    if given["concurrency"]:
        changes["concurrency"] = concurrency_list(given["concurrency"])
    if given["osl"]:
        changes |= {"osl": given["osl"], "osl_high": given["osl"]}
    if given["window"]:
        changes |= {"window_s": given["window"], "window_max_s": 2 * given["window"]}
    if given["slo"]:
        changes["slo"] = SLOS[given["slo"]]
    if given["warm_cache"]:
        changes["cache"] = "warm"
    return msgspec.structs.replace(preset, **changes)


@click.command("bench")
@click.argument("host")
@click.option("--preset", type=click.Choice(list(PRESETS)), default="smoke", show_default=True, help="What to measure.")
@click.option("--concurrency", metavar="1,8,64", help="Users at once, each a point.")
@click.option("--isl", type=click.IntRange(1, 1 << 20), metavar="N", help="Input length in tokens (words for texts).")
@click.option("--osl", type=click.IntRange(2, 1 << 20), metavar="N", help="Output length in tokens.")
@click.option("--repeats", type=click.IntRange(1, 100), metavar="N", help="Rounds over all points.")
@click.option("--dataset", metavar="D", help="random-ids, synthetic, own, own:CATEGORY, or a JSONL file.")
@click.option("--window", type=click.FloatRange(1, 3600), metavar="S", help="Length of a measured window in seconds.")
@click.option("--backend", type=click.Choice(["generate", "chat"]), help="SGLang's own endpoint, or OpenAI's chat.")
@click.option("--slo", type=click.Choice(list(SLOS)), help="Latency limits for goodput.")
@click.option("--warm-cache", is_flag=True, help="Let the prefix cache help: the same few prompts again and again.")
@click.option("--recipe", metavar="R", help="The recipe that runs: its key, its interpreter, its name.")
@click.option("--server", metavar="S", help="Which server, by id, port or unit.")
@click.option("--second-opinion", is_flag=True, help="SGLang's own benchmark afterwards, both side by side.")
@click.option("--detach", is_flag=True, help="Print the job and leave it.")
@click.option("--dry-run", is_flag=True, help="Show the points and what they cost, and measure nothing.")
@click.pass_obj
def command(flags: Flags, /, host: str, **given: Any) -> int:
    """Measure the running server: throughput, latencies, accept length, energy, at each concurrency.

    Presets: smoke, a first look; sweep, the capacity curve; publish, with repeats and long windows; accept, the accept
    length on real prompts; exact, greedy answers against the autoregressive server's; slo, offered rates against
    latency limits. What stands beside --preset replaces its own value; --dry-run shows what comes of it.
    """
    return run(_bench(flags, host, preset_of(given), given))


async def _bench(flags: Flags, host: str, preset: Preset, given: dict[str, Any]) -> int:
    recipe = named(flags, given["recipe"]) if given["recipe"] else None
    async with connected(flags, host, follows=not (given["dry_run"] or given["detach"])) as session:
        if not given["dry_run"]:
            changing(session, host, "nothing is measured")
        await settled(session, host)
        server = ready_server(session, host, given["server"] or "")
        own = serving.recipe_on(session, host, recipe) if recipe else serving.recipe_of(flags, session, host, server)
        wish = Wish(preset, tuple(planned(preset)), command_line(host, given))
        spec = await prepared(session, host, server, own, wish)
        if given["dry_run"]:
            return _dry(flags, host, preset, spec)
        say(flags, price_sentence(preset))
        stored = await measured(flags, session, host, spec, detach=given["detach"])
        if given["second_opinion"] and stored:
            from console.cli.second_opinion import Asked, second_opinion

            await second_opinion(flags, session, host, Asked(server, own, preset, stored))
        return DONE


def command_line(host: str, given: dict[str, Any]) -> str:
    """The same wish at the command line, for the manifest."""
    words = ["gpudeck", "bench", host]
    for name, value in given.items():
        option = "--" + name.replace("_", "-")
        if value is True:
            words.append(option)
        elif value:
            words += [option, str(value)]
    return shlex.join(words)


def ready_server(session: LiveSession, host: str, name: str) -> ServerState:
    """The server to measure; a server that is not ready is a gate."""
    server = main_server(session.state.hosts[host], name)
    if server is None or server.seen is None:
        raise StopError(FAILED, f"No server runs on {host}: `gpudeck serve {host} start RECIPE`.")
    if server.phase != "ready":
        raise StopError(GATE, f"{server.id} is not ready ({server.phase}).")
    return server


class Wish(msgspec.Struct, frozen=True):
    """What to measure: a preset, the points of it, and how it was asked for."""

    preset: Preset
    points: tuple[PlannedPoint, ...]
    command: str
    sweep: str = ""
    baseline: str = ""


async def prepared(session: LiveSession, host: str, server: ServerState, recipe: Recipe | None, wish: Wish) -> JobSpec:
    """The job that measures this server."""
    preset = wish.preset
    box, hardware = box_of(session, host), session.state.hosts[host].hardware
    job = find_job(session.state.hosts[host], server.id)
    key = serving.secrets_of(recipe).flags.get("api-key") if recipe else None
    assert server.seen is not None
    with asking():
        subject = await worker.look(box, server.seen, hardware, job.meta if job else {}, key)
    if recipe is not None and not subject.recipe:
        subject = msgspec.structs.replace(subject, recipe=recipe.name)
    data = _data(preset, subject)
    told = worker.manifest(box, subject, hardware, preset, data, wish.command)
    told = msgspec.structs.replace(told, sweep=wish.sweep, baseline=wish.baseline)
    python = worker.interpreter(box, subject, recipe.python if recipe else None)
    return worker.job_spec(subject, preset, wish.points, data, told, python, key)


def _data(preset: Preset, subject: worker.Subject) -> Dataset:
    try:
        found = dataset(os.path.expanduser(preset.dataset), preset.isl, worker.vocabulary(subject))
        return fitting(preset, found)
    except DatasetError as error:
        raise StopError(USAGE, f"--dataset: {error}.") from error


def price_sentence(preset: Preset) -> str:
    """What it costs, told before it starts."""
    return f"{estimate(preset)}."


def _dry(flags: Flags, host: str, preset: Preset, spec: JobSpec) -> int:
    cost = estimate(preset)
    if flags.json_output:
        value = {"schema": "gpudeck.bench/1", "ts": utc_now(), "host": host, "dry_run": True, "run": spec.meta["run"]}
        emit(value | {"points": planned(preset), "likely_s": cost.likely_s, "longest_s": cost.longest_s})
    else:
        click.echo(f"Would measure {'; '.join(spoken(point.name) for point in planned(preset))}.")
        click.echo(price_sentence(preset))
    return DONE


async def measured(
    flags: Flags, session: LiveSession, host: str, spec: JobSpec, *, detach: bool, quiet: bool = False
) -> str:
    """Start the job or find it running; follow it until its points are stored. `quiet`: no run on standard output.

    The id of the run that is stored, which is an earlier one when it was found running; empty when it was left alone.
    """
    started, new = await begin(session, host, spec)
    if not new:
        say(flags, f"A measurement of this server runs already (job {started.id}): following it.")
    if detach:
        emit({"job": started.id, "directory": started.directory})
        return ""
    return await finished(flags, session, host, started, quiet=quiet)


async def finished(flags: Flags, session: LiveSession, host: str, started: Started, *, quiet: bool = False) -> str:
    """Narrate to the end, then report the stored run. Its id."""

    def show(row: dict[str, Any]) -> None:
        for line in views.progress_lines(row):
            say(flags, line)

    telling = asyncio.create_task(_tell_unstored(flags, session, host, clean(started.id)))
    try:
        await follow(session, host, started, show, flags.timeout)
        await session.wait(lambda state: _stored(state, host, started.id), STORED_S)
    finally:
        telling.cancel()
        await asyncio.wait([telling])
    seen = session.state.hosts[host].bench.runs.get(started.id)
    if seen is None or seen.ended is None:
        raise StopError(FAILED, _missing(host, started.id, seen))
    if not quiet:
        _report(flags, session, found(store(), seen.began.run), views.compared(seen))
    for line in views.compared_lines(seen):
        say(flags, line)
    for name, sentence in seen.failed:
        say(flags, f"{name}: {sentence}")
    if seen.ended.sentence:
        raise StopError(FAILED, f"{_capital(seen.ended.sentence)}.")
    return str(seen.began.run)


async def _tell_unstored(flags: Flags, session: LiveSession, host: str, job: CleanText) -> None:
    """Say once that this laptop has no room for what is measured."""

    def unstored(state: State) -> StoringFailed | None:
        seen = state.hosts[host].bench.runs.get(job)
        return seen.unstored if seen else None

    await session.wait(lambda state: unstored(state) is not None)
    if failed := unstored(session.state):
        say(flags, f"{_capital(unstored_sentence(failed))}.")


def _missing(host: str, job: str, seen: BenchRun | None) -> str:
    why = f"{_capital(unstored_sentence(seen.unstored))}." if seen and seen.unstored else "It did not arrive."
    return f"What {job} measured is not stored. {why} `gpudeck {host}` takes it up."


def _report(flags: Flags, session: LiveSession, stored: Run, compared: list[dict[str, Any]]) -> None:
    if flags.json_output:
        head = {"schema": "gpudeck.run/1", "ts": session.header.at(session.state.t)}
        emit(head | run_json(stored) | ({"compared": compared} if stored.manifest.preset == EXACT else {}))
    else:
        click.echo("\n".join(views.run_lines(stored)))


def _capital(sentence: str) -> str:
    return (sentence[:1].upper() + sentence[1:]).rstrip(".")


def _stored(state: State, host: str, job: str) -> bool:
    run = state.hosts[host].bench.runs.get(clean(job))
    return run is not None and run.ended is not None
