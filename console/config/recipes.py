"""Recipes of all places, with `extends` resolved. The nearest definition of a name counts as a whole."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

import console
from console.config import checks, paths
from console.config.document import Document, dotted, read_document
from console.config.errors import ConfigError, nearest
from console.config.load import config_documents
from console.config.records import DEFAULT, HostConfig, Layer, Origin, Recipe, RecipeTable

PLACES = ("dir", "path", "draft_dir", "draft_path")
MERGED = ("args", "env", "secrets")  # a recipe adds to these of its parent; every other key it replaces

RECIPE_FILE = ("recipes", "sweep")  # the tables of a recipe or sweep file


class RecipeBook(msgspec.Struct, frozen=True, kw_only=True):
    """All recipes by name. `origins` is keyed as TOML writes it: `recipes.NAME.args.tp`."""

    recipes: dict[str, Recipe]
    origins: dict[str, Origin]

    def get(self, name: str) -> Recipe:
        """The recipe, or a ConfigError with the nearest name."""
        if name in self.recipes:
            return self.recipes[name]
        raise ConfigError(None, None, _no_recipe(name, self.recipes))

    def origin(self, name: str) -> Origin:
        """Where the recipe is defined."""
        return self.origins.get(dotted(("recipes", name)), DEFAULT)


class _Raw(msgspec.Struct, frozen=True):
    values: dict[str, Any]
    document: Document
    path: tuple[str, str]


def load_recipes(
    *, cwd: Path, env: Mapping[str, str], config_file: Path | None = None, extra: Path | None = None
) -> RecipeBook:
    """Read every recipe: of `extra` (a sweep file), the configuration files, the recipe folders, and our own.

    Raises ConfigError for the first table that is wrong.
    """
    raw: dict[str, _Raw] = {}
    for document in _documents(cwd, env, config_file, extra):
        for name in document.names("recipes"):
            _add(raw, name, document)
    return resolve(raw)


def for_host(recipe: Recipe, host: HostConfig) -> Recipe:
    """The recipe as it runs on `host`: its python, dir and env where the recipe names none, `~` the box's home."""
    placed = {key: host.at_home(place) for key in PLACES if (place := getattr(recipe, key))}
    return msgspec.structs.replace(
        recipe,
        **{"dir": host.dir, **placed},
        python=recipe.python or host.python,
        env={**host.env, **recipe.env},
    )


def _documents(cwd: Path, env: Mapping[str, str], config_file: Path | None, extra: Path | None) -> Iterator[Document]:
    """Nearest first: a sweep file, flag or environment, project, user, shipped."""
    if extra is not None:
        document = read_document(extra, "flag")
        if document is None:
            raise ConfigError(str(extra), None, "there is no such file")
        document.allow(RECIPE_FILE)
        yield document
    configs = config_documents(cwd, env, config_file)
    folders: list[tuple[Layer, Path]] = [
        ("project", cwd / "recipes"),
        ("user", paths.home_dir("config", env) / "recipes"),
        ("shipped", Path(console.__file__).parent / "recipes_shipped"),
    ]
    for layer in ("flag", "env"):
        yield from (document for document in configs if document.layer == layer)
    for layer, folder in folders:
        yield from (document for document in configs if document.layer == layer)
        yield from _folder(folder, layer)


def _folder(folder: Path, layer: Layer) -> Iterator[Document]:
    for file in sorted(folder.glob("*.toml")):
        document = read_document(file, layer)
        if document is not None:
            document.allow(RECIPE_FILE)
            yield document


def _add(raw: dict[str, _Raw], name: str, document: Document) -> None:
    path = ("recipes", name)
    problem = checks.name_problem(name)
    if problem:
        raise document.error(path, f"recipes: {problem}")
    values = document.fields(path, RecipeTable)
    for place, sentence in checks.recipe_problems(values):
        raise document.error((*path, *place), sentence)
    nearer = raw.get(name)
    if nearer is None:
        raw[name] = _Raw(values, document, path)
    elif nearer.document.layer == document.layer:
        first = nearer.document.origin(nearer.path)
        raise document.error(path, f'the recipe "{name}" is already defined at {first.file}:{first.line}')


def resolve(raw: Mapping[str, _Raw]) -> RecipeBook:
    """Follow `extends`. A recipe without a model is a base for others and no recipe of its own."""
    bases = {entry.values["extends"] for entry in raw.values() if "extends" in entry.values}
    recipes: dict[str, Recipe] = {}
    origins: dict[str, Origin] = {}
    for name, entry in raw.items():
        chain = _chain(name, raw)
        values = _merge(chain)
        if "model" in values:
            recipes[name] = Recipe(**values, name=name)
        elif name not in bases:
            raise entry.document.error(entry.path, f'the recipe "{name}" names no model')
        origins[dotted(entry.path)] = entry.document.origin(entry.path)
        origins |= _origins(name, chain)
    return RecipeBook(recipes=dict(sorted(recipes.items())), origins=origins)


def _chain(name: str, raw: Mapping[str, _Raw]) -> list[_Raw]:
    """The recipe and those it extends, itself first."""
    names = [name]
    while parent := raw[names[-1]].values.get("extends"):
        entry = raw[names[-1]]
        place = (*entry.path, "extends")
        if parent not in raw:
            raise entry.document.error(place, f"extends: {_no_recipe(parent, raw)}")
        if parent in names:
            raise entry.document.error(place, f"extends: a circle: {' → '.join([*names, parent])}")
        names.append(parent)
    return [raw[each] for each in names]


def _merge(chain: Iterable[_Raw]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for entry in chain:
        for key in MERGED:
            if key in entry.values:
                values[key] = {**entry.values[key], **values.get(key, {})}
        values = {**{k: v for k, v in entry.values.items() if k not in MERGED}, **values}
    return values


def _origins(name: str, chain: Iterable[_Raw]) -> dict[str, Origin]:
    """The origin of each value of the resolved recipe, in a parent's file where it is inherited."""
    found: dict[str, Origin] = {}
    for entry in chain:
        for key, value in entry.values.items():
            inner = [(key, each) for each in value] if key in MERGED else [(key,)]
            for place in inner:
                found.setdefault(dotted(("recipes", name, *place)), entry.document.origin((*entry.path, *place)))
    return found


def _no_recipe(name: str, names: Iterable[str]) -> str:
    near = nearest(name, names)
    return f'there is no recipe "{name}" ' + (f'(nearest: "{near}")' if near else "(`gpudeck recipe list` names all)")
