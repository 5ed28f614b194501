"""A server's command line: read, compared with a recipe's, and recognised as SGLang's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

MASK = "***"
Values = tuple[str, ...]


class Difference(NamedTuple):
    """A flag that differs. None: the flag is not there; empty: a bare flag."""

    flag: str
    recipe: Values | None
    running: Values | None

    @property
    def sentence(self) -> str:
        return f"--{self.flag}: recipe {_said(self.recipe)}, running {_said(self.running)}"


def _said(values: Values | None) -> str:
    if values is None:
        return "absent"
    return " ".join(values) if values else "set"


def read_flags(argv: Sequence[str], aliases: Mapping[str, str] | None = None) -> dict[str, Values]:
    """Flags without dashes → their values, in any spelling: `--a v`, `--a=v`, `--a v w`, an alias, `_` for `-`.

    What stands before the first flag (interpreter, module) is left out. `aliases`: spelling → canonical name.
    """
    known_aliases = aliases or {}
    flags: dict[str, Values] = {}
    current: str | None = None
    for word in argv:
        if word.startswith("--") and len(word) > 2:
            name, equals, value = word[2:].partition("=")
            name = name.replace("_", "-")
            current = known_aliases.get(name, name)
            flags[current] = (value,) if equals else ()
        elif current is not None:
            flags[current] = (*flags[current], word)
    return flags


def interpreter(argv: Sequence[str]) -> str:
    """The Python that a server runs under; a `sglang` command stands beside its own. Empty without a command line."""
    first = argv[0] if argv else ""
    return f"{first.removesuffix('sglang')}python" if first.endswith("/sglang") else first


def differences(
    recipe: Sequence[str], running: Sequence[str], aliases: Mapping[str, str] | None = None
) -> tuple[Difference, ...]:
    """Where the running command line differs from the recipe's; a masked value equals any other."""
    wanted, found = read_flags(recipe, aliases), read_flags(running, aliases)
    return tuple(
        Difference(flag, wanted.get(flag), found.get(flag))
        for flag in sorted(wanted.keys() | found.keys())
        if not _equal(wanted.get(flag), found.get(flag))
    )


def _equal(left: Values | None, right: Values | None) -> bool:
    if left is None or right is None:
        return left is right
    if len(left) != len(right):
        return False
    return all(
        one == other or MASK in (one, other) or _same_number(one, other) for one, other in zip(left, right, strict=True)
    )


def _same_number(one: str, other: str) -> bool:
    try:
        return float(one) == float(other)
    except ValueError:
        return False
