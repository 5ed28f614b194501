"""Bundles: what starts on the box is exactly what was packed, under any shell, from Python 3.8 on."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

import console
from console.remote.bundle import STAGE0, bundle, frame

MAIN = """\
import json, os, sys
from . import VALUE
from .inner.deep import double

def main(config):
    if config.get("extra"):
        import gpudeck_extra
        return gpudeck_extra.CODE
    if config.get("fail"):
        raise RuntimeError("as planned")
    rest = sys.stdin.read()
    print(json.dumps([VALUE, double(config["text"]), rest, __name__, sorted(sys.argv)]))
"""


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A package of small modules with relative imports."""
    inner = tmp_path / "boxprogram" / "inner"
    inner.mkdir(parents=True)
    (tmp_path / "boxprogram" / "__init__.py").write_text("VALUE = 'über'\n", "utf-8")
    (tmp_path / "boxprogram" / "main.py").write_text(MAIN)
    (inner / "__init__.py").write_text("")
    (inner / "deep.py").write_text("from .. import VALUE\n\ndef double(text):\n    return text * 2\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    return "boxprogram"


def run(data: bytes) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([sys.executable, "-I", "-S", "-u", "-c", STAGE0], input=data, capture_output=True)


def test_modules_config_and_the_rest_of_the_input_arrive(package: str) -> None:
    text = '\'; "$(touch x)"\n\x00\ud800é'
    ended = run(frame(bundle(package, {"text": text})) + b"what follows\n")
    assert ended.stderr == b""
    expected = ["über", text * 2, "what follows\n", "gpudeck_boxprogram.main", ["-c"]]
    assert json.loads(ended.stdout) == expected


def test_an_extra_module_is_importable_and_the_exit_code_is_passed_on(package: str) -> None:
    ended = run(frame(bundle(package, {"extra": True}, {"gpudeck_extra": "CODE = 42\n"})))
    assert ended.returncode == 42


def test_a_traceback_shows_the_source_lines(package: str) -> None:
    ended = run(frame(bundle(package, {"fail": True})))
    assert ended.returncode == 1
    assert b'raise RuntimeError("as planned")' in ended.stderr
    assert b"gpudeck_boxprogram.main" in ended.stderr


@pytest.mark.parametrize("part", [b"", b"12", b"300\nabc"])
def test_an_input_that_is_cut_short_has_an_exit_code_of_its_own(part: bytes) -> None:
    assert run(part).returncode == 98


def test_no_login_shell_finds_a_character_to_change() -> None:
    """Single quotes end there; csh reads ! and newlines inside them, fish the backslash."""
    assert not set(STAGE0) & set("'!\\\n$`")
    assert STAGE0.isascii()
    assert len(STAGE0) < 1000


def test_a_payload_is_one_word_and_a_newline() -> None:
    payload = bundle("console.payloads.exec", {"source": "", "argv": ["x"]})
    assert payload.endswith(b"\n")
    assert len(payload.split()) == 1


@pytest.mark.parametrize("room", ["agent", "payloads"])
def test_what_runs_on_the_box_is_python_3_8(room: str) -> None:
    sources = list((Path(console.__file__).parent / room).rglob("*.py"))
    assert sources
    for path in sources:
        ast.parse(path.read_text("utf-8"), str(path), feature_version=(3, 8))
