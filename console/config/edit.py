"""A recipe whose flags were edited by hand: a derived recipe, called after what differs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from console.config import checks
from console.config.document import Document, type_sentence
from console.config.records import FlagValue, Recipe
from console.config.write import toml_value


def args_toml(recipe: Recipe) -> str:
    """The recipe's flags, one a line."""
    return "".join(f"{flag} = {toml_value(value)}\n" for flag, value in recipe.args.items())


def edited(recipe: Recipe, text: str, knows: Callable[[str, FlagValue], str] = lambda *_: "") -> Recipe:
    """The recipe with the flags of `text`, called `<recipe>+<flag>=<value>`; itself when nothing differs.

    `knows` says what is wrong with a flag that differs, or nothing. Raises ConfigError with one sentence and the line.
    """
    document = Document("", text, "flag")
    args = {flag: _value(document, flag, value) for flag, value in document.data.items()}
    for flag, value in args.items():
        new = recipe.args.get(flag, False) != value
        for sentence in (*checks.flag_problems(flag, value), *([knows(flag, value)] if new else [])):
            if sentence:
                raise document.error((flag,), sentence)
    gone: dict[str, FlagValue] = dict.fromkeys((flag for flag in recipe.args if flag not in args), False)
    changed = {flag: value for flag, value in (args | gone).items() if recipe.args.get(flag, False) != value}
    if not changed:
        return recipe
    suffix = "".join(f"+{flag}={_text(value)}" for flag, value in changed.items())
    return msgspec.structs.replace(recipe, name=recipe.name + suffix, args=recipe.args | changed)


def _value(document: Document, flag: str, value: Any) -> FlagValue:
    try:
        converted: FlagValue = msgspec.convert(value, FlagValue, strict=True)
    except msgspec.ValidationError as error:
        raise document.error((flag,), type_sentence(flag, str(error))) from None
    return converted


def _text(value: FlagValue) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)
