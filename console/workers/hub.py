"""Asks the Hub through the box: tokens, access, manifests, disks, what is stored. Each answer becomes a fact.

The box's own `huggingface_hub` is asked, in a short-lived process; a box without it gets this laptop's answers about
access and sizes, marked so.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec

from console.events import hub as facts
from console.gates.access import access_gate
from console.gates.disk import Claims
from console.gates.gate import Gate
from console.remote.errors import AgentError
from console.remote.local import open_local_agent
from console.values import CleanText, Unknown, clean
from console.workers.box import Box
from console.workers.hub_facts import access_fact, bad_files, disk_fact, manifest_fact, stored_model, token_fact

PACKAGE = "console.payloads.hub"
LIMIT_S = 180.0
INSTALL = "-m pip install 'huggingface_hub>=0.36,<3'"


class HubError(Exception):
    """The helper could not do it; one sentence says why."""


class Want(msgspec.Struct, frozen=True, kw_only=True):
    """A repository to look at: an id, or an absolute path of the box. `path`: where it lies, or shall lie."""

    repo: str
    revision: str = "main"
    path: str | None = None
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()

    @property
    def is_local(self) -> bool:
        return self.repo.startswith("/")


class Looked(msgspec.Struct, frozen=True, kw_only=True):
    """What was found about one Want. `texts`: small files of the commit by name, for the readers of configurations;
    `files`: the manifest for a job. Both are as the Hub sent them, and no facts."""

    want: Want
    access: facts.AccessChecked
    manifest: facts.ManifestRead | None = None
    stored: facts.StoredModel | None = None
    disk: facts.TargetDiskRead | None = None
    have_bytes: int = 0
    missing_files: int = 0
    claims: Claims = Claims()
    texts: dict[str, str] = {}
    files: tuple[dict[str, Any], ...] = ()

    @property
    def gate(self) -> Gate:
        return access_gate(self.access)


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """Under which interpreter and environment the box is asked: the recipe's, else the host's."""

    python: str
    env: dict[str, str]


def place_of(box: Box, python: str | None = None, env: Mapping[str, str] | None = None) -> Place:
    """The interpreter and environment of a recipe on this box, or of the box itself."""
    own = python or box.config.python or str(box.agent.hello.get("python") or "python3")
    return Place(python=own, env={**box.config.env, **(env or {})})


def install_sentence(place: Place) -> str:
    """What a box without the library needs."""
    return f"{place.python} has no huggingface_hub; install it: {place.python} {INSTALL}"


async def ask(box: Box, place: Place, ops: Sequence[dict[str, Any]], limit_s: float = LIMIT_S) -> list[dict[str, Any]]:
    """The helper's raw answers. Raises HubError when it cannot run; lets LinkLost through."""
    try:
        answer = await box.agent.run_program(place.python, PACKAGE, {"env": place.env, "ops": list(ops)}, limit_s)
    except AgentError as error:
        raise HubError(f"The Hub could not be asked with {place.python}: {error}") from None
    return list(answer["answers"])


async def ask_one(box: Box, place: Place, op: dict[str, Any], limit_s: float = LIMIT_S) -> Any:
    """The one answer; HubError also when it is an error."""
    (answer,) = await ask(box, place, [op], limit_s)
    return _ok(box, place, answer)


def _ok(box: Box, place: Place, answer: dict[str, Any]) -> Any:
    if "ok" in answer:
        return answer["ok"]
    if answer["error"] == "no_library":
        box.publish(facts.LibraryMissing(host=box.name, python=clean(place.python)))
        raise HubError(install_sentence(place))
    raise HubError(clean(answer["text"]))


async def check_token(box: Box, place: Place) -> facts.TokenChecked:
    """State, source and owner of the box's token, proved by one call."""
    fact = token_fact(box.name, await ask_one(box, place, {"op": "token_status"}))
    box.publish(fact)
    return fact


class TokenSet(msgspec.Struct, frozen=True, kw_only=True):
    """How setting a token went: `shape` says what is wrong with it, `given` whose it is, `used` what counts now."""

    written: bool
    shape: CleanText
    given: facts.TokenChecked | None
    used: facts.TokenChecked | None


