"""A server's whole life through the command line, the agent and the job runner, with the stand-in as SGLang."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.serve.conftest import KEY, Box
from tests.support.served import foreign_server, until


def children(pid: int) -> list[int]:
    listed = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [int(word) for word in listed]


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def job_of(box: Box) -> str:
    """The id of the only server job."""
    (job,) = box.jobs.glob("serve-*")
    return job.name


def test_start_prove_look_and_stop(box: Box) -> None:
    box.recipe("tiny")
    started: dict[str, Any] = json.loads(box.serve("start", "tiny", "--json"))["server"]
    assert (started["phase"], started["proved_by"], started["owner"]) == ("ready", "/ready", "ours")
    assert started["smoke"]["ok"]
    assert started["smoke"]["answer"] == "The capital of France is Paris."
    assert ": imports" in box.said
    assert started["port"] == box.port
    assert started["dummy"] is True
    pid = started["pid"]
    assert alive(pid)
    # the same start follows, another one finds the port taken
    assert box.serve("start", "tiny", "--detach").strip() == json.dumps({"job": started["id"]}, separators=(",", ":"))
    again = box.gpudeck.run("deploy", "local", "tiny", "--detach", STANDIN_KEY=KEY)
    assert json.loads(again.stdout) == {"job": started["id"]}, again.stderr
    # the key went through a 0600 file, into no argument, no record, and masked out of the log
    job = box.jobs / str(started["id"])
    assert KEY not in (job / "job.json").read_text()
    assert KEY not in Path(f"/proc/{pid}/cmdline").read_text()
    assert (job / "secrets.yaml").stat().st_mode & 0o777 == 0o600
    assert KEY in (job / "log").read_text()
    assert "'api_key': '***'" in box.serve("logs", "--grep", "server_args=")
    tree = [pid, *children(pid)]
    stopped: dict[str, Any] = json.loads(box.serve("stop", "--json"))["server"]
    assert (stopped["phase"], stopped["cause"], stopped["exit_code"]) == ("stopped", None, 0)
    assert not any(alive(one) for one in tree)
    assert not (job / "secrets.yaml").exists()
    assert "Finished server process" in (job / "log").read_text()


@pytest.mark.slow
def test_the_start_of_another_recipe_on_the_same_port_is_not_taken_for_ours(box: Box) -> None:
    for name in ("first", "second"):
        box.recipe(name, SGLANG_STANDIN_SPEED="0.02")  # still far from listening
    box.serve("start", "first", "--detach")
    for words in (("serve", "local", "start", "second"), ("deploy", "local", "second", "--detach")):
        done = box.gpudeck.run(*words, STANDIN_KEY=KEY)
        assert done.returncode == 4, done.stdout + done.stderr
        assert f"(job {job_of(box)}); stop that one first, or give the recipe another port" in done.stderr
    assert box.serve("start", "first", "--detach").strip() == json.dumps({"job": job_of(box)}, separators=(",", ":"))


@pytest.mark.slow
def test_crash_names_cause_phase_and_way_out(box: Box) -> None:
    box.recipe("bad", SGLANG_STANDIN_FAIL="kv_oom")
    box.serve("start", "bad", exit_code=1)
    assert "crashed in kv" in box.said
    server = box.server(job_of(box))
    assert (server["phase"], server["kind"], server["cause_phase"]) == ("crashed", "memory_kv", "kv")
    assert "leave no GPU memory" in str(server["cause"])
    assert server["advice"][0] == "RAISE mem-fraction-static above 0.463"  # type: ignore[index]
    status = json.loads(box.serve("status", job_of(box), "--json"))
    assert (status["cause"], status["cause_phase"]) == (server["cause"], "kv")
    assert status["advice"] == server["advice"]
    bundle = box.gpudeck.laptop.directory / "bundle.json"
    box.serve("status", job_of(box), "--bundle", str(bundle))
    told = json.loads(bundle.read_text())
    assert bundle.stat().st_mode & 0o777 == 0o600
    assert told["server"]["argv"] == server["argv"]
    assert any("Scheduler hit an exception" in line for line in told["log"])
    assert {"gpudeck", "driver", "kernel"} <= told["versions"].keys()
    assert told["versions"]["sglang"] == told["versions"]["packages"]["sglang"]  # though this command asked no gate
    assert KEY not in bundle.read_text()
    box.serve("status", job_of(box), "--bundle", str(bundle), exit_code=2)  # never over a file
    box.serve("stop", "--bundle", "other.json", exit_code=2)


@pytest.mark.slow
def test_killed_scheduler_is_a_crash(box: Box) -> None:
    box.recipe("tiny")
    server = json.loads(box.serve("start", "tiny", "--json"))["server"]
    os.kill(children(server["pid"])[0], signal.SIGKILL)
    until(lambda: not alive(server["pid"]))
    gone = box.server(server["id"])
    assert (gone["phase"], gone["kind"], gone["cause_phase"]) == ("crashed", "killed", "ready")
    assert "exit code -9" in str(gone["cause"])


def test_a_fraction_of_nearly_all_is_lowered(box: Box) -> None:
    """As on real GPUs at 0.999; the demo's GPUs do the same."""
    box.recipe("greedy")
    recipes = box.gpudeck.laptop.directory / "gpudeck.toml"
    recipes.write_text(recipes.read_text().replace('device = "cpu"', 'device = "cpu", mem-fraction-static = 0.999'))
    box.serve("start", "greedy", exit_code=1)
    server = box.server(job_of(box))
    assert (server["kind"], server["cause_phase"]) == ("memory_kv", "kv")
    assert server["advice"][0].startswith("LOWER mem-fraction-static")  # type: ignore[index]


