"""The console is killed while a deploy downloads: the job goes on, and the same command follows it to the end."""

from __future__ import annotations

import json
from pathlib import Path

import huggingface_hub
import pytest

from console.demo.hub import model_files
from tests.serve.conftest import KEY, Box
from tests.support import served
from tests.support.hub import new_hub
from tests.support.killing import killed_at

REPO, MIB = "Qwen/Tiny", 1 << 20


@pytest.mark.slow
def test_killed_while_it_downloads(box: Box, tmp_path: Path) -> None:
    python = served.interpreter(tmp_path / "venv")
    (site,) = (tmp_path / "venv" / "lib").glob("python*/site-packages")
    (site / "library.pth").write_text(f"{Path(huggingface_hub.__file__).parents[1]}\n")
    hub = new_hub()
    hub.add(REPO, model_files(4, 2 * MIB, config=served.CONFIG))
    text = served.recipe("fetched", python, Path(REPO), box.port).replace('load-format = "dummy", ', "")
    recipe = f'{text}\ndir = "{tmp_path}/fetched"\n'
    (tmp_path / "gpudeck.toml").write_text(recipe)
    words = ("deploy", "local", "fetched", "--accept", "tight")
    with hub:
        env = {"HF_ENDPOINT": hub.endpoint, "HF_HOME": str(tmp_path / "hf"), "STANDIN_KEY": KEY}
        hub.faults.rate_bytes_s = 0.2 * MIB
        killed_at(box.gpudeck, words, "MB", **env)
        (job,) = box.jobs.glob("download-*")
        assert not (job / "exit.json").exists()
        hub.faults.rate_bytes_s = 0.0
        done = box.gpudeck.run(*words, "--json", **env)  # type: ignore[arg-type]
    assert done.returncode == 0, done.stderr + done.stdout
    server = json.loads(done.stdout)["server"]
    assert (server["phase"], server["smoke"]["ok"]) == ("ready", True)
    assert len(list(box.jobs.glob("download-*"))) == 1
    assert len(list(box.jobs.glob("serve-*"))) == 1
