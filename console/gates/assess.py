"""A recipe's own gates, from gathered inputs: arguments, drafter, memory, ports, gpus, host."""

from __future__ import annotations

from typing import Any

import msgspec

from console.gates.arguments import REPAIR, Finding, Validation, arguments_gate, check_flags
from console.gates.drafter import Pair, drafter_gate
from console.gates.fitting import fit_of
from console.gates.gate import Gate, Verdict
from console.gates.gpus import gpus_gate
from console.gates.host import host_gate
from console.gates.inputs import Inputs, plan_of
from console.gates.memory import memory_gate, no_memory_gate
from console.gates.pairs import pair_of
from console.gates.ports import ports_gate, wanted_ports
from console.gates.rules import check_rules
from console.models.engine import Engine
from console.values import Unknown, clean, known


def findings_of(inputs: Inputs) -> list[Finding]:
    """What our own rules say of the arguments; empty when the version is not known."""
    if not known(inputs.engine):
        return []
    found = list(check_flags(inputs.recipe.args, inputs.engine))
    return [*found, *check_rules(plan_of(inputs, inputs.engine))]


def may_validate(findings: list[Finding]) -> bool:
    """SGLang is asked only when nothing of ours blocks: its import takes half a minute."""
    return all(finding.verdict in ("pass", "warn") for finding in findings)


def assess(inputs: Inputs, findings: list[Finding], validation: Validation | None) -> tuple[Gate, ...]:
    """The gates in the contract's order."""
    recipe, engine, args = inputs.recipe, inputs.engine, inputs.args
    context = args.get("context-length")
    return (
        _memory(inputs, validation, context if isinstance(context, int) else None),
        arguments_gate(recipe.name, engine, findings, validation, _served(inputs, engine)),
        _drafter(inputs, engine),
        ports_gate(wanted_ports(recipe.port, args), inputs.ports),
        gpus_gate(inputs.gpus, needed=inputs.gpus_needed, own_pids=inputs.own_pids),
        host_gate(recipe.name, inputs.host, engine, inputs.gpus_needed, recipe.env),
    )


def _served(inputs: Inputs, engine: Engine | Unknown) -> dict[str, Any]:
    """Config architecture → class in this SGLang → recipes that reached READY on this box for it."""
    name = inputs.architecture
    table = engine.architectures if known(engine) else engine
    module: str | Unknown = Unknown("no class in this SGLang")
    if not known(name) or not known(table):
        module = name if not known(name) else table if not known(table) else module
    else:
        module = table.get(clean(name), module)
    return {"architecture": name, "module": module, "ready_recipes": list(inputs.ready_recipes)}


def _memory(inputs: Inputs, validation: Validation | None, context: int | None) -> Gate:
    if inputs.gpus_needed == 0:
        return no_memory_gate(inputs.recipe.name)
    gate = memory_gate(inputs.recipe.name, fit_of(inputs, validation.resolved if validation else None), context=context)
    place = _config_place(inputs)
    if not place or "sources" not in gate.numbers:
        return gate
    return msgspec.structs.replace(
        gate, numbers=gate.numbers | {"sources": gate.numbers["sources"] | {"layers": place}}
    )


def _config_place(inputs: Inputs) -> str:
    """Where a nested configuration describes its layers, as a dotted path; empty when it does so at its top level."""
    config = inputs.target.config
    place = config.where("num_hidden_layers") if known(config) else ""
    return f"{place} of config.json" if place.endswith(".num_hidden_layers") else ""


def _drafter(inputs: Inputs, engine: Engine | Unknown) -> Gate:
    recipe, args = inputs.recipe, inputs.args
    algorithm = str(args.get("speculative-algorithm") or "").upper()
    if not known(engine):
        verdict: Verdict = "unknown" if algorithm else "pass"
        sentence = f"Nothing is known of this SGLang: {engine.reason}." if algorithm else "No speculation."
        ways = (REPAIR,) if algorithm else ()
        return Gate(
            name="drafter", verdict=verdict, state=verdict, subject=recipe.name, sentence=sentence, way_out=ways
        )
    block = args.get("speculative-dflash-block-size") or args.get("speculative-num-draft-tokens")
    topk = args.get("speculative-eagle-topk")
    return drafter_gate(
        Pair(
            algorithm=algorithm,
            target_id=recipe.model,
            target=inputs.target.config,
            draft_id=(recipe.draft or "") if algorithm else "",
            draft=inputs.draft.config if inputs.draft else Unknown("no drafter"),
            engine=engine,
            layout=inputs.layout,
            block_size=block if isinstance(block, int) else None,
            topk=topk if isinstance(topk, int) else None,
            key=pair_of(inputs),
            exactness=inputs.exactness,
        )
    )
