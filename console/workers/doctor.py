"""Asks a box what `doctor` wants to know."""

from __future__ import annotations

import msgspec

from console.events.doctor import BoxExamined
from console.events.host import ProbeFailed
from console.remote.errors import AgentError
from console.values import clean, clean_tree
from console.workers.box import Box

PACKAGE = "console.payloads.doctor"
LIMIT_S = 20.0
ANY_PYTHON = "python3"


async def examine(box: Box) -> None:
    """Publish BoxExamined, or ProbeFailed with the reason. LinkLost goes through."""
    wanted = box.config.python or ANY_PYTHON
    trouble = ""
    for python in dict.fromkeys((wanted, ANY_PYTHON)):
        try:
            answer = clean_tree(await box.agent.run_program(python, PACKAGE, {}, LIMIT_S))
            fields = {**answer, "host": box.name, "python_error": clean(trouble)}
            box.publish(msgspec.convert(fields, BoxExamined))
            return
        except AgentError as error:
            trouble = trouble or f"{python}: {error}"
        except msgspec.ValidationError as error:
            trouble = trouble or f"{python} gave an answer that is none: {error}"
    box.publish(ProbeFailed(host=box.name, probe=clean("doctor"), reason=clean(trouble)))
