"""Boxes that lie: bounded memory and CPU, a clear state, and no other box is touched."""

from __future__ import annotations

import asyncio
import resource
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import NamedTuple

import pytest

from console.config import HostConfig, load_config
from console.remote.errors import AgentError
from console.session.live import LiveSession
from console.session.picker import LOCAL
from console.session.ways import Ways
from console.state import HostState
from tests.support.hostile_box import HostileLink
from tests.support.patience import PATIENCE_S

pytestmark = pytest.mark.slow
LIAR = "liar"
WATCHED_S = 2.0


class Attack(NamedTuple):
    """What the box does after its hello, and the states of the link that may follow."""

    name: str
    program: str
    states: tuple[str, ...] = ("up",)
    told: bool = False  # what was no frame, or came too fast, is counted
    words: str = ""  # that the link's sentence says when it is given up


AGAIN = ("up", "lost", "connecting")  # it is given up, and tried again: it greets well
ATTACKS = (
    Attack("heartbeats without end", "while True: say(line('heartbeat', {}) * 500)"),
    Attack("junk without end", "while True: say(b'junk ' * 1000 + b'\\n')", ("up", "stale"), told=True),
    Attack("answers to nothing", "while True: say(line('reply', {'a': [1] * 9000}, id=999999))"),
    Attack("parts of a ping", "while True: say(line('part', {'x': 'y' * 60000}, id=1))"),
    Attack(
        "wrong types",
        "while True:\n for kind in ('GpusSampled', 'DisksSampled', 'JobsSampled', 'ServersSampled', 'ProbeStuck'):\n"
        "  for data in ({}, {'gpus': 5, 'disks': 'x', 'jobs': {}}, {'gpus': [None], 'disks': [[]], 'jobs': [7]}):\n"
        "   say(line(kind, data))\n time.sleep(.05)",
        told=True,
    ),
    Attack(
        "deep nesting",
        "deep = b'[' * 50000 + b']' * 50000\n"
        'head = b\'{"v":1,"n":1,"k":"DisksSampled","t":1,"m":1,"d":{"disks":\'\n'
        "mid = b'[' * 600 + b']' * 600\n"
        "while True:\n say(head + deep + b'}}\\n' + head + mid + b'}}\\n')\n time.sleep(.05)",
        states=("up", "stale"),
        told=True,
    ),
    Attack(
        "numbers that are none",
        'head = b\'{"v":1,"n":1,"k":"heartbeat","x":"\\\\ud800","m":1,"d":{},"t":\'\n'
        "while True:\n for number in (b'NaN', b'Infinity', b'-1e999', b'9' * 5000, b'1e308'):\n"
        "  say(head + number + b'}\\n')\n time.sleep(.05)",
        told=True,
    ),
    Attack(
        "lying numbers", "while True:\n for n in (9, 2**62, -5, 0): say(line('heartbeat', {}, n))\n time.sleep(.05)"
    ),
    Attack("a second hello", "while True: say(line('hello', {'nonce': 5, 'home': [], 'pid': 'x'})); time.sleep(.05)"),
    Attack("silence", "time.sleep(600)", ("up", "stale")),
    Attack("chunks without end", "while True: say(line('part', {'chunk': 'y' * 60000}, id=1))", AGAIN, words="ping"),
    Attack("samples without end", "while True: say(line('DisksSampled', {'disks': []}) * 200)", ("up", "stale")),
    Attack("errors without end", "while True: sys.stderr.write('broken ' * 9000)", ("up", "stale")),
    Attack("a line without end", "while True: say(b'x' * 60000)", AGAIN, words="longer"),
    Attack(
        "a ping refused",
        "for asked in sys.stdin.buffer:\n"
        " say(line('error', {'error': 'io', 'message': 'no'}, id=json.loads(asked)['id']))",
        AGAIN,
        words="answered a ping with an error",
    ),
)


class Both(Ways):
    """This machine, and the liar."""

    attack = ""

    async def open(self, host: HostConfig) -> object:  # type: ignore[override]
        return HostileLink(self.attack) if host.name == LIAR else await super().open(host)


