"""`gpudeck serve HOST logs`: SGLang's lines as the box holds them, secrets masked there."""

from __future__ import annotations

import base64
import re
import sys
from collections.abc import AsyncIterator
from datetime import datetime, timedelta

import click

from console.cli.flags import Flags
from console.cli.follow import box_of
from console.cli.output import emit
from console.cli.serving import Given
from console.cli.stop import DONE, FAILED, USAGE, StopError
from console.serve.parse import LogParser
from console.serve.record import Record
from console.session.live import LiveSession
from console.state.serve import ServerState
from console.values import known
from console.views.serve import job_of
from console.workers.box import Box

TAIL_BYTES = 256 << 10
_AGO = re.compile(r"(\d+)([smhd])$")
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}


async def logs(flags: Flags, session: LiveSession, host: str, server: ServerState, given: Given) -> int:
    """Print the log, then with `follow` what is written, until ctrl+c."""
    box, path = box_of(session, host), _path(session, host, server)
    since = await _since(box, path, given.since) if given.since else ""
    wanted = given.grep or ""
    last = ""
    async for record in _records(box, path, follow=given.follow):
        last = record.stamp or last
        if record.kind != "progress" and last >= since and wanted in record.text:
            _print(flags, record)
    return DONE


def _path(session: LiveSession, host: str, server: ServerState) -> str:
    job = job_of(session.state.hosts[host], server)
    if job is not None:
        return f"{job.directory}/log"
    seen = server.seen
    if seen is not None and known(seen.log_path):
        return seen.log_path
    why = seen.log_path.reason if seen is not None and not known(seen.log_path) else "it was never seen"
    hint = f"; `journalctl -u {seen.unit}` has it" if seen is not None and seen.unit else ""
    raise StopError(FAILED, f"{server.id} has no log file: {why}{hint}.")


async def _records(box: Box, path: str, *, follow: bool) -> AsyncIterator[Record]:
    parser, offset = LogParser(), 0
    while True:
        part = await box.agent.request("log_read", path=path, offset=offset, rest=not follow)
        if not part["data"]:
            break
        offset = part["next"]
        for record in parser.feed(base64.b64decode(part["data"])):
            yield record
    if follow:
        async with box.agent.stream("log_follow", path=path, offset=offset, inode=part["inode"]) as stream:
            async for more in stream:
                for record in parser.feed(base64.b64decode(more["data"])):
                    yield record
    for record in parser.close():
        yield record


async def _since(box: Box, path: str, text: str) -> str:
    """The stamp that is meant: stamps are the box's local time, so that the log's last one says what now is."""
    entry = await box.agent.request("log_read", path=path)
    start = max(0, entry["size"] - TAIL_BYTES)
    tail = await box.agent.request("log_read", path=path, offset=start, align=start > 0)
    stamps = [record.stamp for record in LogParser().feed(base64.b64decode(tail["data"])) if record.stamp]
    now = datetime.fromisoformat(stamps[-1]) if stamps else datetime.fromtimestamp(entry["mtime"])  # noqa: DTZ006 - local, as the stamps
    if ago := _AGO.match(text):
        return str((now - timedelta(**{_UNITS[ago.group(2)]: int(ago.group(1))})).replace(microsecond=0))
    full = text if "-" in text else f"{now:%Y-%m-%d} {text}"
    try:
        return str(datetime.fromisoformat(full))
    except ValueError:
        raise StopError(USAGE, f"{text!r} is no time: HH:MM[:SS], YYYY-MM-DD HH:MM[:SS], or 10m.") from None


def _print(flags: Flags, record: Record) -> None:
    if flags.json_output:
        emit(
            {"stamp": record.stamp, "rank": record.rank or None, "level": record.level, "text": record.text},
            stream=True,
        )
    else:
        rank = f" {record.rank}" if record.rank else ""
        click.echo(f"[{record.stamp}{rank}] {record.text}" if record.stamp else record.text)
    sys.stdout.flush()
