"""`bench --second-opinion`: SGLang's own benchmark on the same server, both results side by side."""

from __future__ import annotations

from typing import NamedTuple

import click

from console.bench.compare import compare
from console.bench.import_values import ImportFormatError
from console.bench.lines import comparison_lines
from console.bench.presets import Preset
from console.cli import serving
from console.cli.flags import Flags
from console.cli.follow import asking, begin, box_of, follow
from console.cli.output import say
from console.cli.runs import found, store
from console.cli.stop import FAILED, StopError
from console.config.records import Recipe
from console.session.live import LiveSession
from console.state.serve import ServerState
from console.values import known
from console.views.jobs import find_job
from console.workers import bench as worker
from console.workers import second_opinion as opinion
from console.workers.bench_watch import fetch


class Asked(NamedTuple):
    """What was measured, for a second opinion: the server, its recipe, the preset, our run."""

    server: ServerState
    recipe: Recipe | None
    preset: Preset
    run: str


async def second_opinion(flags: Flags, session: LiveSession, host: str, asked: Asked) -> None:
    """One call for each concurrency, one run for all of them. Raises StopError."""
    box, state = box_of(session, host), session.state.hosts[host]
    key = serving.secrets_of(asked.recipe).flags.get("api-key") if asked.recipe else None
    env = asked.recipe.env if asked.recipe else {}
    job, seen = find_job(state, asked.server.id), asked.server.seen
    assert seen is not None
    with asking():
        subject = await worker.look(box, seen, state.hardware, job.meta if job else {}, key)
        python = worker.interpreter(box, subject, asked.recipe.python if asked.recipe else None)
        try:
            module = await opinion.module_of(box.agent, python, env)
        except opinion.NoBenchmarkError as error:
            raise StopError(FAILED, f"{error}.") from error
    data = b""
    runs = store()
    ours = found(runs, asked.run)
    seen_at = {p.concurrency: (p.requests, p.request_s if known(p.request_s) else 0.0) for p in ours.points}
    for users in asked.preset.concurrency:
        say(flags, f"{module} at C={users}")
        spec = opinion.job_spec(subject, asked.preset, users, module, python, key, env, *seen_at.get(users, (0, 0.0)))
        started, _ = await begin(session, host, spec)
        ended = await follow(session, host, started, lambda _: None, flags.timeout)
        if ended.exit_code != 0:
            raise StopError(FAILED, f"{module} failed at C={users}: `gpudeck jobs {host} show {started.id}`.")
        with asking():
            data += await fetch(box_of(session, host), f"{started.directory}/{opinion.RESULT}")
    try:
        manifest, points = opinion.as_run(data, ours.manifest)
    except ImportFormatError as error:
        raise StopError(FAILED, f"{error}.") from error
    runs.create(manifest)
    for point in points:
        runs.add_point(manifest.id, point)
    for remark in manifest.remarks:
        say(flags, f"{manifest.source}: {remark}.")
    if not flags.json_output:
        click.echo("\n".join(comparison_lines(compare(ours, runs.load(manifest.id)))))
