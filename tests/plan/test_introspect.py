"""The introspection program under real interpreters: with the stand-in, broken, without sglang; headers; ports."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from console.models.config import ModelConfig
from console.models.engine import parse_engine
from console.models.parameters import parameters
from console.models.weights import TensorGroup, weights_from_headers
from console.payloads.introspect import sources
from console.remote.bundle import STAGE0, bundle, frame
from console.values import known
from tests.support.models import CONFIG, model_directory
from tests.support.patience import COMMAND_S


def ask(python: Path | str, **request: Any) -> dict[str, Any]:
    done = subprocess.run(
        [str(python), "-I", "-u", "-c", STAGE0],
        input=frame(bundle("console.payloads.introspect", request)),
        capture_output=True,
        timeout=COMMAND_S,
    )
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def test_the_stand_in_introduces_itself(python: Path) -> None:
    engine = parse_engine(ask(python, op="engine"))
    assert engine.version == "0.5.23"
    assert engine.problem == ""
    assert known(engine.architectures)
    assert engine.architectures["Qwen3ForCausalLM"] == "qwen3"
    assert engine.flag("--tp-size") is not None
    assert known(engine.capture)
    assert "Qwen3ForCausalLM" in engine.capture["dflash"]
    assert not known(engine.torch.version)


def test_an_interpreter_without_sglang_says_so(tmp_path: Path) -> None:
    bare = tmp_path / "bare"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", bare], check=True)
    engine = parse_engine(ask(bare / "bin" / "python", op="engine"))
    assert "no package sglang" in engine.problem
    assert not known(engine.version)


def test_a_broken_venv_is_named_with_its_cause(tmp_path: Path) -> None:
    """A dependency that refuses to be imported, five frames deep, as a `kernels` release once did."""
    package = tmp_path / "sglang" / "srt"
    package.mkdir(parents=True)
    (tmp_path / "sglang" / "__init__.py").write_text("print('noise on standard output')\n")
    (package / "__init__.py").write_text("")
    (package / "server_args.py").write_text(
        "try:\n    raise ValueError('Either a revision or a version must be specified')\n"
        "except ValueError as error:\n    raise ImportError('cannot import name AutoConfig') from error\n"
    )
    engine = parse_engine(ask(sys.executable, op="engine", env={"PYTHONPATH": str(tmp_path)}))
    assert "cannot import name AutoConfig" in engine.problem
    assert "Either a revision or a version must be specified" in engine.problem


def test_the_stamp_changes_with_the_package(tmp_path: Path) -> None:
    package = tmp_path / "sglang"
    package.mkdir()
    (package / "__init__.py").write_text("")
    first = ask(sys.executable, op="version", env={"PYTHONPATH": str(tmp_path)})["stamp"]
    again = ask(sys.executable, op="version", env={"PYTHONPATH": str(tmp_path)})["stamp"]
    (package / "more.py").write_text("")
    changed = ask(sys.executable, op="version", env={"PYTHONPATH": str(tmp_path)})["stamp"]
    assert first == again != changed


def test_validation_in_the_words_of_the_version(python: Path, tmp_path: Path) -> None:
    gpu = {"count": 2, "name": "x", "memory_mib": 1024, "capability": [9, 0]}
    place = str(tmp_path / "Model")
    argv = ["--model-path", place, "--tp-size", "2"]
    config = {"model_type": "qwen3", "auto_map": {"AutoConfig": "evil.Config"}}
    accepted = ask(python, op="validate", argv=argv, gpu=gpu, configs={place: config})
    assert (accepted["result"], accepted["resolved"]["tp_size"]) == ("accepted", 2)
    refused = ask(python, op="validate", argv=[*argv, "--cuda-graph-max-bs", "8"], gpu=gpu)
    assert refused["result"] == "refused"
    assert "ambiguous option: --cuda-graph-max-bs" in refused["message"]


def test_a_validation_without_sglang_is_unknown() -> None:
    answer = ask(sys.executable, op="validate", argv=[], gpu={"count": 0})
    assert answer["result"] == "unknown"
    assert "sglang" in answer["message"]


def test_headers_give_the_bytes_that_the_configuration_counts(tmp_path: Path) -> None:
    folder = model_directory(tmp_path / "m")
    answer = ask(sys.executable, op="headers", path=str(folder))
    (file,) = answer["files"]
    assert file["problem"] == ""
    assert file["size_bytes"] == file["expected_bytes"] == (folder / "model.safetensors").stat().st_size
    weights = weights_from_headers(tuple(TensorGroup(*row) for row in answer["groups"]), ModelConfig(CONFIG))
    counted = parameters(ModelConfig(CONFIG))
    assert known(weights)
    assert known(counted)
    assert weights.total_bytes == counted.total * 2


@pytest.mark.parametrize(("spoil", "words"), [("short", "the header says"), ("empty", "error"), ("text", "header")])
def test_a_spoiled_file_is_named(tmp_path: Path, spoil: str, words: str) -> None:
    folder = model_directory(tmp_path / "m")
    path = folder / "model.safetensors"
    if spoil == "short":
        with path.open("r+b") as file:
            file.truncate(path.stat().st_size - 10)
    else:
        path.write_bytes(b"" if spoil == "empty" else b"<html>not here</html>" * 9)
    (file_row,) = ask(sys.executable, op="headers", path=str(folder))["files"]
    assert words in file_row["problem"]


def test_experts_are_one_group(tmp_path: Path) -> None:
    from tests.support.models import write_safetensors

    write_safetensors(
        tmp_path / "a.safetensors", {f"model.layers.0.mlp.experts.{n}.up_proj.weight": [4, 4] for n in range(16)}
    )
    groups = ask(sys.executable, op="headers", path=str(tmp_path))["groups"]
    assert groups == [["model.layers.0.mlp.experts.*.up_proj.weight", 16 * 32, 16]]


def test_a_directory_that_is_not_there_is_an_error_as_data() -> None:
    assert ask(sys.executable, op="headers", path="/nonexistent/x")["error"] == "io"


def test_a_taken_port_names_its_listener() -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        port = listener.getsockname()[1]
        (row,) = ask(sys.executable, op="host", ports=[port])["ports"]
    assert row["free"] is False
    assert "pid" in row["holder"]
    (row,) = ask(sys.executable, op="host", ports=[port])["ports"]
    assert row["free"] is True


def test_capture_is_found_through_base_classes(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(
        "class Base:\n    def set_dflash_layers_to_capture(self, ids): ...\nclass Plain: ...\nEntryClass = [Plain]\n"
    )
    (tmp_path / "b.py").write_text("import a\nclass Child(a.Base): ...\nEntryClass = Child\n")
    (tmp_path / "broken.py").write_text("def (:\n")
    answer = sources.scan(str(tmp_path))
    assert answer["architectures"] == {"Plain": "a", "Child": "b"}
    assert answer["capture"]["dflash"] == ["Child"]
