"""A server's log as lines: those that were told, and where others stand in the box's file alone."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from console.events.serve import LogRow
from console.state.serve import LogGap, ServerState
from console.values import CleanText, format_bytes


def last_rows(server: ServerState, count: int) -> Iterator[LogRow | LogGap]:
    """The last `count` lines, with the gaps before and between them."""
    count = min(count, len(server.log))
    number = server.log_count - count
    gaps = {gap.before: gap for gap in server.log_gaps if gap.before >= number}
    for at, row in enumerate(islice(server.log, len(server.log) - count, None), number):
        if at in gaps:
            yield gaps[at]
        yield row


def gap_text(gap: LogGap) -> CleanText:
    """What is missing here: `… 812 busy lines are in the box's file alone`."""
    missing = f"{gap.lines:,} line{'s' if gap.lines != 1 else ''} of a busy server" if gap.lines else ""
    if gap.bytes:
        missing += f"{' and ' if missing else ''}{format_bytes(gap.bytes)} that were not read"
    return CleanText(f"… {missing} are in the box's file alone")


def log_lines(server: ServerState, count: int) -> list[CleanText]:
    """The last lines as SGLang printed them, `[stamp rank] text`, and the gaps in words."""
    return [gap_text(one) if isinstance(one, LogGap) else _line(one) for one in last_rows(server, count)]


def _line(row: LogRow) -> CleanText:
    if not row.stamp:
        return row.text
    return CleanText(f"[{row.stamp}{' ' if row.rank else ''}{row.rank}] {row.text}")
