"""Everything the plan of one recipe rests on, gathered before any gate is asked."""

from __future__ import annotations

from typing import Any

import msgspec

from console.config.exactness import Exactness
from console.config.records import Recipe
from console.gates.gpus import GpuView
from console.gates.host import HostView
from console.gates.ports import PortAnswer
from console.gates.rules import Plan, layout_of, long_names
from console.models.config import ModelConfig
from console.models.engine import Engine
from console.models.fit import Measured
from console.models.places import served_name
from console.models.weights import Layout, Weights
from console.values import Unknown, known

NOT_ASKED = Unknown("not asked")


def gpus_needed(args: dict[str, Any]) -> int:
    """How many GPUs the arguments (under their long names) take; none on the CPU."""
    if args.get("device") == "cpu":
        return 0
    layout, replicas = layout_of(args)
    return layout.gpus * replicas


class Repository(msgspec.Struct, frozen=True, kw_only=True):
    """One repository as far as it is known: from its directory on the box, else from the Hub's listing."""

    config: ModelConfig | Unknown
    weights: Weights | Unknown
    total_bytes: int | Unknown = NOT_ASKED


class Inputs(msgspec.Struct, frozen=True, kw_only=True):
    """`gpus`: the recipe's own, in rank order. `own_pids`: processes of a server that this launch replaces.
    `revisions`: commits of target and drafter, empty for a directory without one; `exactness`: what was compared of
    exactly this pair on this box."""

    recipe: Recipe
    engine: Engine | Unknown
    target: Repository
    draft: Repository | None
    gpus: tuple[GpuView, ...] | Unknown
    host: HostView
    ports: tuple[PortAnswer, ...] | Unknown
    own_pids: frozenset[int] = frozenset()
    concurrency: int | None = None
    measured: Measured = Measured()
    revisions: tuple[str, str] = ("", "")
    exactness: Exactness | None = None
    ready_recipes: tuple[str, ...] = ()

    @property
    def args(self) -> dict[str, Any]:
        """The recipe's arguments under their long names."""
        if not known(self.engine):
            return dict(self.recipe.args)
        return long_names(self.recipe.args, self.engine)

    @property
    def architecture(self) -> str | Unknown:
        """The class that the target's configuration names first."""
        names = self.target.config.architectures if known(self.target.config) else self.target.config
        return names[0] if known(names) else names

    @property
    def layout(self) -> Layout:
        return layout_of(self.args)[0]

    @property
    def gpus_needed(self) -> int:
        return gpus_needed(self.args)


def plan_of(inputs: Inputs, engine: Engine) -> Plan:
    """What the rules between flags look at."""
    args = inputs.args
    layout, replicas = layout_of(args)
    return Plan(
        args=args,
        engine=engine,
        layout=layout,
        replicas=replicas,
        config=inputs.target.config,
        draft=inputs.recipe.draft or "",
        served_name=served_name(inputs.recipe),
        concurrency=inputs.concurrency,
        device=str(args.get("device", "cuda")),
    )
