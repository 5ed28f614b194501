"""What a box itself went through, a boot while jobs ran, a clock that is minutes off; and what of it waits here."""

from __future__ import annotations

from collections.abc import Iterator

from console.events.bench import StoringFailed
from console.state import HostState
from console.values import format_duration, known

RECENT_S = 86400.0
SKEW_S = 60.0  # a link that holds everything back is given up before; certificates and tokens refuse a clock that is


def upsets(host: HostState) -> Iterator[tuple[str, str]]:
    """Sentences, each with the key that leads on."""
    for run in host.bench.runs.values():
        if run.unstored is not None and run.ended is None:
            yield unstored_sentence(run.unstored), "6"
    jobs, skew = host.jobs, host.link.skew_s
    lost = [job for job in jobs.jobs if job.state == "lost_reboot"] if known(jobs.jobs) else []
    recent = [job for job in lost if jobs.now_s - job.created_s < RECENT_S]
    if recent:
        more = f" and {len(recent) - 1} more" if len(recent) > 1 else ""
        yield f"the box was started again while {recent[0].id}{more} ran: lost by the reboot", "8"
    if known(skew) and abs(skew) >= SKEW_S:
        side = "ahead of" if skew > 0 else "behind"
        yield f"the box's clock is {format_duration(abs(skew))} {side} this one: the Hub may refuse its token", "2"


def unstored_sentence(failed: StoringFailed) -> str:
    """Why measured points are not stored, and where they are."""
    what = {0: "the run", 1: "a measured point"}.get(failed.waiting, f"{failed.waiting} measured points")
    return f"{what} cannot be stored on this laptop: {failed.reason}; the box keeps it, and it is tried again"
