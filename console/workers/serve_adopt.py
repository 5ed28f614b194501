"""Adoption: a server of somebody else is taken into our care; from then on it may be stopped."""

from __future__ import annotations

from console.state.serve import ServerState
from console.values import known
from console.workers.box import Box
from console.workers.jobs import user_at_laptop


def not_adoptable(server: ServerState) -> str:
    """Why this server cannot be adopted, in a sentence; nothing when it can."""
    seen = server.seen
    if seen is None or not server.present:
        return f"{server.id} does not run"
    return f"{server.id} runs in container {seen.container}: it is only looked at" if seen.container else ""


def starter(server: ServerState) -> str:
    """Who started it."""
    return str(server.seen.user) if server.seen and known(server.seen.user) else "somebody"


async def adopt(box: Box, server: ServerState) -> None:
    """Adopt it, and have it listed so. Raises AgentError, LinkLost."""
    assert server.seen is not None
    await box.agent.request("adopt", pid=server.seen.pid, start=server.seen.start, by=user_at_laptop())
    await box.agent.request("probe", name="servers", now=True)
