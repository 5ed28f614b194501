"""Flags edited by hand: a derived recipe that says in its name what differs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.config.edit import args_toml, edited
from console.config.errors import ConfigError
from console.config.records import FlagValue, Recipe

ARGS: dict[str, FlagValue] = {"tp": 8, "mem-fraction-static": 0.9, "enable-metrics": True, "model-loader": 'a "b"'}
RECIPE = Recipe(name="k26", model="org/m", args=ARGS)


def test_what_is_not_changed_is_the_recipe_itself() -> None:
    assert edited(RECIPE, args_toml(RECIPE)) is RECIPE


def test_a_changed_a_new_and_a_removed_flag_are_in_the_name() -> None:
    found = edited(RECIPE, "tp = 4\nenable-metrics = true\nmodel-loader = 'a \"b\"'\ncuda-graph-bs = [1, 2]\n")
    assert found.name == "k26+tp=4+cuda-graph-bs=1,2+mem-fraction-static=false"
    assert found.args == ARGS | {"tp": 4, "cuda-graph-bs": (1, 2), "mem-fraction-static": False}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("tp = ", "^line 1: not valid TOML"),
        ("# sizes\ntp = { a = 1 }", "^line 2: tp: must be .* not a table"),
        ("port = 3", "^line 1: .* own key"),
        ("--tp = 3", "no flag name"),
        ('api-key = "sk-012345678901234567890123"', "holds a secret"),
    ],
)
def test_what_cannot_be_a_recipe_is_refused_in_a_sentence(text: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        edited(RECIPE, text)


FLAGS = st.from_regex(r"x[a-z]{1,8}", fullmatch=True)
VALUES = st.booleans() | st.integers(-(2**31), 2**31) | st.floats(allow_nan=False, allow_infinity=False) | st.text()


@given(st.dictionaries(FLAGS, VALUES, max_size=4))
def test_flags_come_back_as_they_were_written(args: dict[str, FlagValue]) -> None:
    one = Recipe(name="r", model="org/m", args=args)
    assert edited(one, args_toml(one)) is one


def test_a_flag_that_the_box_does_not_know_is_named_with_its_line_unless_it_stood_there_before() -> None:
    def knows(flag: str, value: object) -> str:
        return f"--{flag} is no flag: write --tp"

    text = f"{args_toml(RECIPE)}\n# mine\ntpp = 1\n"
    line = text.splitlines().index("tpp = 1") + 1
    with pytest.raises(ConfigError, match=f"^line {line}: --tpp is no flag: write --tp$"):
        edited(RECIPE, text, knows)
    assert edited(RECIPE, args_toml(RECIPE), knows) is RECIPE
