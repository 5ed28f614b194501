"""What a worker gets: one box, its agent while the link is up, and where facts go."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from console.events import Event

if TYPE_CHECKING:
    from console.config.records import HostConfig
    from console.remote.agent import Agent


@dataclass(frozen=True)
class Box:
    """A connected box. A worker that meets `LinkLost` lets it through: the link's own worker handles it."""

    name: str
    agent: Agent
    publish: Callable[[Event], None]
    config: HostConfig
