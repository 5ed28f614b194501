"""Where a recipe's repositories lie on the box, and what they are called when served."""

from __future__ import annotations

from console.config.records import Recipe
from console.values import Unknown


def last_name(model: str) -> str:
    """`moonshotai/Kimi-K2.6` → `Kimi-K2.6`; of an absolute path its last component."""
    return model.rstrip("/").rsplit("/", 1)[-1]


def _place(model: str, path: str | None, parent: str | None) -> str | Unknown:
    if path:
        return path
    if model.startswith("/"):
        return model
    if parent:
        return f"{parent.rstrip('/')}/{last_name(model)}"
    return Unknown("neither the recipe nor the host names a `dir`")


def target_place(recipe: Recipe) -> str | Unknown:
    """The absolute directory of the target: `path`, the model itself when it is a path, or `<dir>/<name>`."""
    return _place(recipe.model, recipe.path, recipe.dir)


def draft_place(recipe: Recipe) -> str | Unknown | None:
    """The same for the drafter, None without one; `draft_dir` goes before `dir`."""
    if recipe.draft is None:
        return None
    return _place(recipe.draft, recipe.draft_path, recipe.draft_dir or recipe.dir)


def served_name(recipe: Recipe) -> str:
    """The repository id; for a model that is a path its last component."""
    return last_name(recipe.model) if recipe.model.startswith("/") else recipe.model
