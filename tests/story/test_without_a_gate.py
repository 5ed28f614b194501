"""Each gate, and each worker that states what prevented a mistake, is taken away: its scenario is no longer ok."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import msgspec
import pytest

from console.bench import acceptance, comparable, flags
from console.demo.story import scenes, stage
from console.events import Event
from console.events.hub import DownloadProgressed, RepoVerified
from console.events.plan import Gate
from console.gates import assess, rules
from console.workers import hub, hub_gates, hub_jobs, jobs
from console.workers.link import LinkWorker
from tests.support.told import Told

GateName = Literal["access", "disk", "memory", "arguments", "gpus"]
Patch = Callable[[pytest.MonkeyPatch], None]


def gate(module: object, function: str, name: GateName) -> Patch:
    """The gate lets everything through."""
    passes = Gate(name=name, verdict="pass", state="removed", subject="", sentence="")
    return lambda patch: patch.setattr(module, function, lambda *_, **__: passes)


def fact(module: object, function: str, gone: Callable[[Any], bool]) -> Patch:
    """The worker turns what the box tells into no fact."""
    made = getattr(module, function)

    def turned(*arguments: Any) -> Event | None:
        told: Event | None = made(*arguments)
        return None if told is not None and gone(told) else told

    return lambda patch: patch.setattr(module, function, turned)


def _through_a_shell(patch: pytest.MonkeyPatch) -> None:
    """Arguments joined to one text, which a shell takes apart again."""
    asked = jobs._ask

    async def ask(*told: Any, **request: Any) -> Any:
        if request.get("op") == "start":
            request["job"]["argv"] = ("sh", "-c", " ".join(f'"{word}"' for word in request["job"]["argv"]))
        return await asked(*told, **request)

    patch.setattr(jobs, "_ask", ask)


def _token_only_there(patch: pytest.MonkeyPatch) -> None:
    """A token file counts by being there."""
    read = hub.token_fact
    patch.setattr(hub, "token_fact", lambda *told: msgspec.structs.replace(read(*told), state="unproved"))


def _no_accept_length(patch: pytest.MonkeyPatch) -> None:
    """The counters of speculation are left unread."""
    pool = acceptance.pool
    patch.setattr(acceptance, "pool", lambda _: pool([]))


def _no_loss(patch: pytest.MonkeyPatch) -> None:
    changed = LinkWorker._changed
    patch.setattr(
        LinkWorker, "_changed", lambda self, state, **told: None if state == "lost" else changed(self, state, **told)
    )


# What is taken away: its scenario, what the story then says, and how.
REMOVED: dict[str, tuple[str, str, Patch]] = {
    "arguments as data": ("quoting", "the words did not arrive", _through_a_shell),
    "disk gate, sizes": ("unknown-size", "was not refused: download", gate(hub_gates, "disk_gate", "disk")),
    "access gate": ("gated", "the gate access let it through", gate(hub, "access_gate", "access")),
    "access gate, no token": ("empty-token", "the gate access let it through", gate(hub, "access_gate", "access")),
    "proof of the token": ("empty-token", "no TokenChecked", _token_only_there),
    "disk gate, space": ("disk-full", "was not refused: download", gate(hub_gates, "disk_gate", "disk")),
    "count of the download": (
        "silent-download",
        "no DownloadProgressed",
        fact(hub_jobs, "progress_fact", lambda told: isinstance(told, DownloadProgressed) and told.state != ""),
    ),
    "memory gate, configuration": (
        "nested-config",
        "the gate memory did not answer",
        gate(assess, "memory_gate", "memory"),
    ),
    "comparability": (
        "incomparable",
        "no RunsListed",
        lambda patch: patch.setattr(comparable, "refusals", lambda *_: []),
    ),
    "rule of the cap": (
        "capped-concurrency",
        "the gate arguments did not answer server_cap",
        lambda patch: patch.setattr(rules, "_cap", lambda _: iter(())),
    ),
    "flag of the cap": (
        "capped-concurrency",
        "carries no flag for the cap",
        lambda patch: patch.setattr(flags, "_of_server", lambda _: {}),
    ),
    "accept length": ("accept-length", "the point has no accept length", _no_accept_length),
    "gpus gate, state": ("lost-gpu", "the gate gpus let it through", gate(assess, "gpus_gate", "gpus")),
    "memory gate, size": ("oom", "was not refused: download", gate(assess, "memory_gate", "memory")),
    "proof of the bytes": (
        "truncated-shard",
        "no RepoVerified",
        fact(hub_jobs, "progress_fact", lambda told: isinstance(told, RepoVerified) and told.result != "ok"),
    ),
    "gpus gate, users": ("foreign-process", "was not refused: download", gate(assess, "gpus_gate", "gpus")),
    "state of the link": ("link-cut", "no LinkChanged", _no_loss),
}


def test_something_is_removed_of_every_scenario() -> None:
    assert {name for name, _, _ in REMOVED.values()} == set(scenes.SCENES)


@pytest.mark.slow
@pytest.mark.parametrize("what", REMOVED)
def test_without_it_the_scenario_is_not_ok(
    what: str, story: Callable[[str], Told], monkeypatch: pytest.MonkeyPatch
) -> None:
    name, why, remove = REMOVED[what]
    remove(monkeypatch)
    monkeypatch.setattr(stage, "LIMIT_S", 4.0)
    told = story(name)
    assert (told.code, told.last["ok"]) == (1, False), told.captions
    assert why in told.captions.splitlines()[-1].partition("  NOT prevented: ")[2]
