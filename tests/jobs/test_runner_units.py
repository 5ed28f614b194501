"""The runner as a systemd user unit: what systemd is told, and the unit's own way in. A real one: test_user_manager."""

from __future__ import annotations

import base64
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from console.payloads.runner import folder, units
from console.payloads.runner.record import prepare
from console.remote.bundle import STAGE0, bundle, frame
from tests.support.jobbox import JobBox, drained, ended, logged, record

# Does what systemd does with the words that we give it: the input from a file, an environment of its own.
STAND_IN = """#!{python}
import os, subprocess, sys
split = sys.argv.index("--")
words = dict(word.partition("=")[::2] for word in sys.argv[1:split])
properties = [word.partition("=")[2] for word in sys.argv[1:split] if word.startswith("--property=")]
source = next(each.partition(":")[2] for each in properties if each.startswith("StandardInput=file:"))
name, _, value = words["--setenv"].partition("=")
env = {{"PATH": os.defpath, name: value}}
with open(source.replace("%%", "%"), "rb") as stdin:
    subprocess.Popen(sys.argv[split + 1:], stdin=stdin, env=env, start_new_session=True)
"""


@pytest.fixture
def odd_box(tmp_path: Path) -> Iterator[JobBox]:
    """A box whose state directory has a specifier in its name."""
    made = JobBox(tmp_path / "100% state")
    yield made
    made.clear()


def payload(job_id: str, unit: str) -> dict[str, str]:
    program = frame(bundle("console.payloads.runner", {"op": "serve", "id": job_id, "unit": unit}))
    return {"stage0": STAGE0, "payload": base64.b64encode(program).decode()}


def test_the_units_properties(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", "/state")
    words = units.command("gpudeck-x.service", "/a 100%/runner.json", "source", 30.0)
    assert words[:2] == ["systemd-run", "--user"]
    assert {"--property=KillMode=mixed", "--property=Restart=no", "--property=TimeoutStopSec=50"} <= set(words)
    assert "--property=StandardInput=file:/a 100%%/runner.json" in words
    assert "--setenv=XDG_STATE_HOME=/state" in words
    assert words[words.index("--") + 1 :] == [sys.executable, "-I", "-S", "-u", "-c", "source"]


def test_a_unit_runs_the_job_with_the_environment_of_the_login_and_no_secret_in_its_words(
    odd_box: JobBox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tool = tmp_path / "bin" / "systemd-run"
    tool.parent.mkdir()
    tool.write_text(STAND_IN.format(python=sys.executable))
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tool.parent}:{os.environ['PATH']}")
    monkeypatch.setenv("XDG_STATE_HOME", odd_box.env["XDG_STATE_HOME"])
    monkeypatch.setenv("OF_THE_LOGIN", "yes")
    monkeypatch.setattr(units, "_lingering", lambda: str(tmp_path))
    job = {
        "id": "unit-1", "kind": "test", "key": "unit", "by": "me@laptop", "cwd": "/",
        "argv": ["sh", "-c", "echo $OF_THE_LOGIN ${#KEY}; exec sleep 600"], "secret_env": {"KEY": "canary-17"},
    }  # fmt: skip
    directory = folder.path_of("unit-1")
    os.makedirs(directory)
    folder.reserve(directory, folder.EXIT, folder.DRAINED, folder.STOP, folder.PAUSE)
    folder.write(directory, folder.SPEC, folder.dump(prepare(job, directory, 0o022)))
    assert units.launch("unit-1", directory, payload("unit-1", "gpudeck-unit-1.service"), 5.0)
    place = Path(directory)
    assert logged(place, "\n") == "yes 9\n"
    assert record(place)["unit"] == "gpudeck-unit-1.service"
    assert not (place / units.INPUT).exists()
    assert not any(b"canary-17" in path.read_bytes() for path in place.iterdir())
    odd_box.stop(place, 2)
    assert drained(place)
    assert ended(place)["signal"] == 15


def test_a_manager_that_refuses_leaves_the_detached_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tool = tmp_path / "systemd-run"
    tool.write_text("#!/bin/sh\nexit 1\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setattr(units, "_lingering", lambda: str(tmp_path))
    assert units.launch("x", str(tmp_path), payload("x", "u"), 5.0) is None
    assert not (tmp_path / units.INPUT).exists()
