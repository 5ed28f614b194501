"""The slice of plans: what each recipe's gates said last, and what is known of the box's SGLang."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from console.events import plan as facts
from console.state.reducer import HostReducers
from console.values import CleanText, Unknown

if TYPE_CHECKING:
    from console.state.model import HostState


@dataclass
class Checked:
    """One recipe's gates, in the order they answered; `verdict` is None while some have not."""

    recipe: CleanText
    model: CleanText
    draft: CleanText
    started_t: float
    gates: list[facts.Gate] = field(default_factory=list)
    verdict: facts.Verdict | None = None
    exit_code: int | None = None
    validation: facts.ArgumentsValidated | None = None


@dataclass
class Plans:
    """By recipe; `current` is the one that was asked last. `engines` and `packages` by interpreter."""

    recipes: dict[str, Checked] = field(default_factory=dict)
    current: str = ""
    engines: dict[str, facts.EngineIntrospected] = field(default_factory=dict)
    packages: dict[str, dict[CleanText, CleanText] | Unknown] = field(default_factory=dict)

    @property
    def shown(self) -> Checked | None:
        """The plan that was asked last."""
        return self.recipes.get(self.current)


def _introspected(host: HostState, event: facts.EngineIntrospected, _t: float) -> None:
    host.plan.engines[event.python] = event


def _packages(host: HostState, event: facts.EnginePackagesRead, _t: float) -> None:
    host.plan.packages[event.python] = Unknown(event.problem) if event.problem else event.packages


def _started(host: HostState, event: facts.PlanStarted, t: float) -> None:
    host.plan.recipes[event.recipe] = Checked(event.recipe, event.model, event.draft, t)
    host.plan.current = event.recipe


def _validated(host: HostState, event: facts.ArgumentsValidated, _t: float) -> None:
    if plan := host.plan.recipes.get(event.recipe):
        plan.validation = event


def _gate(host: HostState, event: facts.GateChecked, _t: float) -> None:
    if plan := host.plan.recipes.get(event.recipe):
        plan.gates.append(event.gate)


def _checked(host: HostState, event: facts.PlanChecked, _t: float) -> None:
    if plan := host.plan.recipes.get(event.recipe):
        plan.verdict, plan.exit_code = event.verdict, event.exit_code


REDUCERS: HostReducers = {
    facts.EngineIntrospected: _introspected,
    facts.EnginePackagesRead: _packages,
    facts.PlanStarted: _started,
    facts.ArgumentsValidated: _validated,
    facts.GateChecked: _gate,
    facts.PlanChecked: _checked,
}
