"""Reads a repository's facts: from its directory on the box, or from what the Hub lists."""

from __future__ import annotations

import base64

import msgspec

from console.gates.inputs import Repository
from console.models.config import ModelConfig, parse_config
from console.models.weights import TensorGroup, Weights, weights_from_headers, weights_from_listing
from console.remote.errors import AgentError
from console.values import Unknown, clean, known
from console.workers.box import Box
from console.workers.engine import ask

CONFIG_BYTES = 4 << 20
HEADERS_S = 120.0


class Listing(msgspec.Struct, frozen=True, kw_only=True):
    """What the Hub says of a repository that is not on the box: its `config.json` and the sum of its files."""

    config: ModelConfig | Unknown
    total_bytes: int | Unknown


async def draft_repository(box: Box, place: str | Unknown | None, listing: Listing | None) -> Repository | None:
    """The drafter's, None for a recipe without one."""
    return None if place is None else await repository(box, place, listing)


async def repository(box: Box, place: str | Unknown, listing: Listing | None) -> Repository:
    """A repository from its directory, where that has a `config.json`, even a broken one; else from the Hub's
    listing."""
    config = await read_config(box, place)
    if config is None or (not known(config) and not known(place)):
        if listing is None:
            missing = Unknown(f"there is no {place}/config.json on the box") if config is None else config
            return Repository(config=missing, weights=missing)
        return Repository(
            config=listing.config, weights=_listed(listing.config, listing.total_bytes), total_bytes=listing.total_bytes
        )
    if not known(config):
        return Repository(config=config, weights=config)
    assert known(place)
    headers = await _headers(box, place)
    groups, total = headers if known(headers) else ((), headers)
    weights: Weights | Unknown = weights_from_headers(groups, config)
    if not known(weights):
        listed = listing.total_bytes if listing else total
        weights = _listed(config, listed)
    return Repository(config=config, weights=weights, total_bytes=total)


def _listed(config: ModelConfig | Unknown, total_bytes: int | Unknown) -> Weights | Unknown:
    return weights_from_listing(config, total_bytes) if known(config) else config


async def read_config(box: Box, place: str | Unknown) -> ModelConfig | Unknown | None:
    """The `config.json` of a directory on the box; None when there is none."""
    if not known(place):
        return place
    try:
        answer = await box.agent.request("read", path=f"{place}/config.json", offset=0, max_bytes=CONFIG_BYTES)
    except AgentError as error:
        return None if error.code == "not_found" else Unknown(f"{place}/config.json could not be read: {error}")
    return parse_config(base64.b64decode(answer["data"]))


async def _headers(box: Box, place: str) -> tuple[tuple[TensorGroup, ...], int | Unknown] | Unknown:
    try:
        answer = await ask(box, "python3", {"op": "headers", "path": place}, HEADERS_S)
    except AgentError as error:
        return Unknown(f"the file headers of {place} were not read: {error}")
    groups = tuple(TensorGroup(clean(str(n)), int(size), int(count)) for n, size, count in answer.get("groups", ()))
    sizes = [row["size_bytes"] for row in answer.get("files", ())]
    return groups, sum(sizes) if sizes else Unknown(f"no safetensors file in {place}")
