"""SGLang's own validation is asked once for the same question; what it could not answer is asked again."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import pytest

from console.config.records import HostConfig
from console.remote.agent import Agent
from console.remote.errors import AgentError
from console.workers.box import Box
from console.workers.engine import VALIDATIONS, validate

REQUEST: dict[str, Any] = {"argv": ["--tp-size", "2"], "env": {"A": "1"}, "gpu": {"count": 2}, "configs": {"/m": {}}}


class Asked:
    """An agent that answers the same, and counts how often."""

    def __init__(self, answer: dict[str, Any] | AgentError) -> None:
        self.answer, self.count = answer, 0

    async def run_program(self, _python: str, _package: str, request: Mapping[str, Any], *_: Any) -> dict[str, Any]:
        assert request["op"] == "validate"
        self.count += 1
        if isinstance(self.answer, AgentError):
            raise self.answer
        return self.answer


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path


def box(agent: Asked, name: str = "ct200") -> Box:
    return Box(name=name, agent=cast(Agent, agent), publish=lambda _: None, config=HostConfig(name=name, ssh=name))


async def test_the_same_question_is_asked_once(home: Path) -> None:
    agent = Asked({"result": "accepted", "message": "", "resolved": {"mem_fraction_static": 0.877}})
    first = await validate(box(agent), "r", "python", "stamp", REQUEST)
    second = await validate(box(agent), "another recipe", "python", "stamp", REQUEST)
    assert agent.count == 1
    assert first == second
    assert second.resolved == {"mem_fraction_static": 0.877}
    (kept,) = (home / "gpudeck" / "validations").glob("*.json")
    assert kept.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("name", list(REQUEST))
async def test_another_question_is_asked(name: str) -> None:
    agent = Asked({"result": "refused", "message": "no"})
    await validate(box(agent), "r", "python", "stamp", REQUEST)
    await validate(box(agent), "r", "python", "stamp", {**REQUEST, name: {"other": 1}})
    assert agent.count == 2


async def test_another_installation_box_or_interpreter_is_asked() -> None:
    agent = Asked({"result": "refused", "message": "no"})
    for host, python, stamp in (("a", "p", "s"), ("a", "p", "t"), ("a", "q", "s"), ("b", "p", "s"), ("a", "p", "s")):
        await validate(box(agent, host), "r", python, stamp, REQUEST)
    assert agent.count == 4


@pytest.mark.parametrize(
    "answer", [{"result": "unknown", "message": "no GPU"}, AgentError("timeout", "too slow"), {"result": "?"}]
)
async def test_what_could_not_run_is_asked_again(answer: dict[str, Any] | AgentError) -> None:
    agent = Asked(answer)
    for _ in range(2):
        assert (await validate(box(agent), "r", "python", "stamp", REQUEST)).result == "unknown"
    assert agent.count == 2


async def test_an_installation_without_a_name_is_always_asked_and_a_damaged_file_is_nothing(home: Path) -> None:
    agent = Asked({"result": "accepted", "message": ""})
    for _ in range(2):
        await validate(box(agent), "r", "python", "", REQUEST)
    assert agent.count == 2
    await validate(box(agent), "r", "python", "stamp", REQUEST)
    (kept,) = (home / "gpudeck" / "validations").glob("*.json")
    kept.write_text("torn")
    await validate(box(agent), "r", "python", "stamp", REQUEST)
    assert agent.count == 4


async def test_the_oldest_answers_go(home: Path) -> None:
    agent = Asked({"result": "accepted", "message": ""})
    for number in range(VALIDATIONS + 1):
        await validate(box(agent), "r", "python", "stamp", {**REQUEST, "argv": [str(number)]})
    await validate(box(agent), "r", "python", "stamp", {**REQUEST, "argv": ["0"]})
    assert agent.count == VALIDATIONS + 2
    await validate(box(agent), "r", "python", "stamp", {**REQUEST, "argv": [str(VALIDATIONS)]})
    assert agent.count == VALIDATIONS + 2
