"""Records written as TOML."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import msgspec

from console.config.document import dotted
from console.config.records import DEFAULT, Origin, Recipe

STARTER = """\
# gpudeck: settings and boxes. `gpudeck config schema` describes every key, `gpudeck config show --origin` what counts.

# [settings]
# theme = "dark"                # dark, light, contrast, ansi
# read_only = false             # take away everything that changes a box
# timeout = 60                  # seconds for commands that wait

# [hosts.mybox]                 # aliases of your SSH configuration need no entry
# ssh = "root@10.0.0.2"         # an alias, or user@host[:port]; default: the name itself
# python = "/opt/sglang/bin/python"
# dir = "/data/models"          # where repositories lie
# env = { HF_HOME = "/data/hf" }
"""


def recipe_toml(recipe: Recipe) -> str:
    """The resolved recipe as a `[recipes.NAME]` table; what has its default is left out."""
    table = recipe_values(recipe)
    scalars = [f"{_key(key)} = {toml_value(value)}" for key, value in table.items() if not isinstance(value, dict)]
    lines = [f"[{dotted(('recipes', recipe.name))}]", *scalars]
    for key, value in table.items():
        if isinstance(value, dict):
            lines += ["", f"[{dotted(('recipes', recipe.name, key))}]"]
            lines += [f"{_key(name)} = {toml_value(item)}" for name, item in value.items()]
    return "\n".join(lines) + "\n"


def recipe_values(recipe: Recipe) -> dict[str, Any]:
    """The keys of a recipe that say something: neither absent, nor empty, nor their default."""
    defaults = Recipe(name=recipe.name, model="")
    found = {name: getattr(recipe, name) for name in recipe.__struct_fields__ if name not in ("name", "extends")}
    return {name: value for name, value in found.items() if value != getattr(defaults, name)}


def like(recipe: Recipe, name: str, model: str) -> Recipe:
    """A recipe for another model: the same launch, without what belongs to the first model and its drafter."""
    args = {flag: value for flag, value in recipe.args.items() if not flag.startswith("speculative-")}
    return Recipe(
        name=name, model=model, dir=recipe.dir, python=recipe.python, port=recipe.port, gpus=recipe.gpus,
        args=args, env=recipe.env, secrets=recipe.secrets,
    )  # fmt: skip


def origin_lines(values: Mapping[tuple[str, ...], Any], origins: Mapping[str, Origin]) -> list[str]:
    """`key = value  # where from`, a line a value."""
    pairs = [(dotted(path), value) for path, value in values.items()]
    texts = [(f"{key} = {toml_value(value)}", origins.get(key, DEFAULT)) for key, value in pairs]
    width = min(60, max((len(text) for text, _ in texts), default=0))
    return [f"{text:<{width}}  # {origin}" for text, origin in texts]


def flat(value: Any, path: tuple[str, ...]) -> dict[tuple[str, ...], Any]:
    """Every value of a record below `path`, by its own path; what is None or empty is left out."""
    found: dict[tuple[str, ...], Any] = {}
    items = msgspec.structs.asdict(value) if isinstance(value, msgspec.Struct) else value
    for key, item in items.items():
        if isinstance(item, dict):
            found |= flat(item, (*path, key))
        elif item is not None:
            found[(*path, key)] = item
    return found


def toml_value(value: Any) -> str:
    """A scalar, or a list of them, as TOML."""
    if isinstance(value, tuple | list):
        return f"[{', '.join(toml_value(item) for item in value)}]"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return str(value).lower() if isinstance(value, bool) else repr(value)


def _key(key: str) -> str:
    return dotted((key,))
