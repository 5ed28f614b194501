"""Logging in to a real OpenSSH server: what works, what is asked, and what a refusal says."""

from __future__ import annotations

from tests.support.laptop import Laptop
from tests.support.sshd import Sshd


async def test_a_plain_key_gives_an_agent_that_answers(laptop: Laptop, plain_server: Sshd) -> None:
    connection = await laptop.connect(laptop.ready(plain_server))
    agent = await connection.open_agent()
    try:
        assert agent.hello["uid"] == 0
        assert await agent.request("ping") == {}
    finally:
        await agent.close()
        await connection.close()
    assert connection.is_closed()
