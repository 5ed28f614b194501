"""Remote text is safe once it is cleaned."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.values import clean, clean_lines, clean_tree
from console.values.text import MAX_CHARS


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        ("plain text", "plain text"),
        ("[red]markup[/] stays text", "[red]markup[/] stays text"),
        ("\x1b[31mred\x1b[0m", "red"),
        ("a\x1b]52;c;cHduZWQ=\x07b", "ab"),
        ("a\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\b", "alinkb"),
        ("a\x1b]0;title without an end", "a"),
        ("a\x9d52;c;x\x9cb", "ab"),
        ("a\x9b31mb", "ab"),
        ("X\x1b[?1049lY", "XY"),
        ("a\x1bPq#0;2\x1b\\b", "ab"),
        (" 10%\r 50%\r100%", "100%"),
        ("done\r", "done"),
        ("\r\r", ""),
        ("tab\there", "tab here"),
        ("bell\x07 null\x00", "bell␇ null␀"),
        ("right\u202eto left", "right�to left"),
        ("zero\u200bwidth", "zero�width"),
        ("c1 \x85 next", "c1 � next"),
        ("日本語 and émoji 🚀", "日本語 and émoji 🚀"),
        (b"invalid \xff utf-8", "invalid � utf-8"),
    ],
)
def test_one_line(raw: str | bytes, text: str) -> None:
    assert clean(raw) == text


def test_a_flood_of_combining_marks_is_cut() -> None:
    assert len(clean("z" + "\u0300" * 5000)) < 10


def test_a_long_line_ends_with_an_ellipsis() -> None:
    cleaned = clean("x" * 10_000_000)
    assert len(cleaned) == MAX_CHARS
    assert cleaned.endswith("…")


@given(st.text(st.characters(), max_size=200))
def test_nothing_that_steers_a_terminal_is_left(raw: str) -> None:
    cleaned = clean(raw)
    assert not [char for char in cleaned if unicodedata.category(char) in ("Cc", "Cs") or char in "\u202e\u2066"]


@given(st.text(st.characters(), max_size=200))
def test_cleaning_twice_changes_nothing(raw: str) -> None:
    assert clean(clean(raw)) == clean(raw)


def test_lines_and_trees() -> None:
    assert clean_lines("a\x1b[1m\nb") == ["a", "b"]
    assert clean_tree({"k\x1b[1m": ["a\x07", {"n": 1, "x": None}]}) == {"k": ["a␇", {"n": 1, "x": None}]}