@pytest.fixture
async def ways(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Both]:
    for kind in ("CONFIG", "DATA", "STATE", "CACHE"):
        monkeypatch.setenv(f"XDG_{kind}_HOME", str(tmp_path / kind))
    monkeypatch.setattr("console.remote.local._CLOSE_LIMIT_S", 0.5)  # none of them goes by itself
    config = load_config(cwd=tmp_path, env={"XDG_CONFIG_HOME": str(tmp_path / "CONFIG")})
    async with AsyncExitStack() as resources:
        yield Both(config, None, None, resources)


async def heard(session: LiveSession, times: int) -> None:
    """The honest box beats."""
    link = session.state.hosts[LOCAL].link
    for _ in range(times):
        assert await session.wait(lambda _, before=link.heard_t: link.heard_t != before, PATIENCE_S)  # type: ignore[misc]


def used() -> tuple[float, int]:
    """CPU of this process in s, and the most memory it ever had, in bytes."""
    return time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)
async def test_a_box_that_lies(attack: Attack, ways: Both, tmp_path: Path) -> None:
    ways.attack = attack.program
    async with LiveSession(ways) as session:
        session.record_to(tmp_path / "record.jsonl")
        for name in (LOCAL, LIAR):
            session.add(HostConfig(name=name, ssh=name))
        session.start()
        liar: HostState = session.state.hosts[LIAR]
        assert await session.wait(lambda _: session.state.hosts[LOCAL].link.state == "up", PATIENCE_S)
        assert await session.wait(
            lambda _: liar.link.state in attack.states and liar.link.state != "connecting", PATIENCE_S
        )
        if attack.words:
            assert await session.wait(lambda _: attack.words in liar.link.sentence, PATIENCE_S)
        if attack.told:
            assert await session.wait(lambda _: liar.link.malformed > 0, PATIENCE_S)
        (cpu, memory), began = used(), time.monotonic()
        await asyncio.gather(heard(session, 2), asyncio.sleep(WATCHED_S))
        cpu_after, memory_after = used()
        took = time.monotonic() - began
        assert session.failure is None
        assert session.state.hosts[LOCAL].link.state == "up"
        assert liar.link.state in attack.states
        assert memory_after - memory < 64 << 20
        assert (cpu_after - cpu) / took < 0.6
    assert (tmp_path / "record.jsonl").stat().st_size < (12 << 20)


ANSWERS = """
for asked in sys.stdin.buffer:
    asked = json.loads(asked)
    if asked["op"] == "exec":
        {exec}
    say(line("reply", {{}}, id=asked["id"]))
"""
ENDLESS = "while True: say(line('part', {'fd': 1, 'data': 'eHh4' * 15000}, id=asked['id']))"
FED_THEN_ENDLESS = (
    "target = asked['id']; continue\n    "
    + "if asked['op'] == 'stdin':\n        "
    + (
        "say(line('reply', {}, id=asked['id']))\n        "
        "while True: say(line('part', {'fd': 1, 'data': 'eHh4' * 15000}, id=target))"
    )
)
NEVER = "continue"


@pytest.mark.parametrize(
    ("program", "words"),
    [(ENDLESS, "may wait here"), (FED_THEN_ENDLESS, "longer than"), (NEVER, "did not answer")],
    ids=["without end, unfed", "without end", "never"],
)
async def test_a_program_on_the_box_that_answers(program: str, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without end or never: an error in bounded time and memory, and the agent can be closed."""
    monkeypatch.setattr("console.remote.agent.PATIENCE_S", 1.0)
    monkeypatch.setattr("console.remote.local._CLOSE_LIMIT_S", 0.5)
    async with asyncio.timeout(30):
        agent = await HostileLink(ANSWERS.format(exec=program)).open_agent()
        _, memory = used()
        with pytest.raises(AgentError, match=words):
            await agent.run_program("python3", "console.payloads.introspect", {}, 10 if program != NEVER else 1)
        await agent.close()
    assert used()[1] - memory < 96 << 20
