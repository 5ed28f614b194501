"""`gpudeck preflight HOST RECIPE`: all gates of a recipe, all blockers in one list, nothing changed on the box."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import click
import msgspec

from console.cli.boxes import connected, run
from console.cli.flags import Flags
from console.cli.output import emit, say
from console.cli.status import settled
from console.cli.stop import CONNECTION, USAGE, StopError
from console.config import ConfigError
from console.config.checks import recipe_problems
from console.config.recipes import RecipeBook, for_host, load_recipes
from console.config.records import FlagValue, Recipe
from console.models.launch import shown
from console.remote.errors import LinkLost
from console.session.live import LiveSession
from console.values import Unknown, known
from console.views.plan import SCHEMA, preflight, preflight_lines
from console.workers.plan import Plan
from console.workers.whole_plan import whole_plan

ACCEPTABLE = ("tight", "remote-code", "adopt")


class Wish(NamedTuple):
    """What was asked for beside the recipe."""

    accept: tuple[str, ...]
    concurrency: int | None
    smoke: bool
    dry_run: bool


@click.command("preflight", context_settings={"ignore_unknown_options": True})
@click.argument("host")
@click.argument("words", nargs=-1, metavar="RECIPE", type=click.UNPROCESSED)
@click.option("--model", metavar="ID", help="A repository id or a directory of the box, instead of a recipe.")
@click.option("--draft", metavar="ID", help="The drafter.")
@click.option("--dir", "directory", metavar="D", help="Where the repositories lie on the box: D/<name>.")
@click.option("--python", metavar="P", help="The interpreter with SGLang.")
@click.option("--port", type=click.IntRange(1, 65535), help="The port of the server.")
@click.option("--concurrency", type=click.IntRange(min=1), metavar="N", help="Requests at once that will be asked.")
@click.option("--smoke", is_flag=True, help="Run an all-reduce over the GPUs, at most 20 s.")
@click.option("--accept", default="", metavar="GATES", help="Gates to accept: tight, remote-code.")
@click.option("--dry-run", is_flag=True, help="Show the command line and the environment of the start, too.")
@click.pass_obj
def command(flags: Flags, /, host: str, words: tuple[str, ...], **given: Any) -> int:
    """All gates of a recipe; --dir, --draft, --python and --port stand above its own values.

    With --model, every further --flag VALUE is one of SGLang's (--tp 8).
    """
    accept = tuple(name for name in given["accept"].split(",") if name)
    if unfit := [name for name in accept if name not in ACCEPTABLE]:
        raise StopError(USAGE, f"{unfit[0]} is no gate that can be accepted; there are {', '.join(ACCEPTABLE)}.")
    chosen = _adhoc(given["model"], words) if given["model"] else named(flags, _recipe_name(words))
    chosen = _above(chosen, given)
    wish = Wish(accept=accept, concurrency=given["concurrency"], smoke=given["smoke"], dry_run=given["dry_run"])
    return run(_preflight(flags, host, chosen, wish))


def _recipe_name(words: Sequence[str]) -> str:
    options = [word for word in words if word.startswith("--")]
    if options:
        raise StopError(USAGE, f"{options[0]} is no option of preflight; SGLang's flags stand in the recipe.")
    if len(words) != 1:
        raise StopError(USAGE, "Name one recipe, or a model with --model.")
    return words[0]


def book(flags: Flags) -> RecipeBook:
    """Every recipe in reach of this directory."""
    try:
        return load_recipes(cwd=Path.cwd(), env=os.environ, config_file=flags.config)
    except ConfigError as error:
        raise StopError(USAGE, f"{error}.") from error


def named(flags: Flags, name: str) -> Recipe:
    """A recipe by its name."""
    try:
        return book(flags).get(name)
    except ConfigError as error:
        raise StopError(USAGE, f"{error}.") from error


def _adhoc(model: str, words: Sequence[str]) -> Recipe:
    """A recipe from the command line alone."""
    return Recipe(name="(command line)", model=model, args=flag_words(words))


def _above(recipe: Recipe, given: dict[str, Any]) -> Recipe:
    """The recipe with the options of the command line; a directory that is given is where both repositories lie."""
    values = {key: given[key] for key in ("draft", "port") if given[key] is not None}
    if given["directory"] is not None:
        values |= {"dir": given["directory"], "path": None, "draft_dir": None, "draft_path": None}
    checked = {**values, "model": recipe.model, "args": recipe.args}
    if problem := next((sentence for _, sentence in recipe_problems(checked)), None):
        raise StopError(USAGE, f"{problem}.")
    return msgspec.structs.replace(recipe, **values, python=given["python"] or recipe.python)


def flag_words(words: Sequence[str]) -> dict[str, FlagValue]:
    """`--tp 8 --trust-remote-code` → `{"tp": 8, "trust-remote-code": True}`."""
    args: dict[str, FlagValue] = {}
    name = ""
    for word in words:
        if word.startswith("--"):
            name, equals, value = word[2:].partition("=")
            args[name] = _value(value) if equals else True
        elif name and args[name] is True:
            args[name] = _value(word)
        else:
            raise StopError(USAGE, f"{word!r} belongs to no flag.")
    return args


def _value(text: str) -> int | float | str:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


async def _preflight(flags: Flags, name: str, recipe: Recipe, wish: Wish) -> int:
    async with connected(flags, name) as session:
        say(flags, f"Asking {name} for everything that {recipe.name} needs …")
        await settled(session, name)
        plan = await _checked(session, name, recipe, wish)
        _print(flags, session, name, plan, wish.dry_run)
        return plan.exit_code


async def _checked(session: LiveSession, name: str, recipe: Recipe, wish: Wish) -> Plan:
    """The plan of a recipe on a connected box."""
    box, host = session.box(name), session.state.hosts[name]
    if box is None:
        raise StopError(CONNECTION, host.link.sentence or f"{name} is not connected.")
    try:
        whole = await whole_plan(
            box,
            host,
            for_host(recipe, box.config),
            accept=wish.accept,
            concurrency=wish.concurrency,
            smoke=wish.smoke,
        )
    except LinkLost as error:
        raise StopError(CONNECTION, str(error)) from error
    return whole.plan


def _print(flags: Flags, session: LiveSession, name: str, plan: Plan, dry_run: bool) -> None:
    record = session.state.hosts[name].plan.recipes[plan.recipe.name]
    if flags.json_output:
        head = {"schema": SCHEMA, "ts": session.header.at(session.state.t)}
        emit(head | preflight(record) | (launch_values(plan) if dry_run else {}))
        return
    click.echo("\n".join(preflight_lines(record)))
    if dry_run:
        click.echo("\n".join(launch_lines(plan)))


def launch_lines(plan: Plan) -> list[str]:
    """The command line and its environment as a shell would take them, secrets masked, or why there is none."""
    if not known(plan.launch):
        return [f"argv  {plan.launch}: {plan.launch.reason}"]
    argv, env = shown(plan.launch)
    return [f"argv  {shlex.join(argv)}", f"env   {' '.join(f'{key}={shlex.quote(env[key])}' for key in env)}"]


def launch_values(plan: Plan) -> dict[str, Any]:
    """`argv[]` and `env{}` of the start, secrets masked."""
    if not known(plan.launch):
        return {"argv": Unknown(plan.launch.reason), "env": Unknown(plan.launch.reason)}
    argv, env = shown(plan.launch)
    return {"argv": argv, "env": env}
