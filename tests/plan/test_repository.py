"""Where a repository's facts come from: its directory on the box, else the Hub's listing."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from console.config.records import HostConfig
from console.events import Event
from console.models.config import ModelConfig
from console.remote.local import open_local_agent
from console.values import Unknown, known
from console.workers.box import Box
from console.workers.repository import Listing, draft_repository, repository
from tests.support.engines import kimi_config
from tests.support.models import CONFIG, model_directory


@pytest.fixture
async def box() -> AsyncIterator[Box]:
    agent = await open_local_agent("python3", {})
    facts: list[Event] = []
    yield Box("local", agent, facts.append, HostConfig(name="local", ssh="local"))
    await agent.close()


async def test_a_directory_on_the_box_gives_exact_bytes(box: Box, tmp_path: Path) -> None:
    folder = model_directory(tmp_path / "m")
    found = await repository(box, str(folder), None)
    assert known(found.config)
    assert known(found.weights)
    assert found.weights.source == "file headers"
    assert found.total_bytes == (folder / "model.safetensors").stat().st_size


async def test_a_directory_without_shards_is_counted_from_its_configuration(box: Box, tmp_path: Path) -> None:
    folder = model_directory(tmp_path / "m")
    (folder / "model.safetensors").unlink()
    found = await repository(box, str(folder), None)
    assert known(found.weights)
    assert found.weights.source == "counted from config.json"
    assert not known(found.total_bytes)


async def test_what_is_not_on_the_box_is_taken_from_the_listing(box: Box, tmp_path: Path) -> None:
    listing = Listing(config=kimi_config(), total_bytes=595_105_305_856)
    found = await repository(box, str(tmp_path / "not-here"), listing)
    assert known(found.weights)
    assert found.weights.vision == pytest.approx(900e6, rel=0.01)
    assert found.weights.total_bytes == pytest.approx(595_105_305_856)


async def test_nothing_known_says_why(box: Box, tmp_path: Path) -> None:
    found = await repository(box, str(tmp_path / "not-here"), None)
    assert isinstance(found.config, Unknown)
    assert "not-here/config.json" in found.config.reason
    nowhere = await repository(box, Unknown("no dir"), None)
    assert isinstance(nowhere.weights, Unknown)
    assert nowhere.weights.reason == "no dir"
    assert await draft_repository(box, None, None) is None


async def test_a_broken_configuration_on_the_box_is_not_papered_over(box: Box, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("[1, 2")
    found = await repository(box, str(tmp_path), Listing(config=ModelConfig(CONFIG), total_bytes=Unknown("x")))
    assert isinstance(found.config, Unknown)
    assert "no JSON" in found.config.reason
