"""`gpudeck preflight` from the command line to the box and back, on this machine with fake GPUs."""

from __future__ import annotations

import json
import socket
import subprocess
from pathlib import Path
from typing import Any, get_args

import pytest

from console.events.plan import GateName
from console.models.kv import GIB
from console.session.replay import Replay
from console.views.plan import preflight
from tests.support.fakes import Fleet, uuid
from tests.support.gpudeck import Gpudeck
from tests.support.models import model_directory
from tests.support.ports import free_port


class Project:
    """A recipe file beside the laptop, and the answers of preflight about it."""

    def __init__(self, gpudeck: Gpudeck, model: Path, python: Path, port: int) -> None:
        self.gpudeck, self.model, self.python, self.port = gpudeck, model, python, port

    def recipe(self, args: str = "tp = 2", extra: str = "", python: str = "", model: str = "") -> None:
        (self.gpudeck.laptop.directory / "gpudeck.toml").write_text(
            f'[recipes.tiny]\nmodel = "{model or self.model}"\npython = "{python or self.python}"\n'
            f"port = {self.port}\nargs = {{ {args} }}\n{extra}\n"
        )

    def started(self, recipe: str, **actuals: float) -> None:
        """A start of this recipe became ready earlier."""
        file = self.gpudeck.home / "state" / "gpudeck" / "starts.json"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps({"local": {recipe: [{"job": "j", "phases_s": {}, "actuals": actuals}]}}))

    def code(self, text: str) -> None:
        """The model wants a Python file of its own."""
        config = json.loads((self.model / "config.json").read_text())
        config["auto_map"] = {"AutoConfig": "configuration_x.XConfig"}
        (self.model / "config.json").write_text(json.dumps(config))
        (self.model / "configuration_x.py").write_text(text)

    def check(self, *words: str) -> tuple[int, dict[str, Any]]:
        done = self.gpudeck.run("preflight", "local", *(words or ("tiny",)), "--json")
        assert done.stdout, done.stderr
        return done.returncode, json.loads(done.stdout)


@pytest.fixture
def project(gpudeck: Gpudeck, fleet: Fleet, model: Path, python: Path) -> Project:
    return Project(gpudeck, model, python, free_port())


def gate(answer: dict[str, Any], name: str) -> dict[str, Any]:
    found: dict[str, Any] = next(each for each in answer["gates"] if each["name"] == name)
    return found


def test_a_recipe_that_fits_passes_every_gate(project: Project) -> None:
    project.recipe()
    code, answer = project.check("tiny", "--dry-run")
    assert code == 0, answer
    assert answer["schema"] == "gpudeck.preflight/1"
    assert {each["name"] for each in answer["gates"]} == set(get_args(GateName))
    assert gate(answer, "disk")["state"] == "done"
    memory = gate(answer, "memory")["numbers"]
    assert [row["uuid"] for row in memory["per_gpu"]] == [uuid(0), uuid(1)]
    assert memory["sources"]["weights"] == "file headers"
    assert 0 < memory["min_fraction"] < memory["fraction"] < 1
    assert memory["tokens"] > 1_000_000
    assert gate(answer, "arguments")["numbers"]["validation"] == "accepted"
    assert answer["argv"][:3] == [str(project.python), "-m", "sglang.launch_server"]
    assert answer["argv"][answer["argv"].index("--model-path") + 1] == str(project.model)
    assert answer["env"]["HF_HUB_OFFLINE"] == "1"
    assert answer["env"]["CUDA_VISIBLE_DEVICES"] == f"{uuid(0)},{uuid(1)}"


def test_text_shows_the_verdict_the_ways_out_and_the_bars(project: Project) -> None:
    project.recipe("tp = 2, cuda-graph-max-bs = 8")
    done = project.gpudeck.run("preflight", "local", "tiny")
    assert done.returncode == 4
    assert done.stdout.startswith("tiny: BLOCK")
    assert "→ write --cuda-graph-max-bs-decode" in done.stdout
    project.recipe("tp = 2", extra="gpus = [3, 1]")
    bars = project.gpudeck.run("preflight", "local", "tiny").stdout
    assert [line.split()[1] for line in bars.splitlines() if line.startswith("  GPU ")] == ["3", "1"]


