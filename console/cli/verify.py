"""`gpudeck verify HOST REPO`: names, sizes and hashes against the manifest; of a directory its own headers."""

from __future__ import annotations

from typing import Any

import click

from console.cli.boxes import configuration, connected, host_named, run
from console.cli.download import transferred
from console.cli.flags import Flags
from console.cli.follow import box_of
from console.cli.hub import changing, hub_answers, target_options, want_of
from console.cli.output import emit
from console.cli.stop import DONE, MISMATCH
from console.events.hub import StoredModel
from console.session.live import LiveSession
from console.values import format_gb
from console.views.hub_models import model_value
from console.views.hub_transfers import VERIFY_SCHEMA, verify_lines, verify_value
from console.workers import hub
from console.workers.hub import Want
from console.workers.hub_jobs import Transfer


@click.command("verify")
@click.argument("host")
@click.argument("repo")
@target_options
@click.option("--python", metavar="P", help="Interpreter on the box with huggingface_hub.")
@click.option("--again", is_flag=True, help="Hash files that are proved already, too.")
@click.option("--detach", is_flag=True, help="Print the job and leave it.")
@click.option("--dry-run", is_flag=True, help="Say what would be proved, and do nothing.")
@click.pass_obj
def command(flags: Flags, /, host: str, repo: str, **given: Any) -> int:
    """Prove what is on the box: exit 7 when a file is missing, truncated, corrupt or of another revision.

    Without --revision: against the commit that was downloaded. An absolute path instead of an id: config, tokenizer
    and every shard with the length that its header gives.
    """
    if repo.startswith("/"):
        return run(_local(flags, host, repo, given["python"]))
    want = want_of(host_named(configuration(flags), host), repo, given, given["revision"] or "")
    return run(_verify(flags, host, want, given))


async def _verify(flags: Flags, host: str, want: Want, given: dict[str, Any]) -> int:
    async with connected(flags, host) as session:
        box = box_of(session, host)
        place, want = hub.place_of(box, given["python"]), hub.placed(box, want)
        if given["dry_run"]:
            with hub_answers():
                (model,) = await hub.read_stored(box, place, [str(want.path)])
            return _would(flags, session, host, want, model)
        changing(session, host, "a verification writes its proof there")
        transfer = Transfer(want=want, again=given["again"])
        return await transferred(flags, session, host, "verify", place, transfer, given["detach"])


def _would(flags: Flags, session: LiveSession, host: str, want: Want, model: StoredModel) -> int:
    """A dry run: what is there, and how far it is proved now."""
    if flags.json_output:
        head = {"schema": VERIFY_SCHEMA, "ts": session.header.at(session.state.t), "host": host, "dry_run": True}
        emit(head | {"repo": want.repo, **model_value(model)} | {"path": want.path})
    else:
        click.echo(f"Would prove {want.repo} in {want.path}: {format_gb(model.size_bytes)}, now {model.proof}.")
    return DONE


async def _local(flags: Flags, host: str, path: str, python: str | None) -> int:
    async with connected(flags, host) as session:
        box = box_of(session, host)
        with hub_answers():
            told = await hub.verify_local(box, hub.place_of(box, python), path)
        if flags.json_output:
            emit({"schema": VERIFY_SCHEMA, "ts": session.header.at(session.state.t)} | verify_value(told))
        else:
            click.echo("\n".join(verify_lines(told)))
        return DONE if told.result == "ok" else MISMATCH
