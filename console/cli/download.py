"""`gpudeck download HOST REPO`: gates, then a job on the box that ends with every hash proved."""

from __future__ import annotations

from typing import Any

import click

from console.cli.boxes import configuration, connected, host_named, run
from console.cli.flags import Flags
from console.cli.follow import begin, box_of, follow
from console.cli.hub import Teller, changing, ending, hub_answers, show_gates, target_options, want_of
from console.cli.output import emit, say
from console.cli.status import settled
from console.cli.stop import DONE, FAILED, USAGE, StopError
from console.events.hub import RepoVerified
from console.gates.gate import Gate
from console.gates.plan import combined
from console.session.live import LiveSession
from console.values import Unknown, known
from console.views.hub import index_sentence
from console.views.hub_transfers import VERIFY_SCHEMA, verify_lines, verify_value
from console.views.plan import gate_record
from console.workers import hub
from console.workers.hub import Want
from console.workers.hub_gates import disk_gates
from console.workers.hub_jobs import Transfer, spec_of
from console.workers.hub_plan import see_what_could_go


@click.command("download")
@click.argument("host")
@click.argument("repo")
@target_options
@click.option("--python", metavar="P", help="Interpreter on the box with huggingface_hub.")
@click.option("--accept", default="", metavar="GATES", help="Gates to accept: tight.")
@click.option("--detach", is_flag=True, help="Print the job and leave it.")
@click.option("--dry-run", is_flag=True, help="Ask the gates, and download nothing.")
@click.pass_obj
def command(flags: Flags, /, host: str, repo: str, **given: Any) -> int:
    """Download a repository and prove every byte. After exit 7 the same command fetches exactly the bad files again."""
    accept = tuple(name for name in given["accept"].split(",") if name)
    if unfit := [name for name in accept if name != "tight"]:
        raise StopError(USAGE, f"{unfit[0]} is no gate of a download that can be accepted; there is tight.")
    want = want_of(host_named(configuration(flags), host), repo, given, given["revision"] or "main")
    return run(_download(flags, host, want, given, accept))


async def _download(flags: Flags, host: str, want: Want, given: dict[str, Any], accept: tuple[str, ...]) -> int:
    async with connected(flags, host, follows=not (given["dry_run"] or given["detach"])) as session:
        if not given["dry_run"]:
            changing(session, host, "nothing is downloaded")
        box = box_of(session, host)
        place, want = hub.place_of(box, given["python"]), hub.placed(box, want)
        await settled(session, host)
        with hub_answers():
            (looked,) = await hub.look(box, place, [want])
            await see_what_could_go(box, place, [looked], session.state.hosts[host])
        gates = (looked.gate, *disk_gates([looked], session.state.hosts[host]))
        show_gates(flags, gates)
        if looked.manifest and (said := index_sentence(looked.manifest)):
            say(flags, f"warn  index  {said}")
        code = combined(gates, accept)
        if looked.manifest and not looked.manifest.files:
            raise StopError(FAILED, f"No file of {want.repo} is selected; --include and --exclude take whole paths.")
        if given["dry_run"]:
            _dry(flags, session, host, looked, gates)
        elif code:
            raise StopError(code, next(gate.sentence for gate in gates if combined([gate], accept) == code))
        if not code and looked.access.origin == "laptop":
            raise StopError(FAILED, hub.install_sentence(place))
        if given["dry_run"]:
            return code
        commit = looked.access.commit
        pinned = str(commit) if known(commit) else None
        transfer = Transfer(want=want, commit=pinned, files=looked.files)
        return await transferred(flags, session, host, "download", place, transfer, given["detach"])


def _dry(flags: Flags, session: LiveSession, host: str, looked: hub.Looked, gates: tuple[Gate, ...]) -> None:
    unlisted = Unknown(f"its files were not listed ({looked.access.access})")
    missing, have = (looked.missing_files, looked.have_bytes) if looked.manifest else (unlisted, unlisted)
    value = {
        "schema": "gpudeck.download/1", "ts": session.header.at(session.state.t), "host": host, "dry_run": True,
        "repo": looked.want.repo, "commit": looked.access.commit, "path": looked.want.path,
        "missing_files": missing, "have_bytes": have, "gates": [gate_record(gate) for gate in gates],
    }  # fmt: skip
    if flags.json_output:
        emit(value)
    elif not known(missing):
        click.echo(f"What it would fetch is unknown: {missing.reason}.")
    else:
        files = "1 file" if missing == 1 else f"{missing} files"
        click.echo(f"Would fetch {files} of {looked.want.repo} into {looked.want.path}.")


async def transferred(
    flags: Flags, session: LiveSession, host: str, kind: str, place: hub.Place, transfer: Transfer, detach: bool
) -> int:
    """Start the job or find it running, follow it unless detached, report its proof."""
    started, new = await begin(session, host, spec_of(kind, place, transfer))
    if not new:
        say(flags, f"The same {kind} runs already: job {started.id}.")
    if detach:
        emit({"job": started.id})
        return DONE
    teller = Teller(flags, host, transfer.want, started.id)
    await follow(session, host, started, teller, flags.timeout)
    code = ending(teller.end, started.id)
    assert isinstance(teller.end, RepoVerified)
    if flags.json_output:
        emit({"schema": VERIFY_SCHEMA, "ts": session.header.at(session.state.t)} | verify_value(teller.end))
    else:
        click.echo("\n".join(verify_lines(teller.end)))
    return code
