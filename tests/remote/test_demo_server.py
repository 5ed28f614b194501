"""The loopback server that plays a box."""

from __future__ import annotations

import os
from pathlib import Path

from console.remote.connection import connect
from console.remote.demo_server import demo_server


async def test_it_runs_the_agent_with_the_given_directory_and_environment_alone(tmp_path: Path) -> None:
    os.environ["LEFT_AT_HOME"] = "1"
    try:
        async with demo_server(tmp_path, {"PATH": os.environ["PATH"], "DEMO": "yes"}) as server:
            connection = await connect(server.alias, ssh_config=server.ssh_config)
            agent = await connection.open_agent()
            result = await agent.request("exec", argv=["sh", "-c", "pwd; echo $DEMO $LEFT_AT_HOME"])
            assert result["exit_code"] == 0
            await agent.close()
            await connection.close()
    finally:
        del os.environ["LEFT_AT_HOME"]