async def set_token(box: Box, place: Place, token: str) -> TokenSet:
    """Puts a token into the library's place on the box, unless the Hub rejects it. It travels as data only."""
    told = await ask_one(box, place, {"op": "token_set", "token": token})
    given, used = (told[key] and token_fact(box.name, told[key]) for key in ("given", "used"))
    if used:
        box.publish(used)
    return TokenSet(written=told["written"], shape=clean(told["shape"]), given=given, used=used)


async def clear_token(box: Box, place: Place) -> tuple[bool, facts.TokenChecked]:
    """Removes the token file: whether there was one, and what counts now."""
    told = await ask_one(box, place, {"op": "token_clear"})
    used = token_fact(box.name, told["used"])
    box.publish(used)
    return told["removed"], used


def placed(box: Box, want: Want) -> Want:
    """The same repository at a path without `~`."""
    return msgspec.structs.replace(want, path=box.config.at_home(want.path)) if want.path else want


async def look(box: Box, place: Place, wants: Sequence[Want]) -> list[Looked]:
    """Token, access, manifest, target and disk of every repository, in one process on the box."""
    paths = [want.path or want.repo for want in wants if want.path or want.is_local]
    asked = [_op(want) for want in wants]
    ops: list[dict[str, Any]]
    ops = [{"op": "token_status"}, {"op": "claims"}, {"op": "stored", "paths": paths}, {"op": "disk", "paths": paths}]
    answers = await ask(box, place, [*ops, *asked])
    origin: facts.Origin = "box"
    repos = answers[len(ops) :]
    if any(answer.get("error") == "no_library" for answer in repos):
        box.publish(facts.LibraryMissing(host=box.name, python=clean(place.python)))
        repos, origin = await _from_laptop(place, asked, repos), "laptop"
    told, claims, stored, disks = (_ok(box, place, answer) for answer in answers[: len(ops)])
    token = token_fact(box.name, told)
    box.publish(token)
    by_path = {
        path: (stored_model(one), disk_fact(box.name, two)) for path, one, two in zip(paths, stored, disks, strict=True)
    }
    found = []
    for want, answer in zip(wants, repos, strict=True):
        model, disk = by_path.get(want.path or want.repo, (None, None))
        looked = _looked(box, want, _ok(box, place, answer), token, "box" if want.is_local else origin)
        looked = msgspec.structs.replace(looked, stored=model, disk=disk, claims=_claims(model, claims, want, place))
        found.append(looked)
        _publish(box, looked)
    return found


def _op(want: Want) -> dict[str, Any]:
    if want.is_local:
        return {"op": "local", "path": want.repo}
    return {"op": "repo", **msgspec.to_builtins(want)}


async def _from_laptop(
    place: Place, asked: Sequence[dict[str, Any]], answers: Sequence[dict[str, Any]]
) -> list[dict[str, Any]]:
    """The laptop's own library answers what the box cannot: with the laptop's token and network."""
    agent = await open_local_agent(sys.executable)
    try:
        endpoint = {key: value for key, value in place.env.items() if key == "HF_ENDPOINT"}
        missing = [{**op, "path": None} for op, answer in zip(asked, answers, strict=True) if "error" in answer]
        request = {"env": endpoint, "ops": missing}
        told = iter((await agent.run_program(sys.executable, PACKAGE, request, LIMIT_S))["answers"])
        return [next(told) if "error" in answer else answer for answer in answers]
    finally:
        await agent.close()


def _looked(box: Box, want: Want, told: dict[str, Any], token: facts.TokenChecked, origin: facts.Origin) -> Looked:
    if want.is_local:
        commit = Unknown("a directory has no commit")
        bad = [clean(item["path"]) for item in told["bad"]]  # a directory that is no whole model is none
        access = facts.AccessChecked(
            host=box.name,
            repo=clean(want.repo),
            revision=CleanText(""),
            access="file_missing" if bad else "local",
            commit=commit,
            probe=bad[0] if bad else CleanText(""),
        )
        return Looked(want=want, access=access)
    present = told["present"] or {"present_bytes": 0, "missing_files": len(told["files"] or ())}
    return Looked(
        want=want,
        access=access_fact(box.name, told, token, origin),
        manifest=manifest_fact(box.name, told, origin),
        have_bytes=present["present_bytes"],
        missing_files=present["missing_files"],
        texts=told["texts"],
        files=tuple(told["files"] or ()),
    )


