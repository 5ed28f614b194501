"""Unknown is a value of its own."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import pytest

from console.values import Unknown, UnknownValueError, dump_json, first_unknown, known

UNKNOWN = Unknown("not asked yet")

BINARY = [
    operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, operator.pow,
    operator.lt, operator.le, operator.gt, operator.ge, divmod,
]  # fmt: skip
UNARY = [
    bool,
    int,
    float,
    operator.neg,
    operator.pos,
    abs,
    round,
    operator.index,
    complex,
    len,
    lambda value: sum([value]),
]


@pytest.mark.parametrize("compute", BINARY)
@pytest.mark.parametrize("other", [0, 1.5, UNKNOWN])
def test_arithmetic_and_ordering_raise_on_both_sides(compute: Callable[[Any, Any], Any], other: object) -> None:
    for pair in ((UNKNOWN, other), (other, UNKNOWN)):
        with pytest.raises(UnknownValueError, match="not asked yet"):
            compute(*pair)


@pytest.mark.parametrize("compute", UNARY)
def test_truth_and_conversion_raise(compute: Callable[[Any], Any]) -> None:
    with pytest.raises(UnknownValueError):
        compute(UNKNOWN)


@pytest.mark.parametrize("choose", [max, min])
def test_max_and_min_raise_from_two_values_on(choose: Callable[..., Any]) -> None:
    assert choose([UNKNOWN]) is UNKNOWN
    for values in ([UNKNOWN, 3], [3, UNKNOWN], [UNKNOWN, UNKNOWN]):
        with pytest.raises(UnknownValueError):
            choose(values)


@pytest.mark.parametrize("spec", [".1f", "d", ",d", ".2%", "e", "g", "x"])
def test_numeric_formats_raise(spec: str) -> None:
    with pytest.raises(UnknownValueError):
        format(UNKNOWN, spec)


def test_text_formats_say_unknown() -> None:
    assert f"{UNKNOWN}" == str(UNKNOWN) == "unknown"
    assert f"{UNKNOWN:>9}" == "  unknown"


def test_equality_holds_only_with_the_same_unknown() -> None:
    assert Unknown("not asked yet") == UNKNOWN
    assert Unknown("other") != UNKNOWN
    for value in (0, None, False, "", "unknown", "not asked yet"):
        assert value != UNKNOWN


def test_known_and_first_unknown() -> None:
    assert known(0)
    assert not known(UNKNOWN)
    assert first_unknown(1, UNKNOWN, Unknown("later")) is UNKNOWN
    assert first_unknown(0, None) is None


def test_json_is_null_with_its_reason_at_every_depth() -> None:
    assert dump_json({"size_bytes": UNKNOWN, "more": [{"n": Unknown("x")}, 0]}) == (
        '{"size_bytes":null,"size_bytes_reason":"not asked yet","more":[{"n":null,"n_reason":"x"},0]}'
    )
