"""Numbers as people read them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.values import (
    Unknown,
    format_bytes,
    format_duration,
    format_gb,
    format_gib,
    format_percent,
    format_rate,
    format_ratio,
)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (595_000_000_000, "595.0 GB (554.1 GiB)"),
        (593 * 2**30, "636.7 GB (593.0 GiB)"),
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1.0 kB (1000 B)"),
        (1024, "1.0 kB (1.0 KiB)"),
        (999_950, "1.0 MB (976.5 KiB)"),
        (999_949, "999.9 kB (976.5 KiB)"),
        (-2_000_000_000, "-2.0 GB (-1.9 GiB)"),
        (102_641_958_912, "102.6 GB (95.6 GiB)"),
        (Unknown("x"), "unknown"),
    ],
)
def test_bytes_show_both_units(value: int | Unknown, text: str) -> None:
    assert format_bytes(value) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 ms"), (0.35, "350 ms"), (0.9994, "999 ms"), (0.9996, "1.0 s"), (4.21, "4.2 s"), (9.94, "9.9 s"),
        (9.96, "10 s"), (59.4, "59 s"), (59.6, "1 min"), (845, "14 min 5 s"), (7380, "2 h 3 min"), (3600, "1 h"),
        (273_600, "3 d 4 h"), (-12, "-12 s"), (Unknown("x"), "unknown"),
    ],
)  # fmt: skip
def test_durations(seconds: float | Unknown, text: str) -> None:
    assert format_duration(seconds) == text


def test_the_other_formats() -> None:
    assert format_gb(6.5e9) == "6.5 GB"
    assert format_gib(2**30) == "1.0 GiB"
    assert format_rate(612e6) == "612.0 MB/s"
    assert format_percent(97.4) == "97%"
    assert format_ratio(0.418, 1) == "41.8%"


@given(st.integers(min_value=0, max_value=10**17))
def test_a_byte_count_never_shows_four_digits_of_a_decimal_unit(value: int) -> None:
    number = float(format_gb(value).split()[0])
    assert number < 1000


@given(st.integers(min_value=1, max_value=10**15))
def test_the_exact_value_is_within_the_rounding(value: int) -> None:
    scale = {"B": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12, "PB": 1e15}
    number, unit = format_gb(value).split()
    assert abs(float(number) * scale[unit] - value) <= 0.0501 * scale[unit]
