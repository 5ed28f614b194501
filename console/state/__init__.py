"""State and the one function that changes it."""

from console.state.model import HostState, SessionState, State
from console.state.reduce import reduce

__all__ = ["HostState", "SessionState", "State", "reduce"]
