"""The slice of the Hub: the token, repositories by id, what is stored, downloads that run."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from console.events import hub as facts
from console.state.reducer import HostReducers
from console.values import CleanText, Unknown

if TYPE_CHECKING:
    from console.state.model import HostState

_NOT_YET = Unknown("not checked yet")
# Answers that the Hub gives only to a token that it knows.
_PROVE_TOKEN: frozenset[facts.Access] = frozenset(
    {
        "ready", "request_needed", "request_pending", "request_rejected", "gated_other", "token_scope",
        "forbidden_other", "not_visible_to_user", "revision_missing", "file_missing",
    }
)  # fmt: skip


@dataclass
class Repo:
    """One repository: may it be read, what is it at its commit, what of it is on the box.

    `opened_t`: when access was granted while the console watched; `moved_t`: when the download last grew, or did
    something else than fetching.
    """

    id: CleanText
    access: facts.AccessChecked | None = None
    opened_t: float | None = None
    manifest: facts.ManifestRead | None = None
    stored: facts.StoredModel | None = None
    verified: facts.RepoVerified | None = None
    download: facts.DownloadProgressed | None = None
    download_t: float | Unknown = _NOT_YET
    moved_t: float = 0.0
    fell_short: facts.DownloadFellShort | None = None


@dataclass
class Hub:
    """What the box and the Hub said of each other."""

    token: facts.TokenChecked | None = None
    token_state: facts.TokenState | None = None
    library_missing: CleanText | None = None
    repos: dict[CleanText, Repo] = field(default_factory=dict)
    inventory: tuple[facts.StoredModel, ...] | Unknown = _NOT_YET
    disks: dict[CleanText, facts.TargetDiskRead] = field(default_factory=dict)

    def repo(self, repo_id: CleanText) -> Repo:
        """The repository's entry, made when it is new."""
        if repo_id not in self.repos:
            self.repos[repo_id] = Repo(repo_id)
        return self.repos[repo_id]


def token_state_after(access: facts.Access, before: facts.TokenState) -> facts.TokenState:
    """What an answer about a repository says of the token that went along."""
    if access == "token_invalid":
        return "rejected"
    if access == "token_malformed":
        return "malformed"
    return "valid" if before == "unproved" and access in _PROVE_TOKEN else before


def _token(host: HostState, event: facts.TokenChecked, _t: float) -> None:
    host.hub.token, host.hub.token_state = event, event.state


def _library(host: HostState, event: facts.LibraryMissing, _t: float) -> None:
    host.hub.library_missing = event.python


def _access(host: HostState, event: facts.AccessChecked, t: float) -> None:
    repo = host.hub.repo(event.repo)
    was = repo.access.access if repo.access else None
    if event.access == "ready" and was in ("request_needed", "request_pending", "login_required", "token_scope"):
        repo.opened_t = t
    repo.access = event
    if event.origin == "box":
        host.hub.library_missing = None
    if host.hub.token_state is not None:
        host.hub.token_state = token_state_after(event.access, host.hub.token_state)


def _manifest(host: HostState, event: facts.ManifestRead, _t: float) -> None:
    host.hub.repo(event.repo).manifest = event


def _inventory(host: HostState, event: facts.InventoryRead, _t: float) -> None:
    host.hub.inventory = event.models


def _stored(host: HostState, event: facts.StoredRead, _t: float) -> None:
    repo = host.hub.repo(event.repo)
    repo.stored = event.model


def _disk(host: HostState, event: facts.TargetDiskRead, _t: float) -> None:
    host.hub.disks[event.path] = event


def _progress(host: HostState, event: facts.DownloadProgressed, t: float) -> None:
    repo = host.hub.repo(event.repo)
    before = repo.download
    if before is None or event.phase != "downloading" or event.present_bytes != before.present_bytes:
        repo.moved_t = t
    repo.download, repo.download_t, repo.fell_short = event, t, None


def _finished(host: HostState, event: facts.DownloadFinished, t: float) -> None:
    repo = host.hub.repo(event.repo)
    repo.download, repo.download_t, repo.fell_short = None, t, None


def _fell_short(host: HostState, event: facts.DownloadFellShort, t: float) -> None:
    repo = host.hub.repo(event.repo)
    repo.download, repo.download_t, repo.fell_short = None, t, event


def _verified(host: HostState, event: facts.RepoVerified, t: float) -> None:
    repo = host.hub.repo(event.repo)
    repo.verified, repo.download, repo.download_t = event, None, t


def _removed(host: HostState, event: facts.ModelRemoved, _t: float) -> None:
    hub = host.hub
    if not isinstance(hub.inventory, Unknown):
        hub.inventory = tuple(model for model in hub.inventory if model.path != event.path)
    for repo in hub.repos.values():
        if repo.stored and repo.stored.path == event.path:
            repo.stored = repo.verified = None


REDUCERS: HostReducers = {
    facts.TokenChecked: _token,
    facts.LibraryMissing: _library,
    facts.AccessChecked: _access,
    facts.ManifestRead: _manifest,
    facts.InventoryRead: _inventory,
    facts.StoredRead: _stored,
    facts.TargetDiskRead: _disk,
    facts.DownloadProgressed: _progress,
    facts.DownloadFinished: _finished,
    facts.DownloadFellShort: _fell_short,
    facts.RepoVerified: _verified,
    facts.ModelRemoved: _removed,
}
