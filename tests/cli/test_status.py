"""`gpudeck status` over a real OpenSSH server with the real nvidia-ml-py on a fake NVML library."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest

from tests.support.fakes import Fleet, uuid
from tests.support.gpudeck import Gpudeck
from tests.support.patience import COMMAND_S, PATIENCE_S
from tests.support.sshd import Sshd, sshd, user


def test_everything_true_of_a_box(gpudeck: Gpudeck, box: str, fleet: Fleet) -> None:
    fleet.set(3, util=97, used=8 * 2**30, reserved=2**30, power=654_321, temperature=66, sm_clock=1470, reasons=4)
    status = gpudeck.json("status", box)
    assert status["schema"] == "gpudeck.status/1"
    assert status["host"] == box
    assert status["link"]["state"] == "up"
    assert status["link"]["via"] == []
    assert 0 < status["link"]["rtt_s"] < 10
    assert len(status["gpus"]) == 8
    gpu = status["gpus"][3]
    total = gpu["memory_total_bytes"]
    assert gpu["uuid"] == uuid(3)
    assert gpu["memory_used_bytes"] == 8 * 2**30
    assert gpu["memory_used_bytes"] + gpu["memory_reserved_bytes"] + gpu["memory_free_bytes"] == total
    assert (gpu["state"], gpu["util_pct"], gpu["temperature_c"], gpu["sm_clock_mhz"]) == ("ok", 97, 66, 1470)
    assert gpu["power_w"] == pytest.approx(654.3, abs=0.1)
    assert gpu["power_limit_w"] == 700
    assert gpu["throttle"] == ["power_cap"]
    assert gpu["processes"] == []
    root = next(disk for disk in status["disks"] if disk["mount"] == "/")
    assert 0 < root["available_bytes"] <= root["total_bytes"]
    assert root["state"] == "ok"


@pytest.mark.slow
def test_the_first_visit_expects_nothing_and_later_ones_remember(gpudeck: Gpudeck, box: str, fleet: Fleet) -> None:
    first = gpudeck.json("status", box)
    assert first["gpus_expected"] is None
    assert first["gpus_expected_reason"]
    fleet.gpus.pop()
    fleet.write()
    second = gpudeck.json("status", box)
    assert second["gpus_expected"] == 8
    assert [gpu["state"] for gpu in second["gpus"]] == ["ok"] * 7 + ["missing"]
    assert second["gpus"][7]["uuid"] == first["gpus"][7]["uuid"]
    assert second["gpus"][7]["memory_total_bytes"] is None
    assert "7 of 8" in gpudeck.run("status", box).stdout


def test_a_lost_gpu_is_an_answer(gpudeck: Gpudeck, box: str, fleet: Fleet) -> None:
    fleet.call(5, "*", 15)
    status = gpudeck.json("status", box)
    states = [gpu["state"] for gpu in status["gpus"]]
    assert states[5] == "lost"
    assert states.count("ok") == 7
    assert status["gpus"][5]["util_pct"] is None
    assert status["gpus"][5]["util_pct_reason"]


def test_a_gpu_that_hangs_hides_no_other(gpudeck: Gpudeck, box: str, fleet: Fleet) -> None:
    fleet.call(2, "*", "hang")
    states = [gpu["state"] for gpu in gpudeck.json("status", box)["gpus"]]
    assert states[2] == "hung"
    assert states.count("ok") == 7


def test_an_nvml_that_hangs_hides_no_disk(gpudeck: Gpudeck, box: str, fleet: Fleet) -> None:
    fleet.call(None, "nvmlInitWithFlags", "hang")
    status = gpudeck.json("status", box)
    assert status["gpus"] is None
    assert status["gpus_reason"]
    assert status["disks"]


def test_what_a_gpu_does_not_support_is_null_with_a_reason(gpudeck: Gpudeck, box: str, fleet: Fleet) -> None:
    for field in ("util", "power", "temperature"):
        fleet.set(0, **{field: None})
    gpu = gpudeck.json("status", box)["gpus"][0]
    assert gpu["state"] == "ok"
    for field in ("util_pct", "power_w", "temperature_c"):
        assert gpu[field] is None
        assert gpu[f"{field}_reason"]


def test_a_noisy_login_shell_is_no_obstacle(gpudeck: Gpudeck, server: Sshd) -> None:
    with user("bash") as somebody:
        somebody.write(".bashrc", "echo Welcome to the box\nprintf 'no newline at the end: '\n")
        alias = gpudeck.laptop.ready(server, "noisy", somebody.name)
        assert gpudeck.json("status", alias)["link"]["state"] == "up"


def test_what_the_login_said_is_in_the_record_clean(gpudeck: Gpudeck, tmp_path: Path) -> None:
    with sshd() as server:
        (server.directory / "banner").write_text("\x1b[2JAuthorized use only\n")
        server.start(f"Banner {server.directory}/banner")
        alias = gpudeck.laptop.ready(server, "formal", "root", "StrictHostKeyChecking no")
        gpudeck.json("status", alias, "--record", str(tmp_path / "r.jsonl"))
    lines = [json.loads(line) for line in (tmp_path / "r.jsonl").read_text().splitlines()[1:]]
    told = [text for _, _, kind, fields in lines if kind == "NoiseHeard" for text in fields["lines"]]
    assert "Authorized use only" in told
    assert any("StrictHostKeyChecking" in text for text in told)


def test_a_recording_replays_to_the_live_end_state(gpudeck: Gpudeck, box: str, fleet: Fleet, tmp_path: Path) -> None:
    fleet.set(1, util=42)
    live = gpudeck.json("status", box, "--record", str(tmp_path / "r.jsonl"))
    first = gpudeck.run("--replay", str(tmp_path / "r.jsonl"), "--headless", "--json")
    second = gpudeck.run("--replay", str(tmp_path / "r.jsonl"), "--headless", "--json", "--speed", "1000")
    assert first.stdout == second.stdout
    replayed = json.loads(first.stdout)
    for key in ("schema", "ts", "demo"):
        del live[key]
    assert replayed["hosts"][box] == live
    assert replayed["warnings"] == []


def test_watch_is_a_stream_that_ctrl_c_ends(gpudeck: Gpudeck, box: str, fleet: Fleet) -> None:
    process = subprocess.Popen(
        gpudeck.argv("status", box, "--watch", "--json"), env=gpudeck.env, text=True, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert process.stdout is not None
    lines = [json.loads(process.stdout.readline()) for _ in range(2)]
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=PATIENCE_S)
    assert [line["host"] for line in lines] == [box, box]
    assert lines[0]["ts"] < lines[1]["ts"]
    assert process.returncode == 130


def test_this_machine_needs_no_ssh(gpudeck: Gpudeck, tmp_path: Path) -> None:
    env = Fleet(tmp_path, 2).env()
    status = gpudeck.json("status", "local", **env)
    assert status["host"] == "local"
    assert len(status["gpus"]) == 2


def test_a_broken_pipe_is_no_failure(gpudeck: Gpudeck, box: str) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        gpudeck.argv("status", box), env=gpudeck.env, stdout=writer, stderr=subprocess.PIPE, timeout=COMMAND_S
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, b"")
