"""A tunnel from this laptop to a server of the box, on the connection that is there."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from console.config.records import HostConfig
from console.events import Event
from console.events.serve import TunnelChanged
from console.remote.errors import RemoteError
from console.state import HostState
from console.values import clean
from console.workers.link import Link
from console.workers.server_http import reached

LOOK_S = 0.5
BUSY_LOOKS = 10  # a burst is no reason to close
MOST_FACTS_S = 100  # above, the tunnel would take the processor from the screen


def _address(state: HostState, port: int) -> str:
    """Where the box reaches that port itself: a server may listen on one address alone."""
    seen = [one.seen for one in state.serve.servers.values() if one.seen and one.present and one.seen.port == port]
    return reached(seen[0]) if seen else "127.0.0.1"


async def tunnel(
    host: HostConfig, state: HostState, box_port: int, link_of: Callable[[], Link | None],
    publish: Callable[[Event], None], facts: Callable[[], int],
) -> None:  # fmt: skip
    """Open it and keep it until cancelled or the link is gone. `facts`: how many facts there were so far."""

    def tell(local_port: int, sentence: str) -> None:
        publish(TunnelChanged(host=host.name, box_port=box_port, local_port=local_port, sentence=clean(sentence)))

    address = _address(state, box_port)
    there = f"[{address}]" if ":" in address else address
    own = f"ssh -N -L {box_port}:{there}:{box_port} {host.ssh}"
    crowded = f"too much goes on for a tunnel of the console; in another terminal: {own}"
    before, link = facts(), link_of()
    await asyncio.sleep(1.0)
    if facts() - before > MOST_FACTS_S:
        tell(0, crowded)
        return
    if link is None:
        tell(0, "the link is down")
        return
    try:
        opened = await link.forward(box_port, address=address)
    except RemoteError as error:
        tell(0, f"{error} By hand: {own}")
        return
    if opened is None:
        tell(box_port, "the box is this machine")
        return
    tell(opened.port, "")
    sentence, before, busy = "closed", facts(), 0
    try:
        while link_of() is link and busy < BUSY_LOOKS:
            await asyncio.sleep(LOOK_S)
            busy = busy + 1 if facts() - before > MOST_FACTS_S * LOOK_S else 0
            before = facts()
        if busy == BUSY_LOOKS:
            sentence = crowded
    finally:
        await opened.close()
        tell(0, sentence)