@pytest.mark.slow
def test_somebody_elses_server_is_looked_at_adopted_and_stopped(box: Box, tmp_path: Path) -> None:
    bystander = subprocess.Popen(["sglang::scheduler_TP0", "60"], executable="/bin/sleep")
    with foreign_server(box.python, box.model, box.port, tmp_path / "foreign.log") as process:
        until(lambda: "fired up" in (tmp_path / "foreign.log").read_text())
        server = box.server(str(box.port))
        assert (server["owner"], server["phase"], server["pid"]) == ("foreign", "ready", process.pid)
        assert "sk-byhand" not in json.dumps(server)
        box.serve("stop", str(box.port), exit_code=4)
        assert "adopt it first" in box.said
        box.serve("adopt", str(box.port), exit_code=4)
        box.serve("adopt", str(box.port), "--accept", "adopt")
        kept = list((box.state / "adopted").iterdir())
        assert [one.stat().st_mode & 0o777 for one in kept] == [0o600]
        assert "sk-byhand" in kept[0].read_text()
        tree = [process.pid, *children(process.pid)]
        box.serve("stop", str(box.port))
        assert process.wait(5) == 0
        assert not any(alive(one) for one in tree)
    assert alive(bystander.pid)
    bystander.kill()
    bystander.wait()


@pytest.mark.slow
def test_swap_brings_the_incumbent_back(box: Box) -> None:
    box.recipe("tiny")
    box.recipe("bad", SGLANG_STANDIN_FAIL="graphs_oom")
    box.serve("start", "tiny")
    box.serve("start", "bad", "--swap", exit_code=1)
    assert "is started again" in box.said
    done = box.gpudeck.run("wait", "local", "ready", STANDIN_KEY=KEY)
    assert done.returncode == 0, done.stderr
    server = box.server(str(box.port))
    assert (server["phase"], server["recipe"]) == ("ready", "tiny")


def test_dry_run_changes_nothing_and_masks(box: Box) -> None:
    box.recipe("tiny")
    shown = json.loads(box.serve("start", "tiny", "--dry-run", "--json"))
    assert shown["verdict"] in ("pass", "warn")
    assert "--served-model-name" in shown["argv"]
    assert any("***" in word for word in shown["argv"])
    assert not box.jobs.exists() or not list(box.jobs.glob("serve-*"))
