"""Every value that tomllib reads has a line, and it is the right one."""

from __future__ import annotations

import tomllib
from typing import Any

import tomlkit
from hypothesis import given, settings
from hypothesis import strategies as st

from console.config.lines import key_lines

TEXT = '''\
top = 1 # "not = a key"
"quoted \\"key\\"" = 'x'
multi = """
a = 1
[b]
""" # three lines
raw = \'\'\'it's
c = 2\'\'\'
list = [
  1, # one
  { a = "}", b = [2,
    3] },
]
[ a . "b.c" ]
x.y = { z = 1, "q" = """]""" }
[[many]]
k = 1
[[many]]
  [many.inner]
  k = 2
last = 1979-05-27T07:32:00Z'''


def test_lines_by_hand() -> None:
    lines = key_lines(TEXT)
    assert lines == {
        ("top",): 1, ('quoted "key"',): 2, ("multi",): 3, ("raw",): 7, ("list",): 9, ("list", 0): 10,
        ("list", 1): 11, ("list", 1, "a"): 11, ("list", 1, "b"): 11, ("list", 1, "b", 0): 11,
        ("list", 1, "b", 1): 12, ("a",): 14, ("a", "b.c"): 14, ("a", "b.c", "x"): 15, ("a", "b.c", "x", "y"): 15,
        ("a", "b.c", "x", "y", "z"): 15, ("a", "b.c", "x", "y", "q"): 15, ("many",): 16, ("many", 0): 16,
        ("many", 0, "k"): 17, ("many", 1): 18, ("many", 1, "inner"): 19, ("many", 1, "inner", "k"): 20,
        ("many", 1, "inner", "last"): 21,
    }  # fmt: skip
    assert set(paths(tomllib.loads(TEXT))) == set(lines)


def paths(value: Any, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    found = [path] if path else []
    return found + [inner for key, item in items for inner in paths(item, (*path, key))]


_text = st.text(st.characters(exclude_categories=("Cs", "Cc"), include_characters="\n\t"), max_size=8)
_key = st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1, max_size=6)
_scalar = st.booleans() | st.integers(-(2**60), 2**60) | st.floats(allow_nan=False, allow_infinity=False) | _text
_value = st.recursive(
    _scalar,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_key, inner, max_size=3),
    max_leaves=12,
)


@settings(deadline=None)
@given(st.dictionaries(_key, _value, max_size=5))
def test_every_path_has_a_line_that_holds_it(data: dict[str, Any]) -> None:
    text = tomlkit.dumps(data)
    lines = key_lines(text)
    assert set(paths(tomllib.loads(text))) == set(lines)
    assert all(1 <= line <= text.count("\n") + 1 for line in lines.values())


@settings(deadline=None)
@given(st.lists(_key, min_size=1, max_size=6, unique=True), st.integers(0, 5))
def test_lines_count_comments_and_blanks(keys: list[str], blanks: int) -> None:
    text = "".join("# a comment = 1\n" + "\n" * blanks + tomlkit.dumps({key: 1}) for key in keys)
    assert list(key_lines(text).values()) == [(index + 1) * (blanks + 2) for index in range(len(keys))]
