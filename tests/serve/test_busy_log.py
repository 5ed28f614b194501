"""A server that says a thousand lines a second: the record stays small, says what it left out, and loses no failure."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from console.app import ConsoleApp
from console.bus import Bus
from console.config.records import HostConfig
from console.events import Stamped
from console.events.serve import ServerLogged, ServerPhaseReached
from console.journal import codec
from console.remote.local import open_local_agent
from console.state import HostState, State, reduce
from console.state.serve import LOG_LINES, LogGap, ServerState
from console.values import CleanText
from console.views.server_log import gap_text, last_rows, log_lines
from console.workers.box import Box
from console.workers.log_budget import A_SECOND, OTHER_AT_ONCE, TRAFFIC_AT_ONCE, LogBudget
from console.workers.server_log import LogReading, fetch_older
from tests.perf import mixed_hour
from tests.support.frames import frame
from tests.support.played import PlayedSession

ID = CleanText("s")
STAMP = "[2026-11-30 00:00:00] "
ACCESS = STAMP + 'INFO:     127.0.0.1:5{0:04} - "POST /v1/chat/completions HTTP/1.1" 200 OK\n'
PART_S = 0.25


class Flooded:
    """A reading that is told text at moments of its own, and what the state makes of it."""

    def __init__(self) -> None:
        self.now, self.size = 0.0, 0
        self.reading = LogReading("box", ID)
        self.budget = LogBudget(lambda: self.now)
        self.state, self.bus = State(hosts={"box": HostState("box")}), Bus()
        self.bus.listen(self._heard)
        self.text = ""
        self.phases: list[str] = []

    def _heard(self, stamped: Stamped) -> None:
        reduce(self.state, stamped)
        self.size += len(codec.encode(stamped))
        if isinstance(stamped.event, ServerPhaseReached):
            self.phases.append(stamped.event.phase)

    @property
    def server(self) -> ServerState:
        return self.state.hosts["box"].serve.servers[ID]

    def says(self, text: str) -> None:
        data = text.encode()
        self.text += text
        part = {"data": base64.b64encode(data).decode(), "next": self.reading.offset + len(data), "inode": 1}
        for fact in self.reading.take(part, self.budget):
            self.bus.publish(fact)
        self.now += PART_S

    def flood(self, seconds: float) -> None:
        numbers = count()
        for _ in range(int(seconds / PART_S)):
            self.says("".join(ACCESS.format(next(numbers) % 10_000) for _ in range(int(1000 * PART_S))))


def told(server: ServerState) -> Iterator[str]:
    return (row.text for row in server.log)


def test_a_flood_is_told_in_part_and_says_so() -> None:
    one = Flooded()
    one.flood(20)
    server = one.server
    assert server.log_count <= TRAFFIC_AT_ONCE + 21 * A_SECOND
    assert server.log_count + server.log_untold == 20_000
    assert one.size < 400_000, "all of it would be 3 MB"
    rows = list(last_rows(server, 120))
    gaps = [row for row in rows if isinstance(row, LogGap)]
    assert len(gaps) in (2, 3), "one a second"
    assert {gap.lines for gap in gaps} == {1000 - A_SECOND}
    assert gap_text(gaps[0]) == "… 950 lines of a busy server are in the box's file alone"
    assert log_lines(server, 120).count(gap_text(gaps[0])) == len(gaps)


def test_a_start_and_a_crash_in_the_midst_of_it_are_whole() -> None:
    one = Flooded()
    one.flood(3)
    start = "".join(f"{STAMP[:-2]} TP{rank}] Load weight begin. avail mem=94.50 GB\n" for rank in range(8))
    trace = "".join(
        f"{STAMP[:-2]} TP{rank}] Scheduler hit an exception: Traceback (most recent call last):\n"
        + "".join(f'  File "scheduler.py", line {line}, in run_batch\n    step{line}()\n' for line in range(100))
        + "torch.OutOfMemoryError: CUDA out of memory.\n\n"
        for rank in range(8)
    )
    flood = "".join(ACCESS.format(number) for number in range(500))
    refused = STAMP + 'INFO:     127.0.0.1:50001 - "POST /v1/chat/completions HTTP/1.1" 500 Internal Server Error\n'
    one.says(flood + start + flood + refused + trace + flood)
    lines = list(told(one.server))
    assert sum("Load weight begin" in line for line in lines) == 8
    assert sum("500 Internal" in line for line in lines) == 1
    assert sum("step" in line for line in lines) == 800
    assert sum("out of memory" in line for line in lines) == 8
    assert "weights" in one.phases
    assert one.reading.story.errors, "the story hears every line"


def test_other_lines_without_end_are_bounded_too() -> None:
    one = Flooded()
    for _ in range(4 * 5):
        one.says("".join(f"{STAMP}something is wrong again\n" for _ in range(500)))
    assert one.server.log_count <= OTHER_AT_ONCE + 6 * A_SECOND


async def test_the_way_back_into_the_file_leaves_out_nothing(tmp_path: Path) -> None:
    """Older lines join those on screen: no line twice, none lost but those that a gap counts."""
    one, numbers = Flooded(), count()
    access = STAMP + 'INFO:     10.0.0.1:1 - "POST /{0:07} HTTP/1.1" 200 OK\n'
    for turn in range(4 * 30):
        busy = "".join(access.format(next(numbers)) for _ in range(150))
        lines = "".join(f"{STAMP}line {next(numbers):07}\n" for _ in range(80))
        one.says(lines + busy if turn % 2 else busy)
    server = one.server
    assert len(server.log) == LOG_LINES < server.log_count
    log = tmp_path / "log"
    log.write_text(one.text)
    agent = await open_local_agent("python3")
    try:
        box = Box("box", agent, one.bus.publish, HostConfig(name="box", ssh="box"))
        await fetch_older(box, server, str(log), fresh=True)
        first, older = next(iter(last_rows(server, LOG_LINES))), server.older
        assert older is not None
        last = number_of(older.rows[-1].text)
        before = number_of(server.log[0].text)
        assert last == before - 1, "untold lines before the ring are in the file, and were read back"
        assert isinstance(first, LogGap) or last == before - 1
        again = older.rows[0].text
        await fetch_older(box, server, str(log), fresh=False)
        assert server.older is not None
        assert number_of(server.older.rows[-1].text) == number_of(again) - 1
    finally:
        await agent.close()


def number_of(text: str) -> int:
    return int(text.partition("/")[2][:7] if "POST" in text else text.split()[-1])


async def test_the_log_on_screen_names_what_it_left_out() -> None:
    session = PlayedSession(*mixed_hour.before(), hosts=[mixed_hour.HOST])
    app = ConsoleApp(session)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("5")
        rows = tuple(mixed_hour.line(0, at) for at in range(3))
        for untold in ((), ((3, 40),), ((0, 900), (2, 1))):
            session.tell(
                ServerLogged(host=mixed_hour.HOST, server=mixed_hour.SERVER, rows=rows, offset=0, untold=untold)
            )
            app.tick()
            await pilot.pause()
        shown = [line for line in frame(app).splitlines() if "Decode batch" in line or "box's file" in line]
        assert ["box's file" in line for line in shown[-11:]] == [False] * 6 + [True, False, False, True, False]
        assert "… 940 lines of a busy server are in the box's file alone" in shown[-5]
        assert "… 1 line of a busy server" in shown[-2]


@pytest.mark.parametrize("at_once", [TRAFFIC_AT_ONCE, OTHER_AT_ONCE])
def test_an_ordinary_day_is_told_whole(at_once: int) -> None:
    one = Flooded()
    text = ACCESS.format(1) if at_once == TRAFFIC_AT_ONCE else f"{STAMP}hello\n"
    one.says(text * (at_once - A_SECOND))
    for _ in range(100):
        one.says(text * int(A_SECOND * PART_S))
    assert one.server.log_untold == 0
    assert not one.server.log_gaps
