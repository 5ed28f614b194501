"""What a box may say unasked: past it the reader waits, and with it, through the window of the channel, the box."""

from __future__ import annotations

FRAMES_S = 1000.0  # an agent of ours says ten
BYTES_S = 4.0 * (1 << 20)
BURST_S = 1.0  # of both may come at once: the first samples, or what gathered while this laptop slept


class Brake:
    """A debt that time pays."""

    def __init__(self, now: float) -> None:
        self._begun = now
        self._frames = self._bytes = 0

    def unasked(self, size: int) -> None:
        """A sample, an answer to nothing, or a line that is no frame."""
        self._frames += 1
        self._bytes += size

    def wait_s(self, now: float) -> float:
        """How long to read nothing; 0 for a box that keeps measure."""
        debt_s = max(self._frames / FRAMES_S, self._bytes / BYTES_S) - (now - self._begun)
        if debt_s <= 0:
            self._begun, self._frames, self._bytes = now, 0, 0
        return max(0.0, debt_s - BURST_S)
