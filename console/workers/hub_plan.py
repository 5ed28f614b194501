"""What a recipe's plan needs from the Hub: its repositories, looked at together, and the gates that rest on them."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Sequence

import msgspec

from console.config.accepted import accept as remember
from console.config.accepted import read_accepted
from console.config.records import Recipe
from console.gates.gate import Gate
from console.models.places import draft_place, target_place
from console.state import HostState
from console.values import Unknown, known
from console.workers.box import Box
from console.workers.hub import HubError, Looked, Place, Want, look, place_of, read_inventory
from console.workers.hub_gates import disk_gates, hub_gates

# With `load-format = "dummy"` no weight is read: config and tokenizer are all that must be there.
_WEIGHTS = ("*.safetensors", "*.bin", "*.pt", "*.pth", "*.gguf", "*.onnx", "*.h5", "*.msgpack")


class HubPlan(msgspec.Struct, frozen=True, kw_only=True):
    """Gates, and for target and drafter what was found (None: there is none, or the box could not ask)."""

    gates: tuple[Gate, ...]
    target: Looked | None = None
    draft: Looked | None = None


def wants_of(recipe: Recipe) -> tuple[Want, ...]:
    """The target, then the drafter; without a path where the recipe's directory is not known."""
    exclude = _WEIGHTS if recipe.args.get("load-format") == "dummy" else ()
    target = target_place(recipe)
    wants = [Want(repo=recipe.model, revision=recipe.revision, path=_or_none(target), exclude=exclude)]
    draft = draft_place(recipe)
    if recipe.draft is not None and draft is not None:
        wants.append(Want(repo=recipe.draft, revision=recipe.draft_revision, path=_or_none(draft), exclude=exclude))
    return tuple(wants)


def _or_none(place: str | Unknown) -> str | None:
    return place if known(place) else None


async def hub_plan(box: Box, host: HostState, recipe: Recipe) -> HubPlan:
    """One process on the box for both repositories. What cannot be asked is a gate that says so."""
    wants, place = wants_of(recipe), place_of(box, recipe.python, recipe.env)
    try:
        looks = await look(box, place, wants)
    except HubError as error:
        return HubPlan(gates=tuple(_unasked(want, str(error)) for want in wants))
    await see_what_could_go(box, place, looks, host)
    trusted = recipe.args.get("trust-remote-code") is True
    gates = hub_gates(looks, host, trusted=trusted, accepted=read_accepted())
    homeless = tuple(_homeless(want) for want in wants if want.path is None)
    return HubPlan(gates=gates + homeless, target=looks[0], draft=looks[1] if len(looks) > 1 else None)


async def see_what_could_go(box: Box, place: Place, looks: Sequence[Looked], host: HostState) -> None:
    """Where a disk is too small, stored models are its ways out: they are listed beside the targets."""
    parents = {looked.want.path.rpartition("/")[0] for looked in looks if looked.want.path}
    roots = sorted(parents.union([box.config.dir] if box.config.dir else []) - {""})
    if any(gate.state == "no" for gate in disk_gates(looks, host)):
        with contextlib.suppress(HubError):
            await read_inventory(box, place, roots)


def _unasked(want: Want, sentence: str) -> Gate:
    return Gate(
        name="access", verdict="unknown", state="unknown", subject=want.repo, sentence=sentence,
        way_out=("repair the interpreter, or name another one as `python` of the recipe or host",),
    )  # fmt: skip


def _homeless(want: Want) -> Gate:
    return Gate(
        name="disk", verdict="unknown", state="unknown", subject=want.repo,
        sentence=f"Where {want.repo} shall lie is not said.",
        way_out=("Set dir or path in the recipe, or dir of the host.",),
    )  # fmt: skip


def remember_accepted(gates: Sequence[Gate], accept: Collection[str]) -> None:
    """Code that was accepted with `--accept remote-code` is not asked for again while it stays the same."""
    for gate in gates:
        mark = gate.numbers.get("fingerprint")
        if gate.name == "remote_code" and gate.state == "ask" and "remote-code" in accept and mark:
            with contextlib.suppress(OSError):  # what cannot be remembered is asked again
                remember(str(mark))
