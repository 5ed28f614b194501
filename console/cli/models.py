"""`gpudeck models HOST list|rm PATH`: what is stored on a box, and deleting it."""

from __future__ import annotations

import click

from console.cli.boxes import connected, run
from console.cli.flags import Flags
from console.cli.follow import box_of
from console.cli.hub import changing, confirmed, hub_answers
from console.cli.output import emit, say
from console.cli.stop import DONE, GATE, USAGE, StopError
from console.events.hub import StoredModel
from console.session.live import LiveSession
from console.values import clean, format_gb
from console.views.hub_models import model_lines, model_value
from console.workers import hub

SCHEMA = "gpudeck.models/1"
_REFUSED = {
    "missing": "there is no such directory",
    "link": "it is a link; delete what it points to",
    "no_model": "the directory is no model",
}


@click.command("models")
@click.argument("host")
@click.argument("action", type=click.Choice(["list", "rm"]), default="list")
@click.argument("path", required=False)
@click.option("--dir", "roots", multiple=True, metavar="D", help="Look here, too (repeatable).")
@click.option("--leftovers", is_flag=True, help="Delete only what killed downloads left (rm).")
@click.option("--yes", is_flag=True, help="Delete without asking.")
@click.option("--dry-run", is_flag=True, help="Say what would be deleted, and delete nothing.")
@click.pass_obj
def command(
    flags: Flags,
    host: str,
    action: str,
    path: str | None,
    roots: tuple[str, ...],
    leftovers: bool,
    yes: bool,
    dry_run: bool,
) -> int:
    """Models per device with size, proof and who has them open."""
    if (action == "rm") != (path is not None):
        raise StopError(USAGE, "`models HOST rm PATH` takes one path, `list` takes none.")
    return run(_Command(flags, host, leftovers, yes, dry_run).run(roots, path))


class _Command:
    def __init__(self, flags: Flags, host: str, leftovers: bool, yes: bool, dry_run: bool) -> None:
        self.flags, self.host, self.leftovers, self.yes, self.dry_run = flags, host, leftovers, yes, dry_run

    async def run(self, roots: tuple[str, ...], path: str | None) -> int:
        async with connected(self.flags, self.host) as session:
            box = box_of(session, self.host)
            place = hub.place_of(box)
            if path is not None and not self.dry_run:
                changing(session, self.host, "nothing is deleted")
            with hub_answers():
                if path is not None:
                    return await self._remove(session, place, path)
                models = await hub.read_inventory(box, place, [*roots, *([box.config.dir] if box.config.dir else [])])
            self._list(session, models)
            return DONE

    def _list(self, session: LiveSession, models: tuple[StoredModel, ...]) -> None:
        if self.flags.json_output:
            head = {"schema": SCHEMA, "ts": session.header.at(session.state.t), "host": self.host}
            emit(head | {"models": [model_value(model) for model in models]})
        else:
            click.echo("\n".join(model_lines(models)))

    async def _remove(self, session: LiveSession, place: hub.Place, path: str) -> int:
        box = box_of(session, self.host)
        (model,) = await hub.read_stored(box, place, [path])
        size = model.orphan_bytes if self.leftovers else model.size_bytes
        what = (
            f"{format_gb(size)} of leftovers in {model.path}" if self.leftovers else f"{model.path} ({format_gb(size)})"
        )
        if self.dry_run:
            click.echo(f"Would delete {what}.")
            return DONE
        confirmed(f"Delete {what}?", self.yes)
        if self.leftovers:
            count, freed = await hub.remove_orphans(box, place, path)
            say(self.flags, f"Deleted {count} leftovers, {format_gb(freed)}.")
            return DONE
        told = await hub.remove_model(box, place, path)
        if told["removed"]:
            say(self.flags, f"Deleted {what}.")
            return DONE
        users = ", ".join(f"{clean(one['command'])} {one['pid']}" for one in told["open_by"])
        reason = _REFUSED.get(told["refused"], f"it is open by {users}")
        raise StopError(GATE, f"{model.path} was not deleted: {reason}.")
