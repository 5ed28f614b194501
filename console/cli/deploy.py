"""`gpudeck deploy HOST RECIPE`: from a recipe to a server that is proved ready; called again, it goes on."""

from __future__ import annotations

import click

from console.cli import serve_start, serving
from console.cli.boxes import connected, run
from console.cli.flags import Flags
from console.cli.follow import begin, box_of, follow
from console.cli.hub import Teller, changing, ending, hub_answers
from console.cli.output import emit, say
from console.cli.preflight import ACCEPTABLE, named
from console.cli.serving import Given
from console.cli.status import settled
from console.cli.stop import DONE, MISMATCH, USAGE, StopError
from console.config.records import Recipe
from console.session.live import LiveSession
from console.values import known
from console.workers import hub
from console.workers.hub_jobs import Transfer, spec_of
from console.workers.whole_plan import missing_looks


@click.command("deploy")
@click.argument("host")
@click.argument("recipe")
@click.option("--accept", default="", metavar="GATES", help="Gates to accept: tight, remote-code.")
@click.option("--swap", is_flag=True, help="Replace the running server; it returns when the new one is not ready.")
@click.option(
    "--grace",
    "grace_s",
    type=click.FloatRange(min=0),
    metavar="S",
    help="Seconds a replaced server gets to end (default: 60).",
)
@click.option("--detach", is_flag=True, help="Start the next step, print its job and leave it.")
@click.option("--dry-run", is_flag=True, help="Ask every gate, show the command line, and change nothing.")
@click.pass_obj
def command(
    flags: Flags, /, host: str, recipe: str, accept: str, swap: bool, grace_s: float | None, detach: bool, dry_run: bool
) -> int:
    """Preflight, download, verify, start, smoke test. What is done already is not done again."""
    accepted = tuple(one for one in accept.split(",") if one)
    if unfit := [one for one in accepted if one not in ACCEPTABLE]:
        raise StopError(USAGE, f"{unfit[0]} is no gate that can be accepted; there are {', '.join(ACCEPTABLE)}.")
    given = Given(accept=accepted, swap=swap, grace_s=grace_s, detach=detach, dry_run=dry_run)
    return run(_deploy(flags, host, named(flags, recipe), given))


async def _deploy(flags: Flags, host: str, recipe: Recipe, given: Given) -> int:
    async with connected(flags, host, follows=not (given.dry_run or given.detach)) as session:
        if not given.dry_run:
            changing(session, host, "nothing is deployed")
        await settled(session, host)
        recipe = serving.recipe_on(session, host, recipe)
        if not (given.dry_run or given.swap) and serve_start.same_job(session, host, recipe):
            return await serve_start.start(flags, session, host, recipe, given)
        say(flags, f"preflight: asking {host} for everything that {recipe.name} needs …")
        whole = await serving.planned(
            session, host, recipe, given.accept, serve_start.replaced(session, host, recipe, given)
        )
        if given.dry_run:
            return serving.show_dry(flags, session, host, whole)
        serving.must_pass(flags, whole, given.accept, stored=False)
        fetched = missing_looks(whole)
        for looked in fetched:
            job = await _fetch(flags, session, host, recipe, looked, given)
            if job is not None:
                emit({"job": job})
                return DONE
        return await serve_start.start(flags, session, host, recipe, given, None if fetched else whole)


async def _fetch(
    flags: Flags, session: LiveSession, host: str, recipe: Recipe, looked: hub.Looked, given: Given
) -> str | None:
    """Download one repository to its proof; the job's id when it is left to itself."""
    want, commit = looked.want, looked.access.commit
    say(flags, f"download: {want.repo} into {want.path} …")
    place = hub.place_of(box_of(session, host), recipe.python, recipe.env)
    transfer = Transfer(want=want, commit=str(commit) if known(commit) else None)
    with hub_answers():
        job, _ = await begin(session, host, spec_of("download", place, transfer))
    if given.detach:
        return str(job.id)
    teller = Teller(flags, host, want, job.id)
    await follow(session, host, job, teller, flags.timeout)
    if ending(teller.end, job.id) == MISMATCH:
        raise StopError(MISMATCH, f"{want.repo} in {want.path} is not what the Hub has: `gpudeck verify` lists it.")
    say(flags, f"verify: every byte of {want.repo} is proved.")
    return None
