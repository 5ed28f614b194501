"""The flagship's plan on eight 96 GB GPUs, as facts."""

from __future__ import annotations

from console.events import Event
from console.events.plan import EngineIntrospected, Gate, GateChecked, PlanChecked, PlanStarted
from console.gates.arguments import Validation, arguments_gate, check_flags
from console.gates.memory import memory_gate
from console.gates.rules import Plan, check_rules, layout_of, long_names
from console.models.budget import Serving, Vision
from console.models.fit import Drafter, Fit, FitRequest, GpuRoom, fit
from console.models.geometry import geometry
from console.models.kv import GIB
from console.models.weights import Layout, weights_from_config
from console.values import clean, known
from tests.support.engines import kimi_config, kimi_drafter, recorded_engine

PRO6000 = 97887 << 20
HOST, RECIPE = "ct200", "k26-tp8-dflash"


def kimi_fit(layout: Layout, *, fraction: float | None = None, foreign: int = 0, draft: bool = False) -> Fit:
    """The fit of Kimi-K2.6; `foreign`: bytes that others hold of the last GPU."""
    config = kimi_config()
    weights, shape = weights_from_config(config, vision_bytes=9e8), geometry(config)
    assert known(weights)
    assert known(shape)
    serving = Serving(
        tp=layout.tp,
        pp=layout.pp,
        attention_dp=layout.dp,
        mla=True,
        vision=Vision(27, 1152),
        prefill_graph=layout.pp == 1,
    )
    drafter = Drafter(
        weights_bytes=0.8 * GIB, layers=5, shape=geometry(kimi_drafter()), element=2, source="file headers"
    )
    rooms = tuple(
        GpuRoom(
            uuid=f"GPU-{i}",
            index=i,
            total_bytes=PRO6000,
            reserved_bytes=624 << 20,
            foreign_bytes=foreign if i == 7 else 0,
        )
        for i in range(8)
    )
    return fit(
        FitRequest(
            weights=weights, shape=shape, layout=layout, serving=serving, gpus=rooms, element=2, fraction=fraction,
            multimodal=True, drafter=drafter if draft else None,
        )
    )  # fmt: skip


def kimi_gates(args: dict[str, object], fraction: float | None = 0.9) -> tuple[Gate, ...]:
    """Memory and arguments of a recipe with these arguments under 0.5.23."""
    engine = recorded_engine("0.5.23")
    long = long_names(args, engine)
    plan = Plan(args=long, engine=engine, layout=layout_of(long)[0], config=kimi_config(), draft="d", concurrency=64)
    findings = [*check_flags(args, engine), *check_rules(plan)]
    served = {"architecture": "KimiK25ForConditionalGeneration", "module": "kimi_k25", "ready_recipes": ["k25-tp8"]}
    return (
        memory_gate(RECIPE, kimi_fit(Layout(tp=8), fraction=fraction, draft=True), context=131_072),
        arguments_gate(RECIPE, engine, findings, Validation(result="accepted", sentence=""), served),
    )


def kimi_plan(args: dict[str, object], fraction: float | None = 0.9) -> list[Event]:
    """A whole check as facts."""
    engine = EngineIntrospected(
        host=HOST, python=clean("/root/venv/bin/python"), version=clean("0.5.23"), flags=531,
        algorithms=(clean("DFLASH"), clean("EAGLE"), clean("NGRAM")), architectures=290,
        torch=clean("2.14.1+cu130"), cuda=clean("13.0"),
    )  # fmt: skip
    model, draft = clean("moonshotai/Kimi-K2.6"), clean("z-lab/Kimi-K2.6-DFlash")
    gates = kimi_gates(args, fraction)
    blocked = any(gate.verdict == "block" for gate in gates)
    return [
        engine,
        PlanStarted(host=HOST, recipe=clean(RECIPE), model=model, draft=draft),
        *(GateChecked(host=HOST, recipe=clean(RECIPE), gate=gate) for gate in gates),
        PlanChecked(
            host=HOST,
            recipe=clean(RECIPE),
            verdict="block" if blocked else "pass",
            exit_code=4 if blocked else 0,
        ),
    ]
