"""What earlier starts took: the last few of a recipe on a box."""

from __future__ import annotations

from console.config.starts import KEPT, Start, earlier_starts, remember_start
from tests.support.place import Place


def a_start(number: int, weights_s: float = 1.0) -> Start:
    return Start(job=f"job-{number}", phases_s={"weights": weights_s}, actuals={})


def test_the_last_few_are_kept_the_newest_last(place: Place) -> None:
    assert earlier_starts("box", "one") == ()
    for number in range(KEPT + 2):
        remember_start("box", "one", a_start(number))
    assert [start.job for start in earlier_starts("box", "one")] == [f"job-{number}" for number in range(2, KEPT + 2)]
    assert earlier_starts("box", "two") == earlier_starts("other", "one") == ()


def test_a_job_that_is_told_again_is_one_start(place: Place) -> None:
    for start in (a_start(1), a_start(2), a_start(1, 9.0)):
        remember_start("box", "one", start)
    assert [(start.job, start.phases_s["weights"]) for start in earlier_starts("box", "one")] == [
        ("job-2", 1.0), ("job-1", 9.0),
    ]  # fmt: skip
