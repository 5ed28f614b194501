"""`gpudeck token HOST status|set|clear`: the Hugging Face token of a box. It is never an argument."""

from __future__ import annotations

import getpass
import sys
from typing import Any

import click

from console.cli.boxes import connected, run
from console.cli.flags import Flags
from console.cli.follow import box_of
from console.cli.hub import changing, confirmed, hub_answers
from console.cli.output import emit, say
from console.cli.stop import AUTH, CONNECTION, DONE, USAGE, StopError
from console.events.hub import TokenChecked
from console.session.live import LiveSession
from console.values.secrets import Secret
from console.views.hub import shape_sentence, token_sentence, token_value
from console.workers import hub

SCHEMA = "gpudeck.token/1"
_CODES = {"valid": DONE, "absent": DONE, "unreachable": CONNECTION}


@click.command("token")
@click.argument("host")
@click.argument("action", type=click.Choice(["status", "set", "clear"]), default="status")
@click.option("--python", metavar="P", help="Interpreter on the box (default: the host's, then python3).")
@click.option("--yes", is_flag=True, help="Replace or remove the token that is there.")
@click.option("--dry-run", is_flag=True, help="Say what would be done, and do nothing.")
@click.pass_obj
def command(flags: Flags, host: str, action: str, python: str | None, yes: bool, dry_run: bool) -> int:
    """The box's token, proved by one call. `set` reads it without echo, or from standard input."""
    return run(_token(flags, host, action, python, yes, dry_run))


async def _token(flags: Flags, host: str, action: str, python: str | None, yes: bool, dry_run: bool) -> int:
    async with connected(flags, host) as session:
        if action != "status" and not dry_run:
            changing(session, host, "its token stays")
        box = box_of(session, host)
        place = hub.place_of(box, python)
        with hub_answers():
            now = await hub.check_token(box, place)
            if action == "status" or dry_run:
                return _report(flags, session, host, now, dry_run)
            if now.state == "valid" and not (action == "clear" and now.source != "file"):
                verb = "Replace" if action == "set" else "Remove"
                confirmed(f"{token_sentence(now)} {verb} the token file?", yes)
            if action == "set":
                return await _set(flags, session, host, place)
            removed, used = await hub.clear_token(box, place)
        say(flags, "The token file was removed." if removed else "There was no token file.")
        _report(flags, session, host, used, False)
        return DONE


async def _set(flags: Flags, session: LiveSession, host: str, place: hub.Place) -> int:
    done = await hub.set_token(box_of(session, host), place, _read().reveal())
    if done.shape:
        raise StopError(USAGE, f"Nothing was written: what was given is no token, {shape_sentence(done.shape)}.")
    if not done.written or done.used is None:
        endpoint = done.given.endpoint if done.given else "the Hub"
        raise StopError(AUTH, f"Nothing was written: {endpoint} rejects this token.")
    say(flags, "The token was written.")
    return _report(flags, session, host, done.used, False)


def _read() -> Secret:
    """The token, from the terminal without echo or the whole of standard input."""
    if sys.stdin.isatty():
        return Secret(getpass.getpass("Hugging Face token: ", stream=sys.stderr))
    return Secret(sys.stdin.read(65536))


def _report(flags: Flags, session: LiveSession, host: str, fact: TokenChecked, dry_run: bool) -> int:
    if flags.json_output:
        head = {"schema": SCHEMA, "ts": session.header.at(session.state.t), "host": host}
        value: dict[str, Any] = token_value(session.state.hosts[host])
        emit(head | ({"dry_run": True} if dry_run else {}) | {"token": value, "sentence": token_sentence(fact)})
    else:
        click.echo(token_sentence(fact))
    return _CODES.get(fact.state, AUTH)
