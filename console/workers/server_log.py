"""A server's log: read on the box as whole masked lines, told as facts, folded into its story."""

from __future__ import annotations

import base64
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

from console.events import Event
from console.events.serve import (
    LogRow,
    ServerLogFetched,
    ServerLogged,
    ServerMeasured,
    ServerPhaseReached,
    ServerProgressed,
)
from console.remote.agent import Agent
from console.serve.eta import phase_seconds
from console.serve.parse import LogParser
from console.serve.record import Record, seconds_between
from console.serve.remarks import actuals, remarks
from console.serve.story import Story
from console.state.model import HostState
from console.state.serve import ServerState, older_end
from console.values import CleanText, clean, known
from console.workers.box import Box
from console.workers.log_budget import LogBudget

HEAD_BYTES = 2 << 20  # of a long log the start: phases, pools, limits …
TAIL_BYTES = 512 << 10  # … and the end are read, the middle is left out
OLDER_BYTES = 48 << 10  # read back at a time
ROWS_A_FACT = 200
ROW_CHARS = 2000
FOLLOW_S = 0.25
# Answers to our own questions, several a second: they say nothing that the phase and the gauges do not.
_POLLED = frozenset(("/ready", "/health", "/metrics", "/v1/loads", "/get_load"))


@dataclass
class LogReading:
    """How far a server's log is read, over all connections. `planned`: the plan's numbers, see `remarks`."""

    host: str
    server: CleanText
    planned: dict[str, float] = field(default_factory=dict)
    story: Story = field(default_factory=Story)
    offset: int = 0
    inode: int | None = None
    _parser: LogParser = field(default_factory=LogParser)
    _phases: int = 0
    _measured: tuple[object, ...] = ()
    _bar: tuple[object, ...] = ()

    async def catch_up(self, agent: Agent, path: str, *, rest: bool = False) -> AsyncIterator[Event]:
        """Read on to the present end; with `rest` also a last line without its end (the server is gone)."""
        while True:
            answer = await agent.request("log_read", path=path, offset=self.offset, rest=rest)
            if self.inode not in (None, answer["inode"]) or answer["size"] < self.offset:
                self.inode, self.offset = answer["inode"], 0
                continue
            self.inode = answer["inode"]
            behind = answer["size"] - self.offset
            if self.offset >= HEAD_BYTES and behind > 2 * TAIL_BYTES:
                start = answer["size"] - TAIL_BYTES
                answer = await agent.request("log_read", path=path, offset=start, align=True)
                left_out = start - self.offset
                yield ServerLogged(
                    host=self.host, server=self.server, rows=(), skipped_bytes=left_out, offset=self.offset
                )
            if not answer["data"]:
                return
            for fact in self.take(answer):
                yield fact

    async def follow(self, agent: Agent, path: str) -> AsyncIterator[Event]:
        """What is written from now on, until cancelled. `catch_up` comes first: bounded in bytes, this is in lines."""
        budget = LogBudget()
        stream = agent.stream("log_follow", path=path, offset=self.offset, inode=self.inode, every_s=FOLLOW_S)
        async with stream:
            async for part in stream:
                for fact in self.take(part, budget):
                    yield fact

    def take(self, part: dict[str, Any], budget: LogBudget | None = None) -> list[Event]:
        """The facts of one part: {data, next, inode}. The story hears every line, `budget` says which are told."""
        begins, self.offset, self.inode = self.offset, part["next"], part["inode"]
        records = self._parser.feed(base64.b64decode(part["data"]))
        finished: list[Event] = []
        for record in records:
            bar = self.story.progress
            self.story.add(record)
            if bar is not None and self.story.progress is None:  # its phase is over: the last frame is told, too
                finished += self._progressed(bar)
        return [*self._rows(records, begins, budget), *finished, *self._news()]

    def _rows(self, records: list[Record], begins: int, budget: LogBudget | None) -> list[Event]:
        rows: list[LogRow] = []
        untold: Counter[int] = Counter()
        for record in records:
            if _uninteresting(record):
                continue
            if budget is None or budget.lets(record):
                rows.append(_row(record))
            else:
                untold[len(rows)] += 1
        facts: list[Event] = []
        for at in range(0, len(rows) or len(untold), ROWS_A_FACT):
            end = at + ROWS_A_FACT if at + ROWS_A_FACT < len(rows) else len(rows) + 1
            facts.append(
                ServerLogged(
                    host=self.host, server=self.server, rows=tuple(rows[at : at + ROWS_A_FACT]),
                    offset=-1 if at else begins,
                    untold=tuple((row - at, lines) for row, lines in untold.items() if at <= row < end),
                )
            )  # fmt: skip
        return facts

    def _news(self) -> list[Event]:
        """What the story has more than at the last part."""
        story, host, server = self.story, self.host, self.server
        facts: list[Event] = []
        for one in story.phases[self._phases :]:
            since = seconds_between(one.begin, story.last_stamp) if one.begin and story.last_stamp else 0.0
            facts.append(
                ServerPhaseReached(host=host, server=server, phase=one.phase, draft=one.draft, in_phase_s=since)
            )
        self._phases = len(story.phases)
        bar = self._parser.frame or story.progress
        if bar is not None and story.progress is not None:
            facts += self._progressed(bar)
        return facts + self._measurement()

    def _progressed(self, bar: Record) -> list[Event]:
        """A frame of a progress bar, unless it was told last."""
        shown = (bar.fields["task"], bar.fields["done"], bar.fields["total"])
        if shown == self._bar:
            return []
        self._bar = shown
        task = clean(str(shown[0] or ""))
        return [ServerProgressed(host=self.host, server=self.server, task=task, done=shown[1], total=shown[2])]

    def _measurement(self) -> list[Event]:
        story = self.story
        state = (bool(story.limits), story.ready_stamp, story.retractions)
        if not story.limits or state == self._measured:
            return []
        self._measured = state
        return [
            ServerMeasured(
                host=self.host,
                server=self.server,
                actuals=actuals(story),
                limits={name: value for name, value in story.limits.items() if isinstance(value, int)},
                remarks=tuple(clean(one) for one in remarks(story, self.planned)),
                phases_s=phase_seconds(story),
            )
        ]


