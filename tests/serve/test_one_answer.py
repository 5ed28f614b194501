"""With `--json` standard output holds one object, whatever is asked of a server: done, tried out, or gone wrong."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.serve.conftest import KEY, Box
from tests.support.served import foreign_server, until

pytestmark = pytest.mark.slow


def answer(box: Box, *words: str, code: int = 0) -> dict[str, Any]:
    done = box.gpudeck.run(*words, "--json", STANDIN_KEY=KEY)
    assert done.returncode == code, done.stderr + done.stdout
    value: dict[str, Any] = json.loads(done.stdout)
    return value


def test_dry_runs_and_what_is_done_already(box: Box) -> None:
    server = answer(box, "serve", "local", "start", box.recipe("tiny"))["server"]["id"]
    for action in ("stop", "restart"):
        told = answer(box, "serve", "local", action, "--dry-run")
        assert (told["dry_run"], told["server"]["id"]) == (True, server)
        assert told["would"].startswith(f"{action} {server}")
    assert answer(box, "serve", "local", "adopt")["server"]["owner"] == "ours"
    told = answer(box, "bench", "local", "--concurrency", "1", "--dry-run")
    assert (told["points"][0]["rate"], told["points"][0]["rate_reason"]) == (None, "closed loop")
    kept = answer(box, "jobs", "local", "prune", "--all", code=4)
    assert (kept["schema"], kept["running"], kept["removed"]) == ("gpudeck.prune/1", [server], [])
    for name in ("nonsense", "/nonexistent.jsonl"):
        assert "own:code" in answer(box, "bench", "local", "--dataset", name, code=2)["sentence"]
    assert answer(box, "serve", "local", "stop")["phase"] == "stopped"
    assert answer(box, "serve", "local", "stop")["phase"] == "stopped"


def test_a_unit_needs_neither_its_recipe_nor_a_secret_to_go(box: Box) -> None:
    assert (
        "has no unit gpudeck-serve-gone.service"
        in answer(box, "serve", "local", "uninstall", "gone", code=1)["sentence"]
    )
    assert "has no unit of gpudeck" in answer(box, "serve", "local", "uninstall", code=1)["sentence"]


def test_adopting_is_tried_out_first(box: Box, tmp_path_factory: pytest.TempPathFactory) -> None:
    log = tmp_path_factory.mktemp("foreign") / "log"
    with foreign_server(box.python, box.model, box.port, log):
        until(lambda: box.server().get("phase") == "ready")
        told = answer(box, "serve", "local", "adopt", "--dry-run")
        assert (told["would"], told["server"]["owner"]) == (f"adopt {told['server']['id']}", "foreign")
