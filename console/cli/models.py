"""`gpudeck models HOST list|rm PATH`: what is stored on a box, and deleting it."""

from __future__ import annotations

import click

from console.cli.boxes import connected, run
from console.cli.flags import Flags
from console.cli.follow import box_of
from console.cli.hub import changing, confirmed, hub_answers
from console.cli.output import emit
from console.cli.stop import DONE, FAILED, GATE, USAGE, StopError
from console.events.hub import StoredModel
from console.session.live import LiveSession
from console.values import format_gb
from console.views.hub_models import model_lines, model_value
from console.workers import hub

SCHEMA = "gpudeck.models/1"


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
    for each in (*roots, *(() if path is None else (path,))):
        if not each.startswith(("/", "~/")):
            raise StopError(USAGE, f"{each!r} must be an absolute path of the box.")
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
        would = await hub.remove_model(box, place, path, dry_run=True)
        if would.why and not (self.leftovers and would.why == "open"):  # those are nobody's
            raise StopError(FAILED if would.why == "missing" else GATE, _not_deleted(would))
        size = (await hub.read_stored(box, place, [path]))[0].orphan_bytes if self.leftovers else would.size_bytes
        whole = f"{would.path} ({format_gb(size)})"
        what = f"{format_gb(size)} of leftovers in {would.path}" if self.leftovers else whole
        if self.dry_run:
            return self._removed(session, would.path, size, f"Would delete {what}.")
        confirmed(f"Delete {what}?", self.yes)
        if self.leftovers:
            count, freed = await hub.remove_orphans(box, place, path)
            return self._removed(session, would.path, freed, f"Deleted {count} leftovers, {format_gb(freed)}.")
        done = await hub.remove_model(box, place, path)
        if done.why:
            raise StopError(GATE, _not_deleted(done))
        return self._removed(session, would.path, size, f"Deleted {what}.")

    def _removed(self, session: LiveSession, path: str, size: int, sentence: str) -> int:
        if self.flags.json_output:
            head = {"schema": SCHEMA, "ts": session.header.at(session.state.t), "host": self.host}
            dry = {"dry_run": True} if self.dry_run else {}
            emit(head | dry | {"path": path, "removed": not self.dry_run, "size_bytes": size})
        else:
            click.echo(sentence)
        return DONE


def _not_deleted(told: hub.Removal) -> str:
    return f"{told.path} was not deleted: {told.refused}."
