"""The Hub's side of a box as rows, sentences and data."""

from __future__ import annotations

from typing import Any, NamedTuple

from console.events import hub as facts
from console.gates.access import page_of
from console.state import HostState
from console.state.hub import Repo
from console.values import Unknown, format_bytes, format_gb, known
from console.views.hub_transfers import fell_short_sentence

_NOT_ASKED = Unknown("not asked yet")

TOKEN_KINDS: dict[facts.TokenState, str] = {
    "absent": "off",
    "empty": "warn",
    "malformed": "fail",
    "unproved": "warn",
    "rejected": "fail",
    "valid": "ok",
    "unreachable": "warn",
}
_SHAPES = {
    "line_break": "it holds a line break",
    "space": "it holds a space",
    "quotes": "it has quotes around it",
    "not_ascii": "it holds signs that no token has",
    "empty": "it is empty",
}
_GATED = ("login_required", "request_needed", "request_pending", "request_rejected", "gated_other", "token_scope")


def token_value(host: HostState) -> Any:
    """`token` of the status object: an object, or the reason why it is not known."""
    token = host.hub.token
    if token is None:
        return _NOT_ASKED
    state = host.hub.token_state or token.state
    return {"state": state, "source": token.source, "who": token.who, "role": token.role}


def token_sentence(token: facts.TokenChecked, state: facts.TokenState | None = None) -> str:
    """Who the box is for the Hub, or what is wrong with its token."""
    source = {"file": f"the file {token.path}", "none": ""}.get(token.source, token.source.removeprefix("env:"))
    shape = shape_sentence(token.shape)
    beats = "; it beats the token file" if token.source.startswith("env:") else ""
    said: dict[facts.TokenState, str] = {
        "absent": "The box has no Hugging Face token: public repositories only.",
        "empty": f"The token of the box is empty ({token.path}): that is no token.",
        "malformed": f"The token of {source} cannot be one: {shape}.",
        "unproved": f"The token of {source} could not be proved: {token.text or 'the Hub gave no answer'}.",
        "rejected": f"The Hub rejects the token of {source}{f': {shape}' if shape else ''}{beats}.",
        "valid": f"The box is {token.who} for the Hub (role {token.role}), by {source}{beats}.",
        "unreachable": f"The token of {source} is not proved: {token.endpoint} cannot be reached from the box.",
    }
    return said[state or token.state]


def shape_sentence(shape: str) -> str:
    """What is wrong with a token's form; empty when nothing is."""
    return _SHAPES.get(shape, "")


def repos_value(host: HostState) -> Any:
    """`repos` of the status object: what is stored or was asked for, or the reason why it is not known."""
    hub = host.hub
    if not known(hub.inventory) and not hub.repos:
        return hub.inventory
    rows = [_repo_object(repo, _stored(host, repo)) for repo in hub.repos.values()]
    named = {(row["id"], row["path"]) for row in rows}
    for model in hub.inventory if known(hub.inventory) else ():
        row = _repo_object(None, model)
        if (row["id"], row["path"]) not in named and not any(row["path"] == known_path for _, known_path in named):
            rows.append(row)
    return rows


def _stored(host: HostState, repo: Repo) -> facts.StoredModel | None:
    if repo.stored is not None:
        return repo.stored
    models = host.hub.inventory if known(host.hub.inventory) else ()
    return next((model for model in models if model.repo == repo.id), None)


def _repo_object(repo: Repo | None, stored: facts.StoredModel | None) -> dict[str, Any]:
    missing = Unknown("nothing of it is on the box")
    return {
        "id": repo.id if repo else stored.repo if stored else missing,
        "commit": repo_commit(repo, stored),
        "path": stored.path if stored and stored.exists else missing,
        "access": repo.access.access if repo and repo.access else _NOT_ASKED,
        "proof": stored.proof if stored and stored.exists else "none",
        "files": stored.files if stored else missing,
        "files_ok": stored.files_ok if stored else missing,
        "total_bytes": _total(repo, stored),
        "present_bytes": stored.present_bytes if stored else missing,
    }


def _total(repo: Repo | None, stored: facts.StoredModel | None) -> int | Unknown:
    if repo and repo.manifest:
        return total_bytes(repo.manifest)
    return stored.total_bytes if stored else Unknown("not listed")


def repo_commit(repo: Repo | None, stored: facts.StoredModel | None) -> Any:
    """The commit on the box, else the one that the Hub resolved."""
    if stored and known(stored.commit):
        return stored.commit
    return repo.access.commit if repo and repo.access else Unknown("not resolved")


