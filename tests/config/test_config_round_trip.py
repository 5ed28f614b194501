"""Any recipe that the records can hold comes back from TOML as it was, and obeys the published schema's keys."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import msgspec
import tomlkit
from hypothesis import given, settings
from hypothesis import strategies as st

from console.config import Recipe, load_recipes
from console.config.records import RecipeTable
from console.config.schema import json_schema

_flag = st.from_regex(r"[a-z]{1,8}(-[a-z0-9]{1,5}){0,2}", fullmatch=True).map(lambda name: f"x-{name}-y")
_text = st.text(st.characters(exclude_categories=("Cs", "Cc")), max_size=12).filter(lambda text: "://" not in text)
_scalar = st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False) | _text
_args = st.dictionaries(_flag, _scalar | st.lists(_scalar, min_size=1, max_size=3).map(tuple), max_size=4)
_path = st.from_regex(r"/[a-z $'\"]{1,10}", fullmatch=True)
_recipes = st.builds(
    Recipe,
    name=st.just("one"),
    model=st.from_regex(r"[a-z]{1,5}/[A-Za-z0-9]{1,8}", fullmatch=True) | _path,
    revision=st.from_regex(r"[a-z0-9/.]{1,8}", fullmatch=True),
    draft=st.none() | _path,
    dir=st.none() | _path,
    draft_dir=st.none() | _path,
    port=st.integers(1, 65535),
    gpus=st.none() | st.lists(st.integers(0, 99), min_size=1, max_size=8, unique=True).map(tuple),
    args=_args,
    env=st.dictionaries(st.from_regex(r"X[A-Z_]{0,5}_Q", fullmatch=True), _text, max_size=3),
    secrets=st.dictionaries(_flag, st.sampled_from(["ask", "env:A", "file:/a b"]), max_size=2),
)


@settings(deadline=None, max_examples=50)
@given(_recipes)
def test_a_recipe_survives_toml(recipe: Recipe) -> None:
    table = {key: value for key, value in msgspec.to_builtins(recipe).items() if value is not None and key != "name"}
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "gpudeck.toml").write_text(tomlkit.dumps({"recipes": {"one": table}}), "utf-8")
        book = load_recipes(cwd=Path(folder), env={"XDG_CONFIG_HOME": folder})
    assert book.get("one") == recipe


def test_the_schema_lists_exactly_the_keys_that_are_read() -> None:
    schema: dict[str, Any] = json_schema()
    recipe = schema["$defs"]["RecipeTable"]
    assert set(recipe["properties"]) == set(RecipeTable.__struct_fields__)
    assert recipe["additionalProperties"] is False
    assert set(schema["$defs"]["File"]["properties"]) == {"settings", "keys", "hosts", "recipes", "sweep"}
    assert schema["$defs"]["RecipeTable"]["properties"]["port"]["anyOf"][0] == {
        "type": "integer", "minimum": 1, "maximum": 65535,
    }  # fmt: skip
