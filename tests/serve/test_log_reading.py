"""A long log through a real agent: head and tail, every line once, and the way back into the file."""

from __future__ import annotations

from collections.abc import AsyncIterator
from itertools import pairwise
from pathlib import Path

import pytest

from console.bus import Bus
from console.config.records import HostConfig
from console.remote.agent import Agent
from console.remote.local import open_local_agent
from console.state import HostState, State, reduce
from console.state.serve import LOG_LINES
from console.values import CleanText
from console.workers import server_log
from console.workers.box import Box
from console.workers.server_log import LogReading, fetch_older

ID = CleanText("s")


@pytest.fixture
async def agent() -> AsyncIterator[Agent]:
    one = await open_local_agent("python3")
    yield one
    await one.close()


class Watched:
    """A box whose facts are folded into `host`."""

    def __init__(self, agent: Agent) -> None:
        self.state, bus = State(hosts={"box": HostState("box")}), Bus()
        bus.listen(lambda stamped: reduce(self.state, stamped))
        self.box = Box("box", agent, bus.publish, HostConfig(name="box", ssh="box"))
        self.reading = LogReading("box", ID)

    @property
    def numbers(self) -> list[int]:
        return [int(row.text) for row in self.state.hosts["box"].serve.servers[ID].log]

    async def catch_up(self, path: Path) -> None:
        async for fact in self.reading.catch_up(self.box.agent, str(path)):
            self.box.publish(fact)


def lines(start: int, end: int) -> str:
    return "".join(f"[2026-11-30 00:00:00] {number:06}\n" for number in range(start, end))


async def test_every_line_once_and_back_into_the_file(agent: Agent, tmp_path: Path) -> None:
    log, watched = tmp_path / "log", Watched(agent)
    log.write_text(lines(0, 12_000))
    await watched.catch_up(log)
    with log.open("a") as file:
        file.write(lines(12_000, 12_345))
    await watched.catch_up(log)
    assert watched.numbers == list(range(12_345 - LOG_LINES, 12_345))
    server = watched.state.hosts["box"].serve.servers[ID]
    seen, oldest = [], watched.numbers[0]
    for turn in range(40):
        before = server.older
        await fetch_older(watched.box, server, str(log), fresh=turn == 0)
        if server.older is before:
            break
        assert server.older is not None
        found = [int(row.text) for row in server.older.rows]
        assert found == list(range(oldest - len(found), oldest))
        oldest, seen = found[0], found + seen
    assert seen == list(range(12_345 - LOG_LINES))


async def test_the_middle_of_a_huge_log_is_left_out_and_counted(
    agent: Agent, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_log, "HEAD_BYTES", 32 << 10)
    monkeypatch.setattr(server_log, "TAIL_BYTES", 16 << 10)
    log, watched = tmp_path / "log", Watched(agent)
    log.write_text(lines(0, 40_000))
    await watched.catch_up(log)
    server = watched.state.hosts["box"].serve.servers[ID]
    numbers = watched.numbers
    assert numbers[0] == 0
    assert numbers[-1] == 39_999
    gaps = [at for at, (one, two) in enumerate(pairwise(numbers)) if two != one + 1]
    assert len(gaps) == 1
    ((before, untold, left_out),) = server.log_gaps
    assert (before, untold) == (gaps[0] + 1, 0)
    assert left_out > 500_000


async def test_a_rotated_log_is_read_from_its_start(agent: Agent, tmp_path: Path) -> None:
    log, watched = tmp_path / "log", Watched(agent)
    log.write_text(lines(0, 10))
    await watched.catch_up(log)
    log.rename(tmp_path / "log.1")
    log.write_text(lines(10, 15))
    await watched.catch_up(log)
    assert watched.numbers == list(range(15))


async def test_a_progress_bar_is_told_to_its_last_frame(agent: Agent, tmp_path: Path) -> None:
    """Its last frame and the next phase come in one read: the bar must not stay where it was seen last."""
    log, watched = tmp_path / "log", Watched(agent)
    bar = "\rLoading safetensors checkpoint shards:  {0}% Completed | {1}/24 [00:01<00:01,  1.35it/s]"
    begun = "[2026-11-30 00:00:00 TP0] Load weight begin. avail mem=94.50 GB\n"
    log.write_text(begun + bar.format(83, 20) + bar.format(87, 21))
    await watched.catch_up(log)
    server = watched.state.hosts["box"].serve.servers[ID]
    assert [(one.done, one.total) for one in server.bars] == [(20, 24)]  # the one behind it has no end yet
    ended = "\n[2026-11-30 00:00:01 TP0] KV Cache is allocated. #tokens: 8192, K size: 1.00 GB, V size: 1.00 GB\n"
    with log.open("a") as file:
        file.write(bar.format(100, 24) + ended)
    await watched.catch_up(log)
    assert (server.phase, server.progress) == ("kv", None)
    assert [(one.done, one.total) for one in server.bars] == [(24, 24)]