def total_bytes(manifest: facts.ManifestRead) -> int | Unknown:
    """The sum of the files, or how many have no size: those are never summed."""
    unknown = [file.path for file in manifest.files if not known(file.size_bytes)]
    if unknown:
        return Unknown(f"{len(unknown)} files without a size, first {unknown[0]}")
    return sum(file.size_bytes for file in manifest.files if known(file.size_bytes))


def index_sentence(manifest: facts.ManifestRead) -> str:
    """Where the index and the files disagree; empty when they do not. Tensor bytes are the files' without headers."""
    if manifest.index_absent:
        return (
            f"The index names {len(manifest.index_absent)} shards that are not there, first {manifest.index_absent[0]}."
        )
    shards = [file.size_bytes for file in manifest.files if file.path.endswith(".safetensors")]
    if not known(manifest.index_total_bytes) or not shards or not all(known(size) for size in shards):
        return ""
    files = sum(size for size in shards if known(size))
    if 0 <= files - manifest.index_total_bytes <= max(files // 100, len(shards) << 20):
        return ""
    return f"The index says {format_bytes(manifest.index_total_bytes)}, the files are {format_bytes(files)}."


def hub_lines(host: HostState) -> list[str]:
    """Token and repositories as plain lines."""
    rows = (f"  {row.id}  {row.word}  {row.size}  proof {row.proof}" for row in repo_rows(host))
    return [f"Hub   {token_line(host)[1]}", *rows]


def token_line(host: HostState) -> tuple[str, str]:
    """How the box stands with the Hub: a kind of state and a sentence."""
    hub = host.hub
    if hub.library_missing:
        return "warn", f"{hub.library_missing} has no huggingface_hub: access and sizes are this laptop's answers."
    if hub.token is None:
        return "off", "The token was not asked for yet."
    state = hub.token_state or hub.token.state
    return TOKEN_KINDS[state], token_sentence(hub.token, state)


class RepoRow(NamedTuple):
    """One repository for a table; `kind` is how it stands."""

    id: str
    kind: str
    word: str
    size: str
    proof: str
    proof_kind: str
    detail: str


def repo_rows(host: HostState) -> list[RepoRow]:
    """Repositories that were asked for, then what else is stored."""
    rows = [_repo_row(repo, _stored(host, repo)) for repo in host.hub.repos.values()]
    shown = {row.id for row in rows}
    for model in host.hub.inventory if known(host.hub.inventory) else ():
        name = str(model.repo) if known(model.repo) else model.path.rsplit("/", 1)[-1]
        if name not in shown:
            kind = proof_kind(model.proof)
            rows.append(RepoRow(name, "off", "stored", format_gb(model.size_bytes), model.proof, kind, model.path))
    return rows


def _repo_row(repo: Repo, stored: facts.StoredModel | None) -> RepoRow:
    kind, word = access_word(repo.access)
    size = total_bytes(repo.manifest) if repo.manifest else Unknown("not listed")
    proof = stored.proof if stored and stored.exists else "none"
    if repo.fell_short is not None:
        detail = fell_short_sentence(repo.fell_short)
    elif stored and stored.orphans:
        detail = f"{format_gb(stored.orphan_bytes)} of leftovers"
    else:
        detail = stored.path if stored else ""
    return RepoRow(repo.id, kind, word, format_gb(size), proof, proof_kind(proof), detail)


def access_word(access: facts.AccessChecked | None) -> tuple[str, str]:
    """How access stands, as a kind of state and a word."""
    if access is None:
        return "off", "not asked"
    if access.access in ("ready", "local"):
        return "ok", access.access
    if access.access in _GATED:
        return "fail", "GATED" if access.access != "request_pending" else "GATED, pending"
    temporary = access.access.startswith("unreachable_") or access.access in ("rate_limited", "hub_error")
    return ("warn" if temporary else "fail"), access.access.replace("_", " ")


def closed_page(host: HostState) -> str:
    """The page of the first repository whose access must be accepted there; empty when there is none."""
    closed = (repo.access for repo in host.hub.repos.values() if repo.access and repo.access.access in _GATED)
    access = next(closed, None)
    return page_of(access) if access else ""


def proof_kind(proof: str) -> str:
    """How a proof stands, as a kind of state."""
    return {"sha256": "ok", "names_sizes": "ok", "mismatch": "fail", "stale": "warn", "partial": "warn"}.get(
        proof, "off"
    )
