"""Where the output goes does not matter: closed streams, a full disk, a reader that has gone."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.support.gpudeck import Gpudeck

FULL = Path("/dev/full")


def shell(gpudeck: Gpudeck, line: str) -> subprocess.CompletedProcess[str]:
    """`g` stands for gpudeck. The exit code is that of the first command of a pipe."""
    words = " ".join(gpudeck.argv())
    script = f'set -o pipefail; g() {{ {words} "$@"; }}; {line}'
    return subprocess.run(
        ["bash", "-c", script], capture_output=True, text=True, env=gpudeck.env, cwd=gpudeck.laptop.directory
    )


@pytest.mark.parametrize("closed", ["<&- 2>&-"])
def test_a_closed_stream_is_no_fault(gpudeck: Gpudeck, closed: str) -> None:
    done = shell(gpudeck, f"g status local --json {closed}")
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["host"] == "local"


def test_closed_standard_output_is_not_given_to_anybody_else(gpudeck: Gpudeck) -> None:
    done = shell(gpudeck, "g status local --json >&-")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(not FULL.exists(), reason="needs /dev/full")
@pytest.mark.parametrize(
    ("line", "code"),
    [("g --version", 1), ("g recipe list", 1), ("g recipe list --json", 1), ("g status nosuchbox --json", 2)],
)
def test_output_that_takes_no_more_is_a_failure_with_one_sentence(gpudeck: Gpudeck, line: str, code: int) -> None:
    done = shell(gpudeck, f"{line} >{FULL}")
    assert done.returncode == code
    assert len(done.stderr.splitlines()) == 1
    assert code == 2 or "No space left on device" in done.stderr


@pytest.mark.skipif(not FULL.exists(), reason="needs /dev/full")
def test_narration_that_takes_no_more_ends_nothing(gpudeck: Gpudeck) -> None:
    done = shell(gpudeck, f"g recipe new /models/x --like demo --name x --json 2>{FULL}")
    assert done.returncode == 0
    assert json.loads(done.stdout)["name"] == "x"


@pytest.mark.parametrize("line", ["g --help", "g recipe list --json"])
def test_a_reader_that_has_gone_is_no_failure(gpudeck: Gpudeck, line: str) -> None:
    done = shell(gpudeck, f"{line} | true")
    assert (done.returncode, done.stderr) == (0, "")


def test_a_sentence_is_one_line_without_control_characters(gpudeck: Gpudeck) -> None:
    (gpudeck.laptop.directory / "gpudeck.toml").write_text('[recipes.a]\nmodel = "o/m\\n\\u001b[31m"\n')
    done = gpudeck.run("recipe", "show", "a")
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert "\x1b" not in done.stderr


def test_what_an_encoding_does_not_have_is_written_as_json_writes_it(gpudeck: Gpudeck) -> None:
    (gpudeck.laptop.directory / "gpudeck.toml").write_text('[recipes.a]\nmodel = "o/m"\ndescription = "→ 😀"\n')
    done = gpudeck.run("recipe", "show", "a", "--json", PYTHONIOENCODING="latin-1")
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["description"] == "→ 😀"
    assert done.stdout.isascii()


def test_a_directory_that_is_gone_is_named(gpudeck: Gpudeck) -> None:
    done = shell(gpudeck, "mkdir gone && cd gone && rmdir ../gone && g recipe list --json")
    assert done.returncode == 2
    assert "current directory" in json.loads(done.stdout)["sentence"]


@pytest.mark.parametrize("name", ["a..b", f"{'a' * 64}.example", "\udcff", ".."])
def test_what_cannot_be_a_host_name_is_a_usage_error(gpudeck: Gpudeck, name: str) -> None:
    done = gpudeck.run("status", name, "--json")
    assert done.returncode == 2
    assert "cannot be a host name" in json.loads(done.stdout)["sentence"]
