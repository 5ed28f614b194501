"""The network itself breaks: laptop and box in namespaces of their own, joined by a cable that the kernel drives.

Where `test_link_faults.py` plays a fault with a proxy, both ends here speak to a real network: no FIN, no RST, routes
that vanish, queues that overflow. Needs root and iproute2.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from subprocess import CalledProcessError

import pytest

from tests.support.faults import Fault, nothing, suffer
from tests.support.requirements import need
from tests.support.scene import Scene
from tests.support.wire import LAPTOP, Wire, wired

QUIET = ("no sign of life",)
THIN = "rate 20kbit burst 1600 limit 4000"
BAD = "delay 120ms 40ms loss 5% rate 500kbit"


def at_the_box(*words: str) -> Callable[[Scene], Awaitable[object]]:
    """An `ip` command on the box's side."""

    async def step(scene: Scene) -> None:
        _wire(scene).box("ip", *words)

    return step


def once_it_says(words: str, within_s: float, *command: str) -> Callable[[Scene], Awaitable[object]]:
    """An `ip` command on the box's side as soon as the screen has come so far."""

    async def step(scene: Scene) -> None:
        await scene.says((words,), within_s)
        _wire(scene).box("ip", *command)

    return step


async def laptop_leaves(scene: Scene) -> None:
    _wire(scene).laptop("ip", "link", "set", "laptop0", "down")


async def laptop_returns(scene: Scene) -> None:
    await scene.says(("There is no route to",), 15)
    _wire(scene).laptop("ip", "link", "set", "laptop0", "up")


async def thin(scene: Scene) -> None:
    for side, device in ((_wire(scene).laptop, "laptop0"), (_wire(scene).box, "box0")):
        side("tc", "qdisc", "add", "dev", device, "root", "tbf", *THIN.split())


async def thick(scene: Scene) -> None:
    """Not before packets were really dropped."""
    wire = _wire(scene)
    await scene.until(lambda: _dropped(wire) > 0, 15, "packets dropped")
    for side, device in ((wire.laptop, "laptop0"), (wire.box, "box0")):
        side("tc", "qdisc", "del", "dev", device, "root")


async def bad(scene: Scene) -> None:
    try:
        for side, device in ((_wire(scene).laptop, "laptop0"), (_wire(scene).box, "box0")):
            side("tc", "qdisc", "add", "dev", device, "root", "netem", *BAD.split())
    except CalledProcessError as error:
        need("netem", False, f"this kernel has no netem: {error.stderr.strip()}")


def _dropped(wire: Wire) -> int:
    return sum(int(found) for found in re.findall(r"dropped (\d+)", wire.box("tc", "-s", "qdisc")))


def _wire(scene: Scene) -> Wire:
    assert scene.box.wire is not None
    return scene.box.wire


DOWN, UP = ("link", "set", "box0", "down"), ("link", "set", "box0", "up")
HOLE = ("blackhole", LAPTOP)
FAULTS = [
    Fault("cable pulled", "network namespaces: the box's end is down until the link was given up", QUIET, 5,
          at_the_box(*DOWN), once_it_says("link lost", 15, *UP)),
    Fault("answers vanish", "network namespaces: the box's answers fall into a black hole, new connections' too", QUIET,
          5, at_the_box("route", "add", *HOLE), once_it_says("did not answer within 4 s", 25, "route", "del", *HOLE)),
    Fault("laptop leaves its network", "network namespaces: the laptop's device is down until no way is left", QUIET, 5,
          laptop_leaves, laptop_returns),
]  # fmt: skip
BLIPS = [
    Fault("cable pulled for a moment", "network namespaces: the box's end is down until the screen says so", QUIET, 5,
          at_the_box(*DOWN), at_the_box(*UP), survives=True),
    Fault("thin cable, full queue", f"network namespaces, tc tbf {THIN} both ways: packets are dropped",
          (r"⇄ ([1-9]\d\d ms|\d.* s)",), 25, thin, thick, survives=True),
    Fault("slow and lossy cable", f"network namespaces, tc netem {BAD} both ways", (r"⇄ ([2-9]\d\d ms|\d.* s)",), 15,
          bad, nothing, survives=True),
]  # fmt: skip


@pytest.fixture
def wire() -> Iterator[Wire]:
    with wired() as one:
        yield one


@pytest.mark.slow
@pytest.mark.usefixtures("short_budget")
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
async def test_the_link_is_given_up_and_comes_back(fault: Fault, laptop_place: Path, wire: Wire) -> None:
    await suffer(fault._replace(prepare=lambda box: box.plug(wire)), laptop_place)


@pytest.mark.slow
@pytest.mark.parametrize("fault", BLIPS, ids=lambda fault: fault.name)
async def test_the_link_lasts(fault: Fault, laptop_place: Path, wire: Wire) -> None:
    await suffer(fault._replace(prepare=lambda box: box.plug(wire)), laptop_place)
