"""The runner as a systemd user unit: what systemd is told, the unit's own way in, and a real user manager."""

from __future__ import annotations

import base64
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from console.payloads.runner import folder, units
from console.payloads.runner.record import prepare
from console.remote.bundle import STAGE0, bundle, frame
from tests.support.jobbox import JobBox, alive, drained, ended, log, logged, record
from tests.support.requirements import need

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


@pytest.mark.slow
def test_a_real_user_manager_runs_and_stops_a_job(box: JobBox) -> None:
    need("systemd", units._lingering() is not None, "no systemd user manager with lingering here")
    program = payload("real-1", "gpudeck-real-1.service")
    job = {"id": "real-1", "kind": "test", "key": "real", "by": "me@laptop", "argv": ["sleep", "600"]}
    answer = box.call("start", job=job, unit=program)
    assert answer["job"]["unit"] == "gpudeck-real-1.service"
    place = box.root / "real-1"
    shown = subprocess.run(["systemctl", "--user", "show", "gpudeck-real-1", "-p", "MainPID"], capture_output=True)
    assert str(record(place)["runner_pid"]).encode() in shown.stdout
    subprocess.run(["systemctl", "--user", "stop", "gpudeck-real-1"], check=True)
    assert ended(place)["stopped_by"] == "the system"
    assert not alive(record(place)["pid"])
    assert log(place) == ""