def log_path_of(host: HostState, server: ServerState) -> str | None:
    """The job's log, or the file that the process writes to; None when there is none to read."""
    jobs = host.jobs.jobs
    job = next((one for one in jobs if one.id == server.id), None) if known(jobs) else None
    if job is not None:
        return f"{job.directory}/log"
    return server.seen.log_path if server.seen is not None and known(server.seen.log_path) else None


async def fetch_older(box: Box, server: ServerState, path: str, *, fresh: bool) -> None:
    """Read back what stands before the lines on screen; nothing when that is the beginning."""
    end, shown = older_end(server, fresh=fresh)
    if end <= 0:
        return
    start, begins, rows = end, end, list[LogRow]()
    while start > 0 and len(rows) <= shown:  # what is on screen may be more than one reading
        start = max(0, start - OLDER_BYTES)
        found, begins = await _read_between(box.agent, path, start, begins)
        rows[:0] = found
    told = tuple(rows[: max(0, len(rows) - shown)])
    box.publish(ServerLogFetched(host=box.name, server=server.id, rows=told, offset=begins))


async def _read_between(agent: Agent, path: str, start: int, end: int) -> tuple[list[LogRow], int]:
    """The lines that begin at or after `start` and stand before `end`, and where they begin."""
    part = await agent.request("log_read", path=path, offset=start, align=start > 0, end=end)
    begins, parser, records = min(end, part["offset"]), LogParser(), list[Record]()
    while part["data"]:
        records += parser.feed(base64.b64decode(part["data"]))
        if part["next"] >= end:
            break
        part = await agent.request("log_read", path=path, offset=part["next"], end=end)
    return [_row(record) for record in records if not _uninteresting(record)], begins


def _uninteresting(record: Record) -> bool:
    if record.kind == "http":
        return record.fields["status"] in (200, 503) and record.fields["path"].partition("?")[0] in _POLLED
    return record.kind == "progress"


def _row(record: Record) -> LogRow:
    stamp, rank = CleanText(record.stamp or ""), CleanText(record.rank)
    return LogRow(stamp=stamp, rank=rank, level=record.level, text=clean(record.text, ROW_CHARS))
