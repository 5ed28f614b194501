"""Somebody else's server wants an API key: the load worker has it from the box, or the command ends before it asks."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from console.payloads.load.output import Output
from tests.bench.conftest import ServedBox
from tests.support.served import HAND_KEY, foreign_server, until

QUICK = ("--concurrency", "2", "--window", "1", "--isl", "16", "--osl", "16")


def _ready(box: ServedBox) -> None:
    def asked() -> bool:
        seen = box.gpudeck.json("status", "local")["servers"] or ()
        return any(one["phase"] == "ready" for one in seen if one["port"] == box.port)

    until(asked)


def _holding(secret: str, *places: Path) -> list[str]:
    found = subprocess.run(["grep", "-rl", secret, *map(str, places)], capture_output=True, text=True)
    return found.stdout.split()


@pytest.mark.slow
def test_the_key_of_its_command_line_stays_on_the_box(served_box: ServedBox, tmp_path: Path) -> None:
    box, record = served_box, tmp_path / "night.jsonl"
    with foreign_server(box.python, box.model, box.port, tmp_path / "server.log", "--enable-metrics"):
        _ready(box)
        mine = ("--server", str(box.port))  # another test's may run beside it
        done = box.gpudeck.run("bench", "local", *mine, *QUICK, "--json", "--record", str(record))
    assert done.returncode == 0, done.stderr
    point = json.loads(done.stdout)["points"][0]
    assert point["failed"] == 0
    assert point["output_tok_s"] > 50
    job = json.loads(next((box.gpudeck.home / "state" / "gpudeck" / "jobs").glob("bench-*/job.json")).read_text())
    assert job["env"]["GPUDECK_API_KEY"] == "***"
    assert HAND_KEY not in done.stdout + done.stderr
    assert _holding(HAND_KEY, box.gpudeck.home, record) == []


@pytest.mark.slow
def test_a_key_that_nobody_has_ends_it_before_the_warm_up(served_box: ServedBox, tmp_path: Path) -> None:
    box, config = served_box, tmp_path / "server.yaml"
    config.write_text(f'api-key: "{HAND_KEY}"\n')
    with foreign_server(box.python, box.model, box.port, tmp_path / "server.log", key=("--config", str(config))):
        _ready(box)
        config.unlink()
        done = box.gpudeck.run("bench", "local", *QUICK, "--json")
        assert done.returncode == 5, done.stderr
        error = json.loads(done.stdout)
        assert error["exit"] == 5
        assert f"port {box.port}" in error["sentence"]
        assert "--recipe" in error["sentence"]
        box.recipe("by-hand")
        words = ("bench", "local", *QUICK, "--recipe", "by-hand")
        refused = box.gpudeck.run(*words, STANDIN_KEY="sk-wrong")
        assert refused.returncode == 5, refused.stderr
        assert "refuses the API key of the recipe" in refused.stderr
        assert not list((box.gpudeck.home / "state" / "gpudeck" / "jobs").glob("bench-*"))
        done = box.gpudeck.run(*words, "--json", STANDIN_KEY=HAND_KEY)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["points"][0]["failed"] == 0


def test_a_server_that_says_the_key_back_spoils_no_file_and_no_number(tmp_path: Path) -> None:
    output = Output(str(tmp_path), "123456")
    output.line("tick", tokens=1234567, error='Unauthorized: "123456" is no key')
    row = json.loads((tmp_path / "progress.ndjson").read_text())
    assert (row["tokens"], row["error"]) == (1234567, 'Unauthorized: "***" is no key')
