"""Facts of the plan: what the box's SGLang is, and what each gate answered before anything was started."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from console.events.base import HostEvent
from console.values import CleanText, Unknown

Verdict = Literal["pass", "warn", "block", "unknown"]
GateName = Literal["access", "remote_code", "disk", "memory", "arguments", "drafter", "ports", "gpus", "host"]


class Gate(msgspec.Struct, frozen=True, kw_only=True):
    """One gate's answer, with its arithmetic and the way out.

    `state` is the finer word behind the verdict: `disk.verdict` for disk and memory (`fits tight unknown no`),
    `repo.access` for access, the failed rule for the others. `numbers` holds plain JSON data in base units with
    the unit in the key; a missing number is an Unknown.
    """

    name: GateName
    verdict: Verdict
    state: str
    subject: str
    sentence: str
    way_out: tuple[str, ...] = ()
    numbers: dict[str, Any] = {}


class EngineIntrospected(HostEvent, frozen=True, gc=False, kw_only=True):
    """What the SGLang of one interpreter said of itself; `problem` is empty when it is in order."""

    python: CleanText
    version: CleanText | Unknown
    flags: int | Unknown
    algorithms: tuple[CleanText, ...] | Unknown
    architectures: int | Unknown
    torch: CleanText | Unknown
    cuda: CleanText | Unknown
    problem: CleanText = CleanText("")


class EnginePackagesRead(HostEvent, frozen=True, gc=False, kw_only=True):
    """Versions of the packages that matter to SGLang, by name, as one interpreter has them installed; or why not."""

    python: CleanText
    packages: dict[CleanText, CleanText]
    problem: CleanText = CleanText("")


class ArgumentsValidated(HostEvent, frozen=True, gc=False, kw_only=True):
    """SGLang's own validation of a recipe's arguments, run dry in the recipe's interpreter."""

    recipe: CleanText
    result: Literal["accepted", "refused", "unknown"]
    sentence: CleanText
    took_s: float


class PlanStarted(HostEvent, frozen=True, gc=False, kw_only=True):
    """The gates of a recipe are being asked; what an earlier check said of it no longer holds."""

    recipe: CleanText
    model: CleanText
    draft: CleanText = CleanText("")


class GateChecked(HostEvent, frozen=True, gc=False, kw_only=True):
    """One gate of a recipe answered."""

    recipe: CleanText
    gate: Gate


class PlanChecked(HostEvent, frozen=True, gc=False, kw_only=True):
    """All gates of a recipe answered. `verdict` is the worst of them, `exit_code` what preflight ends with."""

    recipe: CleanText
    verdict: Verdict
    exit_code: int


EVENTS = (EngineIntrospected, EnginePackagesRead, ArgumentsValidated, PlanStarted, GateChecked, PlanChecked)
