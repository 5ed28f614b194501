"""Asks everything that a recipe's plan rests on, in parallel, and tells each gate's answer as a fact."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

import msgspec

from console.config.classes import ready_recipes, remember_class
from console.config.exactness import exactness_of
from console.config.records import Recipe
from console.config.starts import earlier_starts
from console.events.plan import GateChecked, PlanChecked, PlanStarted
from console.gates.arguments import Validation
from console.gates.assess import assess, findings_of, may_validate
from console.gates.fitting import draft_bytes
from console.gates.gate import Gate
from console.gates.gpus import GpuView, choose, gpus_gate, views_of
from console.gates.inputs import Inputs, gpus_needed
from console.gates.pairs import pair_of
from console.gates.plan import combined, worst
from console.gates.rules import long_names
from console.models.fit import Measured
from console.models.kv import GIB
from console.models.launch import Launch, launch
from console.models.places import draft_place, served_name, target_place
from console.models.weights import stage_bytes
from console.state.host import Hardware
from console.values import Unknown, clean, known
from console.workers.box import Box
from console.workers.engine import introspect, validate
from console.workers.plan_machine import host_view, ports_and_capability
from console.workers.repository import Listing, draft_repository, repository
from console.workers.smoke import skipped, smoke


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """`hub`: gates that rest on the Hub (access, remote code, disk), what it lists for target and drafter, and
    their commits."""

    concurrency: int | None = None
    own_pids: frozenset[int] = frozenset()
    accept: tuple[str, ...] = ()
    smoke: bool = False
    hub_gates: tuple[Gate, ...] = ()
    target: Listing | None = None
    draft: Listing | None = None
    revisions: tuple[str, str] = ("", "")


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """A checked recipe: all gates, and the launch they allow (Unknown: why there is none to show)."""

    recipe: Recipe
    gates: tuple[Gate, ...]
    launch: Launch | Unknown
    exit_code: int


async def check(box: Box, hardware: Hardware, recipe: Recipe, options: Options) -> Plan:
    """All gates of a recipe. Raises LinkLost when the box goes away meanwhile."""
    name = clean(recipe.name)
    box.publish(PlanStarted(host=box.name, recipe=name, model=clean(recipe.model), draft=clean(recipe.draft or "")))
    for gate in options.hub_gates:
        box.publish(GateChecked(host=box.name, recipe=name, gate=gate))
    inputs = await gather(box, hardware, recipe, options)
    findings = findings_of(inputs)
    start = launch_of(inputs)
    validation = None
    if may_validate(findings) and known(inputs.engine) and not inputs.engine.problem:
        validation = await _validated(box, inputs, start)
    if options.smoke:
        inputs = await _smoked(box, inputs)
    gates = assess(inputs, findings, validation)
    for gate in gates:
        box.publish(GateChecked(host=box.name, recipe=name, gate=gate))
    everything = (*options.hub_gates, *gates)
    code = combined(everything, options.accept)
    box.publish(PlanChecked(host=box.name, recipe=name, verdict=worst(everything), exit_code=code))
    return Plan(recipe=recipe, gates=everything, launch=start, exit_code=code)


async def _smoked(box: Box, inputs: Inputs) -> Inputs:
    """With what an all-reduce over the GPUs said; GPUs that others hold are not touched, and that is said."""
    free = gpus_gate(inputs.gpus, needed=inputs.gpus_needed, own_pids=inputs.own_pids)
    recipe = inputs.recipe
    if inputs.gpus_needed < 2:
        said = skipped("it needs two GPUs", "leave --smoke out")
    elif not known(inputs.gpus) or free.verdict != "pass":
        said = skipped(free.sentence.rstrip("."), *free.way_out)
    else:
        said = await smoke(box, recipe.python or "python3", [gpu.uuid for gpu in inputs.gpus], recipe.env)
    return msgspec.structs.replace(inputs, host=msgspec.structs.replace(inputs.host, smoke=said))


async def gather(box: Box, hardware: Hardware, recipe: Recipe, options: Options) -> Inputs:
    """The inputs of the gates, asked side by side."""
    python = recipe.python or "python3"
    places = target_place(recipe), draft_place(recipe)
    engine, target, draft = await asyncio.gather(
        introspect(box, python, recipe.env),
        repository(box, places[0], options.target),
        draft_repository(box, places[1], options.draft),
    )
    args = long_names(recipe.args, engine) if known(engine) else dict(recipe.args)
    needed, views = gpus_needed(args), views_of(hardware)
    gpus: tuple[GpuView, ...] | Unknown = ()
    if needed:
        gpus = choose(views, recipe.gpus, needed, options.own_pids) if known(views) else views
    ports, capability = await ports_and_capability(box, recipe, args, gpus, options.own_pids)
    inputs = Inputs(
        recipe=recipe,
        engine=engine,
        target=target,
        draft=draft,
        gpus=gpus,
        host=host_view(hardware, gpus, capability),
        ports=ports,
        own_pids=options.own_pids,
        concurrency=options.concurrency,
        revisions=options.revisions,
    )
    return msgspec.structs.replace(
        inputs,
        ready_recipes=_ready(box.name, inputs),
        measured=_measured(box.name, inputs),
        exactness=exactness_of(box.name, pair_of(inputs)),
    )


def _ready(box: str, inputs: Inputs) -> tuple[str, ...]:
    """Recipes of the same class that reached READY here; this one's class is remembered for the next question."""
    name = inputs.architecture
    if not known(name):
        return ()
    with contextlib.suppress(OSError):  # what cannot be remembered is only missed next time
        remember_class(box, inputs.recipe.name, name)
    return ready_recipes(box, name)


