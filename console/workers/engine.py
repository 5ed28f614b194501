"""Asks the box's interpreter about its SGLang. Answers are kept on the laptop by box, interpreter and version; those of
its validation also by everything that was asked."""

from __future__ import annotations

import contextlib
import hashlib
import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from console.config.paths import home_dir, write_private
from console.config.records import FlagValue, HostConfig, Recipe
from console.events.plan import ArgumentsValidated, EngineIntrospected
from console.gates.arguments import Validation, check_flags
from console.models.engine import Engine, parse_engine
from console.remote.errors import AgentError
from console.values import Unknown, clean, known
from console.workers.box import Box

PACKAGE = "console.payloads.introspect"
INTROSPECT_S = 240.0  # imports on a cold disk took 36 s, and up to 3 min on a busy one
VALIDATE_S = 60.0
QUICK_S = 30.0
VALIDATIONS = 64  # kept per box and interpreter


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
    engine = msgspec.structs.replace(parse_engine(answer, python), stamp=_stamp(seen))
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


def flag_problem(host: HostConfig, recipe: Recipe, flag: str, value: FlagValue) -> str:
    """What the SGLang that was asked last on this box would not take of a flag; nothing when it was not asked yet.

    The gates have the last word: they ask the box again.
    """
    python = recipe.python or host.python or "python3"
    answer = _read(_file(host.name, python)).get("answer")
    if not isinstance(answer, dict):
        return ""
    found = [one for one in check_flags({flag: value}, parse_engine(answer, python)) if one.verdict == "block"]
    return " ".join(f"{one.sentence.rstrip('.')}: {one.way_out[0]}" for one in found[:1])


async def validate(box: Box, recipe: str, python: str, stamp: str, request: Mapping[str, Any]) -> Validation:
    """SGLang's own validation, dry, at most 60 s; a run that did not end is unknown. `request`: `argv`, `env`,
    `gpu` and `configs` as the introspection program takes them. What the same `stamp` answered before is not asked
    again: each asking imports SGLang."""
    started, key = time.monotonic(), _asked(stamp, request)
    file = _file(box.name, python, "validations")
    kept = _read(file).get(key) if stamp else None
    answer = kept if isinstance(kept, dict) else await _validate(box, python, request)
    result = answer.get("result")
    if stamp and kept is None and result in ("accepted", "refused"):
        answers = {**_read(file), key: answer}
        _keep(file, dict(list(answers.items())[-VALIDATIONS:]))
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


async def _validate(box: Box, python: str, request: Mapping[str, Any]) -> dict[str, Any]:
    try:
        return await ask(box, python, {"op": "validate", **request}, VALIDATE_S)
    except AgentError as error:
        return {"result": "unknown", "message": error.message or str(error)}


def _stamp(seen: Mapping[str, Any]) -> str:
    return "; ".join([str(seen["stamp"]), str(seen["environment"])]) if seen.get("stamp") else ""


def _asked(stamp: str, request: Mapping[str, Any]) -> str:
    text = json.dumps([stamp, request], sort_keys=True, separators=(",", ":"), default=str)
    return hashlib.sha256(text.encode()).hexdigest()


def _file(box: str, python: str, what: str = "engines") -> Path:
    key = hashlib.sha256(f"{box}\0{python}".encode()).hexdigest()[:20]
    return home_dir("cache") / what / f"{key}.json"


def _read(file: Path) -> dict[str, Any]:
    """What is kept there; nothing when it cannot be read."""
    try:
        kept = json.loads(file.read_bytes())
    except (OSError, ValueError):
        return {}
    return kept if isinstance(kept, dict) else {}


def _remembered(box: str, python: str, stamp: Any) -> dict[str, Any] | None:
    """The kept answer, if the interpreter's packages have not changed since."""
    if not isinstance(stamp, str):
        return None
    kept = _read(_file(box, python))
    answer = kept.get("answer") if kept.get("stamp") == stamp else None
    return answer if isinstance(answer, dict) else None


def _remember(box: str, python: str, stamp: Any, answer: dict[str, Any]) -> None:
    """Keep a whole answer; one with a problem is asked again, because the problem may be repaired."""
    if isinstance(stamp, str) and "problem" not in answer:
        _keep(_file(box, python), {"stamp": stamp, "answer": answer})


def _keep(file: Path, content: dict[str, Any]) -> None:
    with contextlib.suppress(OSError):  # what cannot be remembered is asked again
        write_private(file, json.dumps(content).encode())
