"""The commands `jobs` and `wait` as a user runs them."""

from __future__ import annotations

import json

import pytest

from tests.support.inside import Deck, in_process
from tests.support.jobbox import JobBox, drained, logged, record
from tests.support.place import Place


@pytest.fixture
def deck(box: JobBox, place: Place, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Deck:
    """Run a command against this machine: (exit code, standard output, standard error)."""
    monkeypatch.setenv("XDG_STATE_HOME", box.env["XDG_STATE_HOME"])
    return in_process(capsys)


def test_list_show_stop_prune(box: JobBox, deck: Deck) -> None:
    job = box.run("sh", "-c", "echo a line; exec sleep 600")
    logged(job, "a line")
    code, out, _ = deck("jobs", "local", "list", "--json")
    listed = json.loads(out)
    assert (code, listed["schema"]) == (0, "gpudeck.jobs/1")
    (one,) = listed["jobs"]
    assert one | {"id": job.name, "kind": "test", "state": "running", "by": "me@laptop", "signal": None} == one
    assert (one["exit_code"], one["exit_code_reason"]) == (None, "still runs")
    shown = json.loads(deck("jobs", "local", "show", job.name, "--json")[1])
    assert shown["log"] == ["a line"]
    assert shown["job"]["argv"] == record(job)["argv"]
    assert "pid" in deck("jobs", "local", "stop", job.name, "--dry-run")[1]
    assert not (job / "exit.json").exists()
    code, _, said = deck("jobs", "local", "prune", "--all")
    assert (code, said) == (4, f"gpudeck: Nothing was removed: {job.name} runs.\n")
    assert deck("--read-only", "jobs", "local", "stop", job.name)[0] == 4
    code, out, _ = deck("jobs", "local", "stop", job.name, "--grace", "5")
    assert (code, out) == (0, f"{job.name}: stopped\n")
    assert drained(job)
    assert deck("jobs", "local", "prune", "--all")[:2] == (0, f"Removed {job.name}\n")
    assert not job.exists()


def test_mistakes_are_one_sentence(box: JobBox, deck: Deck) -> None:
    job = box.run("true", id="test-cli-1")
    drained(job)
    assert deck("jobs", "local", "show")[0] == 2
    code, _, said = deck("jobs", "local", "stop", "test-cli-2")
    assert (code, said) == (2, "gpudeck: local has no job test-cli-2; did you mean test-cli-1?\n")
    assert deck("jobs", "local", "dance")[0] == 2
    code, out, _ = deck("jobs", "local", "stop", "test-cli-9", "--json")
    assert json.loads(out)["schema"] == "gpudeck.error/1"
    assert code == 2


def test_wait_ends_with_the_job(box: JobBox, deck: Deck) -> None:
    good, bad = box.run("sh", "-c", "sleep 0.2"), box.run("sh", "-c", "sleep 0.2; exit 3")
    assert deck("wait", "local", "job", good.name)[0] == 0
    code, _, said = deck("wait", "local", "job", bad.name)
    assert (code, said) == (1, f"gpudeck: {bad.name}: exit 3.\n")
    assert deck("wait", "local", "job")[0] == 1, "without an id: the youngest"
    slow = box.run("sleep", "600")
    assert deck("wait", "local", "job", slow.name, "--timeout", "1")[0] == 124
    assert deck("wait", "local", "download")[0] == 1
