"""The wheel holds what it needs and works from outside the repository."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.support.patience import COMMAND_S

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The installed files of a wheel as `make wheel` builds it, in the environment of the tests."""
    folder = tmp_path_factory.mktemp("wheel")
    pytest.importorskip("hatchling", reason="hatchling builds the wheel")
    subprocess.run(
        ["make", "-o", ".venv/.ready", "wheel", f"BIN={Path(sys.executable).parent}", f"DIST={folder}"],
        cwd=ROOT, check=True, capture_output=True,
    )  # fmt: skip
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder / "site")
    return folder / "site"


def test_it_holds_the_styles_the_agent_and_no_tests(site: Path) -> None:
    assert (site / "console/console.tcss").exists()
    assert (site / "console/agent/main.py").exists()
    assert not (site / "tests").exists()


def test_a_replay_draws_its_screens_from_the_wheel_alone(site: Path, tmp_path: Path) -> None:
    recording = ROOT / "tests/recordings/first_light.jsonl"
    done = subprocess.run(
        [sys.executable, "-P", "-m", "console", "--replay", str(recording), "--svg", str(tmp_path / "svg")],
        cwd=tmp_path, env={"PYTHONPATH": str(site), "HOME": str(tmp_path), "TERM": "xterm-256color"},
        capture_output=True, text=True, timeout=COMMAND_S,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "GPUs" in (tmp_path / "svg/overview.svg").read_text()