def test_what_cannot_be_started_has_no_command_line_and_its_start_names_the_ways_out(project: Project) -> None:
    project.recipe(python="/usr/bin/python3", model="org/nowhere")

    def start(*words: str) -> subprocess.CompletedProcess[str]:
        return project.gpudeck.run("serve", "local", "start", "tiny", *words, HF_ENDPOINT="http://127.0.0.1:9")

    answer = json.loads(start("--dry-run", "--json").stdout)
    assert (answer["argv"], answer["env"]) == (None, None)
    assert answer["argv_reason"] == answer["env_reason"] != ""
    shown = start("--dry-run").stdout.splitlines()
    assert f"argv  unknown: {answer['argv_reason']}" in shown
    assert "missing  org/nowhere is not on the box" in shown
    refused = start()
    assert (refused.returncode, refused.stdout) == (3, "")
    assert "      → repair the interpreter" in refused.stderr
    assert refused.stderr.splitlines()[-1].startswith("gpudeck: access: ")


@pytest.mark.parametrize(
    ("args", "words"),
    [
        ("tp = 2, frobnicate = 1", "--frobnicate is no flag of SGLang 0.5.23"),
        ('tp = 2, page-size = "many"', "needs a whole number"),
        ("tp = 3", "8 attention heads do not divide by 3"),
        ('tp = 2, speculative-algorithm = "DDTREE"', "no algorithm DDTREE"),
    ],
)
def test_bad_arguments_are_4_with_their_sentence(project: Project, args: str, words: str) -> None:
    project.recipe(args)
    code, answer = project.check()
    assert code == 4
    assert gate(answer, "arguments")["verdict"] == "block"
    assert words in gate(answer, "arguments")["sentence"]


def test_an_interpreter_without_sglang(project: Project) -> None:
    project.recipe(python="/usr/bin/python3")
    code, answer = project.check()
    assert code == 4
    assert "no package sglang" in gate(answer, "arguments")["sentence"]


def test_an_interpreter_that_is_not_there(project: Project) -> None:
    project.recipe(python="/nonexistent/bin/python")
    code, answer = project.check()
    assert code == 4
    assert gate(answer, "arguments")["verdict"] == "unknown"
    assert "/nonexistent/bin/python" in gate(answer, "arguments")["sentence"]
    assert "(" not in gate(answer, "arguments")["sentence"], "no error codes of the protocol"
    assert gate(answer, "ports")["verdict"] == "pass"


