"""How long a box that says too much is not read."""

from __future__ import annotations

import pytest

from console.remote.brake import BURST_S, BYTES_S, FRAMES_S, Brake


def sent(brake: Brake, frames: int, size: int = 10) -> None:
    for _ in range(frames):
        brake.unasked(size)


def test_a_box_that_keeps_measure_never_waits() -> None:
    brake = Brake(0.0)
    for second in range(100):
        sent(brake, 10)
        assert brake.wait_s(float(second)) == 0.0


@pytest.mark.parametrize(
    ("frames", "size"), [(int(3 * FRAMES_S), 1), (3, int(BYTES_S))], ids=["too many frames", "too many bytes"]
)
def test_what_comes_at_once_beyond_the_burst_is_waited_for_and_paid_by_time(frames: int, size: int) -> None:
    brake = Brake(0.0)
    sent(brake, frames, size)
    assert brake.wait_s(0.0) == pytest.approx(3.0 - BURST_S)
    assert brake.wait_s(1.5) == pytest.approx(0.5)
    assert brake.wait_s(2.0) == 0.0


def test_silence_gathers_no_credit() -> None:
    brake = Brake(0.0)
    sent(brake, 1)
    assert brake.wait_s(3.0) == 0.0
    sent(brake, int(3 * FRAMES_S))
    assert brake.wait_s(3.0) == pytest.approx(3.0 - BURST_S)
