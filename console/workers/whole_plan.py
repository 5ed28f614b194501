"""A recipe's whole plan: what the Hub and the disks say, then every other gate; and whether it can be started now."""

from __future__ import annotations

from collections.abc import Collection

import msgspec

from console.config.records import Recipe
from console.gates.gate import Gate
from console.state.model import HostState
from console.values import Unknown, clean, known
from console.workers import hub
from console.workers.box import Box
from console.workers.directory_gates import directory_gates
from console.workers.hub_gates import listing_of
from console.workers.hub_plan import hub_plan, remember_accepted
from console.workers.plan import Options, Plan, check
from console.workers.repository import Listing

_PROVED = ("sha256", "names_sizes")
_HUB_DOWN = ("hub_error", "rate_limited", "offline_mode")


class WholePlan(msgspec.Struct, frozen=True, kw_only=True):
    """`looks`: target, then drafter if there is one; empty when the Hub could not be asked at all."""

    plan: Plan
    looks: tuple[hub.Looked, ...]

    @property
    def commit(self) -> str | None:
        """The target's commit; None for a directory, or when it is not known."""
        commit = self.looks[0].access.commit if self.looks else Unknown("not asked")
        return str(commit) if known(commit) else None

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


async def whole_plan(
    box: Box,
    host: HostState,
    recipe: Recipe,
    *,
    accept: Collection[str] = (),
    concurrency: int | None = None,
    own_pids: frozenset[int] = frozenset(),
    smoke: bool = False,
) -> WholePlan:
    """Ask everything. What is proved on the box needs no Hub: its access counts as answered. Lets LinkLost through."""
    asked, dummy = await hub_plan(box, host, recipe), is_dummy(recipe)
    looks = tuple(looked for looked in (asked.target, asked.draft) if looked is not None)
    proved = {looked.gate.subject for looked in looks if not _missing(looked, dummy)}
    invented = {one.gate.subject for one in looks if dummy and one.want.is_local and _readable(one)}
    answered = [_invented(_answered(gate, proved), invented) for gate in asked.gates]
    gates = (*answered, *await directory_gates(box, recipe, looks, frozenset(proved)))
    remember_accepted(gates, accept)
    options = Options(
        concurrency=concurrency,
        own_pids=own_pids,
        accept=tuple(accept),
        smoke=smoke,
        hub_gates=gates,
        target=_listing(asked.target),
        draft=_listing(asked.draft),
        revisions=(_revision(asked.target), _revision(asked.draft)),
    )
    return WholePlan(plan=await check(box, host.hardware, recipe, options), looks=looks)


def _listing(looked: hub.Looked | None) -> Listing | None:
    """What the Hub lists; a directory of the box is read there."""
    return None if looked is None or looked.want.is_local else listing_of(looked)


def _revision(looked: hub.Looked | None) -> str:
    """The commit that the Hub named, else the one that the files on the box came from; empty when neither is known."""
    named = [looked.access.commit, *([looked.stored.commit] if looked.stored else [])] if looked else []
    return next((str(commit) for commit in named if known(commit)), "")


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


def _has_all(looked: hub.Looked) -> bool:
    """Every file that was asked for is there: of dummy weights config and tokenizer."""
    return looked.manifest is not None and looked.missing_files == 0


def _missing(looked: hub.Looked, dummy: bool) -> str:
    stored, repo = looked.stored, looked.want.repo
    where = f" in {looked.want.path}" if looked.want.path else ""
    if stored is None or not stored.exists:
        return clean(f"{repo} is not on the box{where}")
    if stored.proof in _PROVED or (dummy and (stored.proof == "dummy" or _has_all(looked))):
        return ""
    return clean(f"{repo}{where} is not proved: {stored.proof.replace('_', ' ')}")