def _measured(box: str, inputs: Inputs) -> Measured:
    """What the last start of this recipe took, target and drafter each unless it is another one by now: one stage,
    within a fifth of the estimate."""
    starts, weights = earlier_starts(box, inputs.recipe.name), inputs.target.weights
    if not starts or inputs.layout.pp != 1:
        return Measured()
    actuals, planned = starts[-1].actuals, stage_bytes(weights, inputs.layout)[0] if known(weights) else 0.0
    drafted = draft_bytes(inputs.draft, inputs.layout)[0] if inputs.draft else 0.0
    held = _alike(actuals.get("weights_gb"), planned)
    return Measured(
        weights_bytes=None if held is None else (held,),
        draft_bytes=_alike(actuals.get("draft_gb"), drafted if known(drafted) else 0.0),
    )


def _alike(taken_gib: float | None, planned: float) -> float | None:
    """The measured bytes, unless they are too far from the planned ones."""
    taken = None if taken_gib is None else taken_gib * GIB
    return taken if taken and planned and abs(taken / planned - 1) <= 0.2 else None


def launch_of(inputs: Inputs) -> Launch | Unknown:
    """The command line that a start would run."""
    recipe = inputs.recipe
    place, draft = target_place(recipe), draft_place(recipe)
    if not known(place):
        return place
    if draft is not None and not known(draft):
        return draft
    return launch(
        python=recipe.python or "python3",
        model_path=place,
        served_name=served_name(recipe),
        port=recipe.port,
        args=recipe.args,
        env=recipe.env,
        gpu_uuids=[gpu.uuid for gpu in inputs.gpus] if known(inputs.gpus) else (),
        draft_path=draft if draft and recipe.args.get("speculative-algorithm") else "",
        secrets=tuple(recipe.secrets),
    )


async def _validated(box: Box, inputs: Inputs, start: Launch | Unknown) -> Validation:
    """SGLang's own answer, or why it could not be asked."""
    configs: dict[str, Any] = {}
    if not known(start):
        return Validation(result="unknown", sentence=f"{start.reason}.")
    for place, repo in zip(_places(start), (inputs.target, inputs.draft), strict=False):
        if repo is None or not known(repo.config):
            reason = repo.config.reason if repo and not known(repo.config) else "no configuration"
            return Validation(result="unknown", sentence=f"{place}: {reason}.")
        configs[place] = repo.config.data
    gpus = inputs.gpus if known(inputs.gpus) else ()
    totals = [gpu.total_bytes for gpu in gpus if known(gpu.total_bytes)]
    capability = inputs.host.capability
    gpu = {
        "count": len(gpus),
        "name": str(gpus[0].name) if gpus else "",
        "memory_mib": min(totals) / (1 << 20) if totals else 0,
        "capability": list(capability[0]) if known(capability) else None,
    }
    request = {"argv": _server_arguments(start), "env": inputs.recipe.env, "gpu": gpu, "configs": configs}
    stamp = inputs.engine.stamp if known(inputs.engine) else ""
    return await validate(box, inputs.recipe.name, start.argv[0], stamp, request)


def _server_arguments(start: Launch) -> list[str]:
    return list(start.argv[start.argv.index("--model-path") :])


def _places(start: Launch) -> tuple[str, ...]:
    """The directories of target and drafter in the command line."""
    words = start.argv
    flags = ("--model-path", "--speculative-draft-model-path")
    return tuple(words[words.index(flag) + 1] for flag in flags if flag in words)
