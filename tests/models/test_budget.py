"""What moves SGLang's default fraction, beside the vectors."""

from __future__ import annotations

import pytest

from console.models.budget import Serving, static_plan

SMALL_MIB = 24 * 1024  # below 60 GiB nothing hides the reserve behind a minimum


@pytest.mark.parametrize(("max_running", "batch"), [(None, 48), (4, 4), (1000, 48)])
def test_graphs_are_captured_for_no_more_requests_than_run(max_running: int | None, batch: int) -> None:
    assert static_plan(SMALL_MIB, Serving(max_running=max_running)).decode_max_batch == batch


def test_fewer_captured_requests_reserve_less() -> None:
    whole, few = (static_plan(SMALL_MIB, Serving(max_running=count)) for count in (None, 4))
    assert whole.reserved_mib - few.reserved_mib == 2.0 * (48 - 4)
    assert few.fraction > whole.fraction


def test_an_explicit_batch_counts_as_it_is() -> None:
    assert static_plan(SMALL_MIB, Serving(decode_max_batch=96, max_running=4)).decode_max_batch == 96
