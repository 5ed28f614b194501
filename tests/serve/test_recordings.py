"""A recorded deploy of the real SGLang 0.5.23 on a CPU over sshd, cut down to its own server, replays to its end."""

from __future__ import annotations

from pathlib import Path

from console.session.replay import Replay
from console.views.serve import main_server, server_object

RECORDING = Path(__file__).parents[1] / "recordings" / "sglang_0_5_23_cpu_start.jsonl"


def test_recorded_start_replays_to_a_proved_server() -> None:
    replay = Replay(RECORDING)
    replay.advance()
    host = replay.state.hosts["box"]
    server = main_server(host)
    assert server is not None
    shown = server_object(host, server, replay.now())
    assert (shown["phase"], shown["proved_by"], shown["owner"]) == ("ready", "/ready", "ours")
    assert (shown["recipe"], shown["dummy"], shown["port"]) == ("tiny", True, 56401)
    assert shown["limits"]["max_total_num_tokens"] == 8192
    assert shown["actuals"]["tokens"] == 8192
    assert shown["smoke"]["tokens"] == 32
    assert shown["smoke"]["ok"]  # dummy weights may repeat themselves
    assert [phase for phase, _, _ in server.phases] == [
        "imports", "distributed", "weights", "kv", "warmup", "ready",
    ]  # fmt: skip
    assert any("fired up and ready to roll" in row.text for row in server.log)
