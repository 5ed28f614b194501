"""Asks the box's interpreter about its SGLang. The answer is kept on the laptop by box, interpreter and version."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from console.config.paths import home_dir, write_private
from console.events.plan import ArgumentsValidated, EngineIntrospected
from console.gates.arguments import Validation
from console.models.engine import Engine, parse_engine
from console.remote.errors import AgentError
from console.values import Unknown, clean, known
from console.workers.box import Box

PACKAGE = "console.payloads.introspect"
INTROSPECT_S = 240.0  # imports on a cold disk took 36 s, and up to 3 min on a busy one
VALIDATE_S = 60.0
QUICK_S = 30.0


async def ask(box: Box, python: str, request: Mapping[str, Any], timeout_s: float) -> dict[str, Any]:
    """One question to the introspection program. AgentError when it gave no answer."""
    return await box.agent.run_program(python, PACKAGE, dict(request), timeout_s, request.get("env"))


async def introspect(box: Box, python: str, env: Mapping[str, str]) -> Engine | Unknown:
    """The engine of an interpreter: from the laptop's memory when the same version is still installed there."""
    try:
        seen = await ask(box, python, {"op": "version", "env": dict(env)}, QUICK_S)
        answer = _remembered(box.name, python, seen.get("stamp"))
        if answer is None:
            answer = await ask(box, python, {"op": "engine", "env": dict(env)}, INTROSPECT_S)
            _remember(box.name, python, seen.get("stamp"), answer)
    except AgentError as error:
        return _failed(box, python, error)
    engine = parse_engine(answer, python)
    box.publish(
        EngineIntrospected(
            host=box.name,
            python=engine.python,
            version=engine.version,
            flags=len({flag.name for flag in engine.flags.values()}) if known(engine.flags) else engine.flags,
            algorithms=engine.algorithms,
            architectures=len(engine.architectures) if known(engine.architectures) else engine.architectures,
            torch=engine.torch.version,
            cuda=engine.torch.cuda,
            problem=engine.problem,
        )
    )
    return engine


def _failed(box: Box, python: str, error: AgentError) -> Unknown:
    """The interpreter itself gave no answer: it is not there, or it does not start."""
    reason = Unknown(f"{python}: {error.message or error}")
    box.publish(
        EngineIntrospected(
            host=box.name, python=clean(python), version=reason, flags=reason, algorithms=reason,
            architectures=reason, torch=reason, cuda=reason, problem=clean(str(error)),
        )
    )  # fmt: skip
    return reason


async def validate(box: Box, recipe: str, python: str, request: Mapping[str, Any]) -> Validation:
    """SGLang's own validation, dry, at most 60 s; a run that did not end is unknown. `request`: `argv`, `env`,
    `gpu` and `configs` as the introspection program takes them."""
    started = time.monotonic()
    try:
        answer = await ask(box, python, {"op": "validate", **request}, VALIDATE_S)
    except AgentError as error:
        answer = {"result": "unknown", "message": error.message or str(error)}
    result = answer.get("result")
    validation = Validation(
        result=result if result in ("accepted", "refused") else "unknown",
        sentence=clean(str(answer.get("message") or "no answer")),
        resolved=answer.get("resolved") or {},
    )
    box.publish(
        ArgumentsValidated(
            host=box.name,
            recipe=clean(recipe),
            result=validation.result,
            sentence=clean(validation.sentence),
            took_s=round(time.monotonic() - started, 3),
        )
    )
    return validation


def _file(box: str, python: str) -> Path:
    key = hashlib.sha256(f"{box}\0{python}".encode()).hexdigest()[:20]
    return home_dir("cache") / "engines" / f"{key}.json"


def _remembered(box: str, python: str, stamp: Any) -> dict[str, Any] | None:
    """The kept answer, if the interpreter's packages have not changed since."""
    if not isinstance(stamp, str):
        return None
    try:
        kept = json.loads(_file(box, python).read_bytes())
    except (OSError, ValueError):
        return None
    answer = kept.get("answer") if isinstance(kept, dict) and kept.get("stamp") == stamp else None
    return answer if isinstance(answer, dict) else None


def _remember(box: str, python: str, stamp: Any, answer: dict[str, Any]) -> None:
    """Keep a whole answer; one with a problem is asked again, because the problem may be repaired."""
    if isinstance(stamp, str) and "problem" not in answer:
        write_private(_file(box, python), json.dumps({"stamp": stamp, "answer": answer}).encode())
