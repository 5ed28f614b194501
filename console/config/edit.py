"""A recipe whose flags were edited by hand: a derived recipe, called after what differs."""

from __future__ import annotations

import tomllib
from typing import Any

import msgspec

from console.config import checks
from console.config.errors import ConfigError
from console.config.records import FlagValue, Recipe
from console.config.write import toml_value


def args_toml(recipe: Recipe) -> str:
    """The recipe's flags, one a line."""
    return "".join(f"{flag} = {toml_value(value)}\n" for flag, value in recipe.args.items())


def edited(recipe: Recipe, text: str) -> Recipe:
    """The recipe with the flags of `text`, called `<recipe>+<flag>=<value>`; itself when nothing differs.

    Raises ConfigError with one sentence.
    """
    try:
        given: dict[str, Any] = tomllib.loads(text)
        args = {flag: msgspec.convert(value, FlagValue, strict=True) for flag, value in given.items()}
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(None, None, f"no TOML: {error}") from error
    except msgspec.ValidationError as error:
        raise ConfigError(
            None, None, f"a flag is a text, a number, true, false, or a list of them ({error})"
        ) from error
    for sentence in (sentence for flag, value in args.items() for sentence in checks.flag_problems(flag, value)):
        raise ConfigError(None, None, sentence)
    gone: dict[str, FlagValue] = dict.fromkeys((flag for flag in recipe.args if flag not in args), False)
    changed = {flag: value for flag, value in (args | gone).items() if recipe.args.get(flag, False) != value}
    if not changed:
        return recipe
    suffix = "".join(f"+{flag}={_text(value)}" for flag, value in changed.items())
    return msgspec.structs.replace(recipe, name=recipe.name + suffix, args=recipe.args | changed)


def _text(value: FlagValue) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)
