"""Recipes and their secrets for a session without a terminal to ask at."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from console.config.edit import edited
from console.config.errors import ConfigError
from console.config.recipes import RecipeBook, for_host, load_recipes
from console.config.records import FlagValue, HostConfig, Recipe
from console.config.secrets import read_secrets
from console.values.secrets import remember
from console.workers.serve import Secrets

FlagProblem = Callable[[Recipe, str, FlagValue], str]


class Shelf:
    """The recipes in reach of this directory, as they read now, and those that were derived in this session."""

    def __init__(self) -> None:
        self._derived: dict[str, Recipe] = {}
        self._bases: dict[str, str] = {}

    def names(self) -> Sequence[str]:
        """Their names; of the files none when one is wrong, as `problem` says."""
        try:
            return sorted({*_book().recipes, *self._derived})
        except ConfigError:
            return sorted(self._derived)

    def problem(self) -> str:
        """What is wrong with the files, with file and line; nothing when they read well."""
        try:
            _book()
        except ConfigError as error:
            return f"{error}."
        return ""

    def get(self, name: str) -> Recipe:
        """A recipe. Raises ConfigError."""
        return self._derived.get(name) or _book().get(name)

    def on(self, name: str, host: HostConfig) -> Recipe:
        """A recipe with what the host gives where it names nothing. Raises ConfigError."""
        return for_host(self.get(name), host)

    def edit(self, name: str, text: str, knows: FlagProblem) -> str:
        """Keep a recipe with the flags of `text` for this session; its name, after what differs from the file's.

        `knows` says what is wrong with a flag that was changed. Raises ConfigError.
        """
        base = self._bases.get(name, name)
        recipe = edited(self.get(base), text, partial(knows, self.get(base)))
        if recipe.name != base:
            self._derived[recipe.name], self._bases[recipe.name] = recipe, base
        return recipe.name


def _book() -> RecipeBook:
    return load_recipes(cwd=Path.cwd(), env=os.environ)


def secrets(recipe: Recipe) -> Secrets:
    """The recipe's secrets. Raises ConfigError; one that would have to be asked for is missing here."""
    flags, env = read_secrets(recipe, os.environ, lambda _: "")
    for value in (*flags.values(), *env.values()):
        remember(value)
    return Secrets(flags=flags, env=env)
