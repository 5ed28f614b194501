"""The log: stamped lines, and progress bars with carriage returns in front of their frames."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable


def say(message: str, rank: int | None = None) -> None:
    """One stamped line; `rank` with more than one GPU."""
    suffix = "" if rank is None else f" TP{rank}"
    sys.stderr.write(f"[{time.strftime('%Y-%m-%d %H:%M:%S')}{suffix}] {message}\n")
    sys.stderr.flush()


def bare(text: str) -> None:
    """A line without a stamp."""
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


def bar(task: str, total: int, seconds: float, sleep: Callable[[float], None], *, shards: bool = False) -> None:
    """A bar from 0 to `total`, in the two forms that SGLang has."""
    pause, began = seconds / max(total, 1), time.monotonic()
    for done in range(total + 1):
        elapsed = time.monotonic() - began
        rate = done / elapsed if done and elapsed else 0.0
        left = (total - done) * pause
        clock = f"[{_clock(elapsed)}<{_clock(left) if done else '?'}, {f'{rate:5.2f}' if done else '?'}it/s]"
        percent = 100 * done // max(total, 1)
        if shards:
            sys.stderr.write(f"\r{task}: {percent:3d}% Completed | {done}/{total} {clock}")
        else:
            sys.stderr.write(f"\r{task}: {percent:3d}%|{'█' * (percent // 10):<10}| {done}/{total} {clock}")
        sys.stderr.flush()
        if done < total:
            sleep(pause)
    sys.stderr.write("\n")


def _clock(seconds: float) -> str:
    return f"{int(seconds) // 60:02d}:{int(seconds) % 60:02d}"
