"""A recipe's whole plan: what the Hub and the disks say, then every other gate; and whether it can be started now."""

from __future__ import annotations

from collections.abc import Collection

import msgspec

from console.config.records import Recipe
from console.gates.gate import Gate
from console.models.places import draft_place, target_place
from console.state.model import HostState
from console.values import clean, known
from console.workers import hub
from console.workers.box import Box
from console.workers.hub_gates import hub_gates, listing_of
from console.workers.plan import Options, Plan, check

# What a server with invented weights reads of a repository.
DUMMY_FILES = ("*.json", "*.model", "*.txt", "*.jinja", "*.py")
_PROVED = ("sha256", "names_sizes", "dummy")
_HUB_DOWN = ("hub_error", "rate_limited", "offline_mode")


class WholePlan(msgspec.Struct, frozen=True, kw_only=True):
    """`looks`: target, then drafter if there is one; empty when the Hub could not be asked at all."""

    plan: Plan
    looks: tuple[hub.Looked, ...]

    @property
    def missing(self) -> tuple[str, ...]:
        """Why it cannot be started now though the gates may pass: one sentence a repository."""
        return tuple(said for looked in self.looks if (said := _missing(looked, is_dummy(self.plan.recipe))))


def missing_looks(whole: WholePlan) -> tuple[hub.Looked, ...]:
    """The repositories that have to be fetched before a start."""
    dummy = is_dummy(whole.plan.recipe)
    return tuple(looked for looked in whole.looks if _missing(looked, dummy) and not looked.want.is_local)


def is_dummy(recipe: Recipe) -> bool:
    return recipe.args.get("load-format") == "dummy"


def wants_of(recipe: Recipe) -> list[hub.Want]:
    """The repositories of a recipe with their places on the box."""
    include = DUMMY_FILES if is_dummy(recipe) else ()
    path, draft = target_place(recipe), draft_place(recipe)
    wants = [_want(recipe.model, recipe.revision, path if known(path) else None, include)]
    if recipe.draft is not None:
        wants.append(_want(recipe.draft, recipe.draft_revision, draft if draft and known(draft) else None, include))
    return wants


def _want(repo: str, revision: str, path: str | None, include: tuple[str, ...]) -> hub.Want:
    if repo.startswith("/"):
        return hub.Want(repo=repo, revision=revision)
    return hub.Want(repo=repo, revision=revision, path=path, include=include)


async def whole_plan(
    box: Box,
    host: HostState,
    recipe: Recipe,
    *,
    accept: Collection[str] = (),
    concurrency: int | None = None,
    own_pids: frozenset[int] = frozenset(),
) -> WholePlan:
    """Ask everything. What is proved on the box needs no Hub: its access counts as answered. Lets LinkLost through."""
    place = hub.place_of(box, recipe.python, recipe.env)
    options = Options(concurrency=concurrency, own_pids=own_pids, accept=tuple(accept))
    looks: tuple[hub.Looked, ...] = ()
    try:
        looks = tuple(await hub.look(box, place, wants_of(recipe)))
    except hub.HubError as error:
        options = msgspec.structs.replace(options, hub_gates=(_unasked(recipe, str(error)),))
    if looks:
        trusted = recipe.args.get("trust-remote-code") is True
        gates = hub_gates(looks, host, trusted=trusted, accepted=accept)
        proved = {looked.gate.subject for looked in looks if not _missing(looked, is_dummy(recipe))}
        invented = {one.gate.subject for one in looks if is_dummy(recipe) and one.want.is_local and _readable(one)}
        listings = [None if looked.want.is_local else listing_of(looked) for looked in looks]
        options = msgspec.structs.replace(
            options,
            hub_gates=tuple(_invented(_answered(gate, proved), invented) for gate in gates),
            target=listings[0],
            draft=listings[1] if len(listings) > 1 else None,
        )
    return WholePlan(plan=await check(box, host.hardware, recipe, options), looks=looks)


def _unasked(recipe: Recipe, sentence: str) -> Gate:
    return Gate(name="access", verdict="unknown", state="unknown", subject=recipe.model, sentence=sentence)


def _answered(gate: Gate, proved: set[str]) -> Gate:
    """The Hub is away, but every byte is here and proved."""
    away = gate.state.startswith("unreachable_") or gate.state in _HUB_DOWN
    if gate.name != "access" or not away or gate.subject not in proved:
        return gate
    sentence = f"{gate.subject} is on the box, proved; the Hub is not asked ({gate.state})."
    return msgspec.structs.replace(gate, verdict="pass", sentence=sentence, way_out=())


def _readable(looked: hub.Looked) -> bool:
    """Config and tokenizer are looked for first: only a weight file is missing."""
    return looked.access.access == "file_missing" and ".safetensors" in looked.access.probe


def _invented(gate: Gate, readable: set[str]) -> Gate:
    """Invented weights need no weight files: a directory with a configuration is enough."""
    if gate.name != "access" or gate.state != "file_missing" or gate.subject not in readable:
        return gate
    sentence = f"{gate.subject}: config and tokenizer are here, the weights are invented (dummy)."
    return msgspec.structs.replace(gate, verdict="pass", state="local", sentence=sentence, way_out=())


def _missing(looked: hub.Looked, dummy: bool) -> str:
    stored, repo = looked.stored, looked.want.repo
    where = looked.want.path or repo
    if stored is None or not stored.exists:
        return clean(f"{repo} is not on the box ({where})")
    if dummy or stored.proof in _PROVED:
        return ""
    return clean(f"{repo} in {where} is not proved: {stored.proof.replace('_', ' ')}")
