"""`gpudeck recipe list|show|check|new`: how models are served, as files."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import click

from console.cli.flags import Flags
from console.cli.output import emit, say, utc_now
from console.cli.stop import DONE, FAILED, USAGE, StopError
from console.config import ConfigError, Recipe, RecipeBook, load_recipes, load_sweep, paths
from console.config.checks import model_problem, name_problem
from console.config.write import flat, like, origin_lines, recipe_toml, recipe_values

SCHEMA, LIST_SCHEMA = "gpudeck.recipe/1", "gpudeck.recipes/1"


@click.group("recipe")
def command() -> None:
    """Recipes: how a model is served."""


def recipe_book(flags: Flags, extra: Path | None = None) -> RecipeBook:
    """All recipes, those of the file `extra` first; a malformed one ends the command with 2."""
    try:
        return load_recipes(cwd=Path.cwd(), env=os.environ, config_file=flags.config, extra=extra)
    except ConfigError as error:
        raise StopError(USAGE, f"{error}.") from error


def recipe_named(flags: Flags, name: str) -> Recipe:
    """The recipe; one that does not exist ends the command with 2 and the nearest name."""
    try:
        return recipe_book(flags).get(name)
    except ConfigError as error:
        raise StopError(USAGE, f"{error}.") from error


@command.command("list")
@click.pass_obj
def list_recipes(flags: Flags) -> None:
    """Every recipe, and where it is defined."""
    book = recipe_book(flags)
    if flags.json_output:
        emit({"schema": LIST_SCHEMA, "ts": utc_now(), "recipes": [_item(book, one) for one in book.recipes.values()]})
        return
    width = max((len(name) for name in book.recipes), default=0)
    for name, recipe in book.recipes.items():
        drafted = f" + {recipe.draft}" if recipe.draft else ""
        click.echo(f"{name:<{width}}  {recipe.model}{drafted}  ({book.origin(name)})")
    if not book.recipes:
        say(flags, "No recipes yet: `gpudeck recipe new MODEL` writes one.")


def _item(book: RecipeBook, recipe: Recipe) -> dict[str, Any]:
    origin = book.origin(recipe.name)
    return {
        "name": recipe.name, "model": recipe.model, "draft": recipe.draft, "description": recipe.description,
        "layer": origin.layer, "file": origin.file, "line": origin.line,
    }  # fmt: skip


@command.command("show")
@click.argument("name")
@click.option("--origin", is_flag=True, help="Say where each value comes from.")
@click.pass_obj
def show(flags: Flags, name: str, origin: bool) -> None:
    """One recipe with everything that it extends."""
    recipe = recipe_named(flags, name)
    if flags.json_output:
        emit({"schema": SCHEMA, "ts": utc_now(), "name": name} | recipe_values(recipe))
    elif origin:
        values = flat(recipe_values(recipe), ("recipes", name))
        click.echo("\n".join(origin_lines(values, recipe_book(flags).origins)))
    else:
        click.echo(recipe_toml(recipe), nl=False)


@command.command("check")
@click.argument("what", required=False, metavar="[RECIPE|FILE]")
@click.pass_obj
def check(flags: Flags, what: str | None) -> int:
    """Check all recipes, one, or those and the sweep of a file. What SGLang thinks of the flags, `preflight` says."""
    file = Path(what) if what and (what.endswith(".toml") or os.sep in what) else None
    book = recipe_book(flags, file)
    names = list(book.recipes)
    try:
        if file is not None and re.search(r"(?m)^\s*\[\s*sweep", file.read_text("utf-8")):
            load_sweep(file, book)
        elif what and file is None:
            names = [book.get(what).name]
    except ConfigError as error:
        raise StopError(USAGE, f"{error}.") from error
    if flags.json_output:
        emit({"schema": LIST_SCHEMA, "ts": utc_now(), "recipes": [_item(book, book.recipes[name]) for name in names]})
    else:
        click.echo(f"{len(names)} well formed: {', '.join(names)}" if names else "No recipes.")
    return DONE


@command.command("new")
@click.argument("model")
@click.option("--like", "pattern", metavar="RECIPE", help="Take launch, place and environment of this recipe.")
@click.option("--name", metavar="NAME", help="Its name (default: made from the model's).")
@click.option("--dry-run", is_flag=True, help="Print it instead of writing a file.")
@click.pass_obj
def new(flags: Flags, model: str, pattern: str | None, name: str | None, dry_run: bool) -> None:
    """Write a recipe for a model into your recipe folder."""
    name = name or re.sub(r"[^a-z0-9._-]+", "-", model.rstrip("/").rpartition("/")[2].lower()).strip("-._")
    problem = model_problem(model) or name_problem(name)
    if problem:
        raise StopError(USAGE, f"{problem[:1].upper()}{problem[1:]}.")
    text = recipe_toml(like(recipe_named(flags, pattern) if pattern else Recipe(name="", model=""), name, model))
    file = paths.user_recipes_dir() / f"{name}.toml"
    if not dry_run:
        _write(flags, name, file, text)
    if flags.json_output:
        emit({"schema": SCHEMA, "ts": utc_now(), "name": name, "file": str(file), "dry_run": dry_run, "text": text})
    else:
        click.echo(text if dry_run else str(file), nl=not dry_run)
    if not dry_run:
        say(flags, f"Look through it, then ask a box: gpudeck preflight HOST {name}")


def _write(flags: Flags, name: str, file: Path, text: str) -> None:
    book = recipe_book(flags)
    if name in book.recipes:
        raise StopError(USAGE, f'There is a recipe "{name}" already ({book.origin(name)}); choose another --name.')
    if file.exists():
        raise StopError(USAGE, f"{file} exists already; choose another --name.")
    try:
        paths.write_private(file, text.encode())
    except OSError as error:
        raise StopError(FAILED, f"{file} cannot be written: {error.strerror}.") from error
