"""What of a busy server's log is told: the log on the box is whole, the record of a night has to stay small."""

from __future__ import annotations

import time
from collections.abc import Callable

from console.serve.record import Record

A_SECOND = 50
TRAFFIC_AT_ONCE = 1000
OTHER_AT_ONCE = 5000  # tracebacks of eight ranks, a start with everything it says


class LogBudget:
    """Lines for requests and batches share one budget, all others have their own: traffic hides no failure.

    Each grows by `A_SECOND` lines at the beginning of a second, up to what may come at once.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._second = int(clock())
        self._left = {True: TRAFFIC_AT_ONCE, False: OTHER_AT_ONCE}

    def lets(self, record: Record) -> bool:
        """Whether this line is told; it is counted then."""
        seconds = int(self._clock()) - self._second
        if seconds:
            self._second += seconds
            for traffic, most in ((True, TRAFFIC_AT_ONCE), (False, OTHER_AT_ONCE)):
                self._left[traffic] = min(most, self._left[traffic] + seconds * A_SECOND)
        traffic = _is_traffic(record)
        if self._left[traffic] == 0:
            return False
        self._left[traffic] -= 1
        return True


def _is_traffic(record: Record) -> bool:
    if record.kind == "http":
        return bool(record.fields["status"] < 400)
    return record.kind in ("decode", "prefill")
