"""What screens and headless reports need of a session, live or replayed."""

from __future__ import annotations

from typing import Protocol

from console.journal import Header
from console.state import State


class Session(Protocol):
    """`state` is what is true; `now()` is the session's clock in seconds since `header.started`."""

    @property
    def state(self) -> State: ...

    @property
    def header(self) -> Header: ...

    @property
    def replayed(self) -> bool: ...

    @property
    def read_only(self) -> bool: ...

    @property
    def recording(self) -> str:
        """The name of the file that is recorded to, or empty."""
        ...

    @property
    def demo(self) -> bool:
        """True when the box is the demo box: said in the header and in exports, and nowhere else."""
        ...

    def now(self) -> float: ...