def test_a_directory_without_a_configuration(project: Project, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    project.recipe(model=str(tmp_path / "empty"))
    code, answer = project.check()
    assert code != 0
    assert gate(answer, "memory")["verdict"] == "unknown"
    assert "config.json" in gate(answer, "memory")["sentence"]


def test_every_gate_answers_even_when_the_model_is_not_there(project: Project, tmp_path: Path) -> None:
    project.recipe(model=str(tmp_path / "nowhere"))
    answer = project.check()[1]
    assert {each["name"] for each in answer["gates"]} == set(get_args(GateName))
    assert gate(answer, "remote_code")["verdict"] == "unknown"
    for each in answer["gates"]:
        assert each["way_out"] or each["verdict"] in ("pass", "warn"), each


def test_code_in_a_directory_blocks_until_it_is_trusted_and_accepted_once(project: Project) -> None:
    project.code("print('never run by us')")
    project.recipe()
    code, answer = project.check()
    assert (code, gate(answer, "remote_code")["state"]) == (4, "refused")
    project.recipe("tp = 2, trust-remote-code = true")
    code, answer = project.check("tiny", "--accept", "remote-code")
    assert (code, gate(answer, "remote_code")["state"]) == (0, "ask")
    assert list(gate(answer, "remote_code")["numbers"]["sha256"]) == ["configuration_x.py"]
    assert gate(project.check()[1], "remote_code")["state"] == "trusted"
    project.code("print('other code')")
    assert gate(project.check()[1], "remote_code")["state"] == "ask"


def test_a_circle_of_recipes_is_a_usage_error(project: Project) -> None:
    project.recipe(extra='extends = "loop"\n[recipes.loop]\nextends = "tiny"')
    done = project.gpudeck.run("preflight", "local", "tiny", "--json")
    assert done.returncode == 2
    assert "circle" in done.stdout


def test_a_taken_port_and_a_crowded_gpu(project: Project, fleet: Fleet) -> None:
    fleet.set(1, used=40 << 30)
    project.recipe(extra="gpus = [0, 1]")
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", project.port))
        listener.listen()
        code, answer = project.check()
    assert code == 4
    assert gate(answer, "ports")["state"] == "taken"
    assert gate(answer, "gpus")["state"] == "unbalanced"
    assert gate(answer, "memory")["numbers"]["per_gpu"][1]["foreign_bytes"] == 40 << 30


@pytest.mark.parametrize(("args", "extra"), [("tp = 2", "gpus = [6, 9]"), ("tp = 16", "")])
def test_gpus_that_the_box_does_not_have_block(project: Project, args: str, extra: str) -> None:
    project.recipe(args, extra=extra)
    answer = project.check()[1]
    assert (gate(answer, "gpus")["verdict"], gate(answer, "gpus")["state"]) == ("block", "absent")
    assert "links" not in gate(answer, "host")["state"]


def test_free_gpus_are_taken_when_the_recipe_names_none(project: Project, fleet: Fleet) -> None:
    fleet.set(0, used=40 << 30)
    project.recipe()
    code, answer = project.check()
    assert code == 0
    assert [row["uuid"] for row in gate(answer, "memory")["numbers"]["per_gpu"]] == [uuid(1), uuid(2)]


def test_tight_blocks_unless_it_is_accepted(project: Project) -> None:
    project.recipe("tp = 2, context-length = 400_000_000")
    code, answer = project.check()
    assert (code, gate(answer, "memory")["state"]) == (4, "tight")
    code, answer = project.check("tiny", "--accept", "tight")
    assert code == 0
    assert project.gpudeck.run("preflight", "local", "tiny", "--accept", "disk").returncode == 2


def test_a_model_without_a_recipe(project: Project) -> None:
    words = ("--model", str(project.model), "--python", str(project.python), "--port", str(project.port))
    code, answer = project.check(*words, "--tp", "4", "--trust-remote-code")
    assert code == 0, answer
    assert len(gate(answer, "memory")["numbers"]["per_gpu"]) == 4
    code, answer = project.check(*words, "--tp", "4", "--nonsense=1")
    assert code == 4
    assert project.gpudeck.run("preflight", "local").returncode == 2
    assert project.gpudeck.run("preflight", "local", "tiny", "--tp", "4").returncode == 2


def test_secrets_are_masked_in_a_dry_run(project: Project) -> None:
    project.recipe(extra='secrets = { api-key = "env:CANARY", HF_TOKEN = "env:CANARY" }')
    done = project.gpudeck.run("preflight", "local", "tiny", "--dry-run", "--json", CANARY="sk-canary-7781")
    assert "sk-canary-7781" not in done.stdout + done.stderr
    answer = json.loads(done.stdout)
    assert answer["env"]["HF_TOKEN"] == "***"
    assert any("***" in word for word in answer["argv"])


def test_the_record_of_a_plan_replays_to_the_same_gates(project: Project, tmp_path: Path) -> None:
    project.recipe()
    file = tmp_path / "plan.jsonl"
    done = project.gpudeck.run("preflight", "local", "tiny", "--json", "--record", str(file))
    live = json.loads(done.stdout)
    replay = Replay(file)
    replay.advance()
    again = preflight(replay.state.hosts["local"].plan.recipes["tiny"])
    assert [each["sentence"] for each in again["gates"]] == [each["sentence"] for each in live["gates"]]


def test_the_engine_is_remembered_by_box_interpreter_and_version(project: Project) -> None:
    project.recipe("frobnicate = 1")
    project.check()
    (kept,) = (project.gpudeck.home / "cache" / "gpudeck" / "engines").glob("*.json")
    assert kept.stat().st_mode & 0o777 == 0o600
    record = json.loads(kept.read_text())
    kept.write_text(json.dumps(record | {"answer": record["answer"] | {"version": "9.9.9"}}))
    assert "SGLang 9.9.9" in gate(project.check()[1], "arguments")["sentence"]
    kept.write_text(json.dumps(record | {"stamp": "another", "answer": record["answer"] | {"version": "9.9.9"}}))
    assert "SGLang 0.5.23" in gate(project.check()[1], "arguments")["sentence"]


def test_what_a_start_took_replaces_the_estimate_unless_the_model_is_another_by_now(project: Project) -> None:
    project.recipe("tp = 1")
    estimate = gate(project.check()[1], "memory")["numbers"]
    for factor, source in ((1.1, "measured on this box"), (3.0, "file headers")):
        project.started("tiny", weights_gb=factor * estimate["per_gpu"][0]["weights_bytes"] / GIB)
        numbers = gate(project.check()[1], "memory")["numbers"]
        assert numbers["sources"]["weights"] == source
        taken = numbers["per_gpu"][0]["weights_bytes"] / estimate["per_gpu"][0]["weights_bytes"]
        assert taken == pytest.approx(factor if source == "measured on this box" else 1, rel=1e-3)
        assert (numbers["plus_minus_bytes"] < estimate["plus_minus_bytes"]) == (source == "measured on this box")


def test_a_drafter_that_was_loaded_here_is_planned_as_it_was_measured(project: Project, tmp_path: Path) -> None:
    draft = model_directory(tmp_path / "models" / "draft")
    project.recipe('tp = 1, speculative-algorithm = "STANDALONE"', f'draft = "{draft}"')
    estimate = gate(project.check()[1], "memory")["numbers"]
    planned = estimate["per_gpu"][0]["draft_bytes"]
    assert planned > 0
    project.started("tiny", draft_gb=1.1 * planned / GIB)
    numbers = gate(project.check()[1], "memory")["numbers"]
    assert (numbers["sources"]["drafter"], numbers["sources"]["weights"]) == ("measured on this box", "file headers")
    assert numbers["per_gpu"][0]["draft_bytes"] == pytest.approx(1.1 * planned, rel=1e-3)


def test_recipes_of_the_same_class_that_were_ready_here_are_named(project: Project) -> None:
    project.recipe(extra='[recipes.older]\nextends = "tiny"\nargs = { tp = 1 }')
    assert gate(project.check("older")[1], "arguments")["numbers"]["ready_recipes"] == []
    project.started("older", weights_gb=1.0)
    numbers = gate(project.check("tiny")[1], "arguments")["numbers"]
    assert (numbers["architecture"], numbers["module"]) == ("Qwen3ForCausalLM", "qwen3")
    assert numbers["ready_recipes"] == ["older"]
    text = project.gpudeck.run("preflight", "local", "tiny").stdout
    assert "Qwen3ForCausalLM → sglang.srt.models.qwen3; READY on this box before: older" in text


def test_a_recipe_like_another_serves_the_next_model_of_its_class(project: Project, tmp_path: Path) -> None:
    project.recipe("tp = 2, page-size = 16", extra="gpus = [2, 3]")
    made = project.gpudeck.run("recipe", "new", str(model_directory(tmp_path / "next")), "--like", "tiny")
    assert made.returncode == 0, made.stderr
    code, answer = project.check("next", "--dry-run")
    assert code == 0, answer
    assert answer["argv"][answer["argv"].index("--page-size") + 1] == "16"
    assert answer["env"]["CUDA_VISIBLE_DEVICES"] == f"{uuid(2)},{uuid(3)}"


def test_a_smoke_test_that_is_not_run_is_told(project: Project, fleet: Fleet) -> None:
    fleet.set(1, used=2 << 30)
    project.recipe(extra="gpus = [0, 1]")
    answer = project.check("tiny", "--smoke")[1]
    assert (gate(answer, "host")["state"], gate(answer, "host")["verdict"]) == ("smoke", "warn")
    assert "No all-reduce was run: GPU 1 holds 2.0 GiB of others" in gate(answer, "host")["sentence"]


def test_the_smoke_test_needs_the_interpreters_torch(project: Project) -> None:
    project.recipe()
    code, answer = project.check("tiny", "--smoke")
    assert code == 4
    assert (gate(answer, "host")["state"], gate(answer, "host")["verdict"]) == ("smoke", "unknown")
    assert "torch" in gate(answer, "host")["sentence"]
