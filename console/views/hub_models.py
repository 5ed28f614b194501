"""Stored models as lines and data, and everything that there is to say about each repository."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from console.events import hub as facts
from console.gates.access import access_gate
from console.state import HostState
from console.state.hub import Repo
from console.values import format_bytes, format_gb, known
from console.views.hub import index_sentence
from console.views.hub_transfers import drain_sentence, verify_lines


def model_value(model: facts.StoredModel) -> dict[str, Any]:
    """A stored model as data."""
    return {name: getattr(model, name) for name in model.__struct_fields__ if name != "bad"}


def model_lines(models: tuple[facts.StoredModel, ...]) -> list[str]:
    """Stored models by device, the largest first."""
    if not models:
        return ["No model is stored in the directories that the console knows."]
    lines = []
    for device in sorted({model.device for model in models}):
        mine = sorted((model for model in models if model.device == device), key=lambda model: -model.size_bytes)
        lines.append(f"device {device}  {format_bytes(sum(model.size_bytes for model in mine))}")
        for model in mine:
            lines += [_model_line(model), *(f"{'':>13}{offer}" for offer in _leftovers(model))]
    return lines


def _leftovers(model: facts.StoredModel) -> Iterator[str]:
    """What killed downloads left, and what deletes it."""
    if model.orphans:
        what = f"{model.orphans} leftovers of killed downloads: {format_gb(model.orphan_bytes)}"
        yield f"{what} → models HOST rm PATH --leftovers"


def _model_line(model: facts.StoredModel) -> str:
    open_by = users_of(model)
    name = f"  {model.repo}" if known(model.repo) else ""
    users = f"  open by {open_by}" if open_by else ""
    return f"  {format_gb(model.size_bytes):>9}  {model.proof:<11}  {model.path}{name}{users}"


def detail_lines(host: HostState) -> list[tuple[str, str]]:
    """Texts with their ink: what stands in the way of each repository, what a pause finishes, what is wrong."""
    return [line for repo in host.hub.repos.values() for line in _repo_lines(repo)]


def stored_models(host: HostState) -> list[facts.StoredModel]:
    """What is stored, by device, the largest first."""
    models = host.hub.inventory if known(host.hub.inventory) else ()
    return sorted(models, key=lambda model: (model.device, -model.size_bytes))


def users_of(model: facts.StoredModel) -> str:
    """Who has it open."""
    return ", ".join(f"{one.command} {one.pid}" for one in model.open_by)


def _repo_lines(repo: Repo) -> Iterator[tuple[str, str]]:
    if repo.access is not None:
        gate = access_gate(repo.access)
        yield gate.sentence, "strong"
        yield from ((f"  → {way}", "") for way in gate.way_out if gate.verdict != "pass")
    if repo.manifest is not None and (said := index_sentence(repo.manifest)):
        yield f"  {said}", "warn"
    if repo.download is not None and repo.download.in_flight:
        yield f"  {drain_sentence(repo.download)}", ""
    if repo.verified is not None:
        yield from ((f"  {line}", "") for line in verify_lines(repo.verified))
    if repo.stored is not None:
        yield from ((f"  {line}", "warn") for line in _leftovers(repo.stored))
