"""What a reducer of a box's slice is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from console.events import Event

if TYPE_CHECKING:
    from console.state.model import HostState

# (box, fact, seconds since the start) -> nothing: the slice is changed in place.
HostReducer = Callable[["HostState", Any, float], None]
HostReducers = Mapping[type[Event], HostReducer]