def _claims(model: facts.StoredModel | None, claims: Sequence[dict[str, Any]], want: Want, place: Place) -> Claims:
    """What other downloads want of the same device; one that has not told its size yet is counted, not summed."""
    if model is None:
        return Claims()
    others = [one for one in claims if one["device"] == model.device and clean(one["path"]) != model.path]
    return Claims(
        other_bytes=sum(one["remaining_bytes"] for one in others if one["remaining_bytes"] is not None),
        untold=sum(one["remaining_bytes"] is None for one in others),
        xet_bytes=int(place.env.get("HF_XET_CHUNK_CACHE_SIZE_BYTES") or 0),
        orphan_bytes=model.orphan_bytes,
    )


def _publish(box: Box, looked: Looked) -> None:
    box.publish(looked.access)
    if looked.manifest:
        box.publish(looked.manifest)
    if looked.stored:
        box.publish(facts.StoredRead(host=box.name, repo=looked.access.repo, model=looked.stored))
    if looked.disk:
        box.publish(looked.disk)


async def read_inventory(box: Box, place: Place, roots: Sequence[str]) -> tuple[facts.StoredModel, ...]:
    """The models under the directories, with proof and who has them open."""
    told = await ask_one(box, place, {"op": "inventory", "roots": list(roots)})
    models = tuple(stored_model(one) for one in told)
    box.publish(facts.InventoryRead(host=box.name, models=models))
    return models


async def read_stored(box: Box, place: Place, paths: Sequence[str]) -> tuple[facts.StoredModel, ...]:
    """What is at these directories, by the proof files and by stat."""
    return tuple(stored_model(one) for one in await ask_one(box, place, {"op": "stored", "paths": list(paths)}))


async def verify_local(box: Box, place: Place, path: str) -> facts.RepoVerified:
    """A directory without a manifest, by what its own files announce."""
    told = await ask_one(box, place, {"op": "local", "path": path})
    bad = bad_files(told["bad"])
    fact = facts.RepoVerified(
        host=box.name,
        repo=clean(path),
        commit=CleanText(""),
        path=clean(path),
        result="ok" if not bad else "incomplete" if {item.kind for item in bad} <= {"missing"} else "mismatch",
        files=told["files"],
        ok=told["ok"],
        bad=bad,
        total_bytes=told["total_bytes"],
        present_bytes=told["total_bytes"],
    )
    box.publish(fact)
    return fact


class Removal(msgspec.Struct, frozen=True, kw_only=True):
    """A model that was deleted, that would be, or that must not be: `why`, and `refused`, the end of a sentence."""

    path: CleanText
    size_bytes: int
    removed: bool
    why: Literal["", "missing", "link", "no_model", "open", "download"]
    refused: str


async def remove_model(box: Box, place: Place, path: str, *, dry_run: bool = False) -> Removal:
    """Deletes a stored model unless it is in use; with `dry_run` only says what would be done."""
    told: dict[str, Any] = await ask_one(box, place, {"op": "remove", "path": path, "dry_run": dry_run})
    done = Removal(
        path=clean(told["path"]),
        size_bytes=told["size_bytes"],
        removed=told["removed"],
        why=told["refused"],
        refused=_refused(told),
    )
    if done.removed:
        box.publish(facts.ModelRemoved(host=box.name, path=done.path, size_bytes=done.size_bytes))
    return done


def _refused(told: dict[str, Any]) -> str:
    users = ", ".join(f"{clean(one['command'])} {one['pid']}" for one in told["open_by"])
    return {
        "": "",
        "missing": "there is no such directory",
        "link": "it is a link; delete what it points to",
        "no_model": "the directory is no model",
        "open": f"it is open by {users}",
        "download": f"the job {clean(told.get('job', ''))} downloads into it",
    }[told["refused"]]


async def remove_orphans(box: Box, place: Place, path: str) -> tuple[int, int]:
    """Deletes the leftovers of killed downloads that no process has open: their count and bytes."""
    told = await ask_one(box, place, {"op": "remove_orphans", "path": path})
    return told["count"], told["bytes"]
