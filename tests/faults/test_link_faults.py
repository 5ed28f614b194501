"""The link breaks in every way there is: the screen says so, the work goes on, all is known again, nothing is left."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path

import pytest

from tests.support.faults import Fault, suffer
from tests.support.scene import BoxSide, Scene


async def sessions_killed(scene: Scene) -> None:
    scene.box.server.signal_sessions(signal.SIGKILL)


async def frozen(scene: Scene) -> None:
    scene.box.server.signal_sessions(signal.SIGSTOP)


async def thawed(scene: Scene) -> None:
    await scene.says(("link lost",), 10)
    scene.box.server.signal_sessions(signal.SIGCONT)


async def stranded(scene: Scene) -> None:
    scene.between.strand()


async def blackhole(scene: Scene) -> None:
    scene.between.mode = "blackhole"


async def clear(scene: Scene) -> None:
    scene.between.mode = "pass"


async def corrupt(scene: Scene) -> None:
    scene.between.mode = "corrupt"


async def reset(scene: Scene) -> None:
    scene.between.reset()


async def finished(scene: Scene) -> None:
    scene.between.finish()


async def slow(scene: Scene) -> None:
    scene.between.delay_s, scene.between.loss, scene.between.rate_bytes_s = 0.15, 0.2, 60_000


async def fast(scene: Scene) -> None:
    await asyncio.sleep(3)
    scene.between.delay_s, scene.between.loss, scene.between.rate_bytes_s = 0.0, 0.0, 0


async def server_gone(scene: Scene) -> None:
    scene.box.server.stop()


async def server_back(scene: Scene) -> None:
    scene.box.switch_on()


async def agent_killed(scene: Scene) -> None:
    for pid in scene.box.agents():
        os.kill(pid, signal.SIGKILL)


def one_session(box: BoxSide) -> None:
    box.options.append("MaxSessions 1")


def few_startups(box: BoxSide) -> None:
    box.options.append("MaxStartups 3:100:3")


LOST = ("link lost",)
RATE = "proxy: 150 ms each way, 60 kB/s, a fifth of the chunks 0.2 to 1 s late"
FAULTS = [
    Fault("sshd session killed", "SIGKILL to the session's sshd", LOST, 3, sessions_killed),
    Fault("sshd frozen", "SIGSTOP to the session's sshd; thawed after the link was given up",
          ("no sign of life", "stale"), 5, frozen, thawed),
    Fault("half-open link", "proxy swallows the connection in both directions, for ever", ("no sign of life",), 5,
          stranded),
    Fault("blip below the budget", "proxy holds everything back until the screen says so", ("no sign of life",), 5,
          blackhole, clear, survives=True),
    Fault("connection reset", "proxy sends RST to both sides", LOST, 3, reset),
    Fault("connection closed in between", "proxy sends FIN to both sides", LOST, 3, finished),
    Fault("bytes corrupted", "proxy flips one bit of each chunk", LOST, 6, corrupt, clear),
    Fault("slow and lossy link", RATE, (r"⇄ ([3-9]\d\d ms|\d.* s)",), 15, slow, fast, survives=True),
    Fault("SSH server restarts", "sshd ends with its sessions, and starts again",
          ("link lost: .* closed the connection before the login was over",), 5, server_gone, server_back),
    Fault("agent killed", "SIGKILL to the agent", ("link lost", "signal KILL"), 3, agent_killed),
    Fault("agent killed, MaxSessions 1", "SIGKILL to the agent where one session is all one gets",
          ("link lost", "signal KILL"), 3, agent_killed, prepare=one_session),
    Fault("MaxStartups 3, six links", "SIGKILL to the sessions of six boxes behind one server", LOST, 3,
          sessions_killed, prepare=few_startups, consoles=6),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.usefixtures("short_budget")
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
async def test_fault(fault: Fault, laptop_place: Path) -> None:
    await suffer(fault, laptop_place)
