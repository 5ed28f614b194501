"""Sweep files: which recipes, and the recipes that the matrix derives from them."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from pathlib import Path

import msgspec

from console.config import checks
from console.config.document import Document, read_document
from console.config.errors import ConfigError, nearest
from console.config.recipes import RecipeBook
from console.config.records import FlagValue, Recipe, Scalar, Sweep, SweepTable


def load_sweep(file: Path, book: RecipeBook) -> Sweep:
    """The `[sweep]` of `file`, whose recipes must be in `book`. Raises ConfigError."""
    document = read_document(file, "flag")
    if document is None:
        raise ConfigError(str(file), None, "there is no such file")
    if "sweep" not in document.data:
        raise ConfigError(str(file), 1, "holds no [sweep]")
    values = document.fields(("sweep",), SweepTable)
    sweep = Sweep(**values, name=file.stem)
    _check(document, sweep, book)
    return sweep


def _check(document: Document, sweep: Sweep, book: RecipeBook) -> None:
    if not sweep.recipes:
        raise document.error(("sweep",), "sweep: recipes is missing or empty")
    for index, name in enumerate(sweep.recipes):
        if name not in book.recipes:
            near = nearest(name, book.recipes)
            hint = f' (nearest: "{near}")' if near else ""
            raise document.error(("sweep", "recipes", index), f'sweep: there is no recipe "{name}"{hint}')
    if sweep.baseline is not None and sweep.baseline not in sweep.recipes:
        raise document.error(("sweep", "baseline"), f'sweep: baseline "{sweep.baseline}" is not among its recipes')
    if not sweep.concurrency:
        raise document.error(("sweep", "concurrency"), "sweep: concurrency is empty")
    for flag, flag_values in sweep.matrix.items():
        for sentence in checks.flag_problems(flag, flag_values):
            raise document.error(("sweep", "matrix", flag), sentence.replace("args:", "sweep.matrix:", 1))


def derive(recipe: Recipe, matrix: Mapping[str, tuple[Scalar, ...]]) -> tuple[Recipe, ...]:
    """The recipe once for each combination of the matrix, called `<recipe>+<flag>=<value>`.

    A flag that the recipe cannot use (`speculative-*` without an algorithm) is left out of its matrix.
    """
    algorithm = "speculative-algorithm"
    speculative = algorithm in matrix or recipe.args.get(algorithm, False) is not False
    usable = {flag: values for flag, values in matrix.items() if speculative or not _needs_drafter(flag)}
    if not usable:
        return (recipe,)
    combinations = itertools.product(*usable.values())
    return tuple(_with_flags(recipe, dict(zip(usable, values, strict=True))) for values in combinations)


def _needs_drafter(flag: str) -> bool:
    return flag.startswith("speculative-") and flag != "speculative-algorithm"


def _with_flags(recipe: Recipe, flags: dict[str, Scalar]) -> Recipe:
    suffix = "".join(f"+{flag}={_text(value)}" for flag, value in flags.items())
    args: dict[str, FlagValue] = {**recipe.args, **flags}
    return msgspec.structs.replace(recipe, name=recipe.name + suffix, args=args)


def _text(value: Scalar) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
