"""Recipes and their secrets for a session without a terminal to ask at."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from console.config.errors import ConfigError
from console.config.recipes import RecipeBook, for_host, load_recipes
from console.config.records import HostConfig, Recipe
from console.config.secrets import read_secrets
from console.values.secrets import remember
from console.workers.serve import Secrets


def book() -> RecipeBook:
    """Every recipe in reach of this directory. Raises ConfigError."""
    return load_recipes(cwd=Path.cwd(), env=os.environ)


def names() -> Sequence[str]:
    """Their names; none when a file is wrong (asking for one by name says why)."""
    try:
        return sorted(book().recipes)
    except ConfigError:
        return ()


def named(name: str, host: HostConfig) -> Recipe:
    """A recipe with what the host gives where it names nothing. Raises ConfigError."""
    return for_host(book().get(name), host)


def secrets(name: str) -> Secrets:
    """The recipe's secrets. Raises ConfigError; one that would have to be asked for is missing here."""
    flags, env = read_secrets(book().get(name), os.environ, lambda _: "")
    for value in (*flags.values(), *env.values()):
        remember(value)
    return Secrets(flags=flags, env=env)
