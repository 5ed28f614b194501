"""All gates of a recipe: the verdict, and the exit code of the contract."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from console.gates.gate import RANK, Gate, Verdict

# Access that is not ready, by state; every other state is 5 (authentication or gated).
_RETRY = ("hub_error", "rate_limited", "offline_mode")
_FAILED = ("revision_missing", "file_missing", "disabled", "endpoint_bad")
_PRECEDENCE = (2, 6, 3, 5, 4, 7, 1)

# What `--accept NAME` accepts. `adopt` is no gate's.
ACCEPTS = {"tight": ("disk", "memory"), "remote-code": ("remote_code",)}


def worst(gates: Iterable[Gate]) -> Verdict:
    """The verdict of the plan."""
    return max((gate.verdict for gate in gates), key=RANK.__getitem__, default="pass")


def accepted(gate: Gate, accept: Collection[str]) -> bool:
    """Whether `--accept` lets this gate through. Nothing accepts `no` or `unknown`."""
    if gate.verdict in ("pass", "unknown"):
        return gate.verdict == "pass"
    if gate.name in ACCEPTS["tight"]:
        return gate.state == "tight" and "tight" in accept
    if gate.name in ACCEPTS["remote-code"]:
        return gate.state == "ask" and "remote-code" in accept
    return False


def exit_code(gate: Gate, accept: Collection[str] = ()) -> int:
    """What this gate alone would end a command with."""
    if accepted(gate, accept):
        return 0
    if gate.name == "access" and gate.verdict != "pass":
        return _access_code(gate)
    if gate.verdict == "warn":
        return 4 if gate.state == "tight" else 0
    return 4


def _access_code(gate: Gate) -> int:
    if gate.state.startswith("unreachable_") or gate.state in _RETRY:
        return 3
    if gate.state in _FAILED:
        return 1
    if gate.state == "unknown":
        return 4
    return 0 if gate.verdict == "warn" else 5


def combined(gates: Iterable[Gate], accept: Collection[str] = ()) -> int:
    """The exit code of all gates: 2 > 6 > 3 > 5 > 4 > 7 > 1, else 0."""
    codes = {exit_code(gate, accept) for gate in gates}
    return next((code for code in _PRECEDENCE if code in codes), 0)


def blockers(gates: Iterable[Gate], accept: Collection[str] = ()) -> tuple[Gate, ...]:
    """The gates that stand in the way, worst first."""
    stopping = [gate for gate in gates if exit_code(gate, accept)]
    return tuple(sorted(stopping, key=lambda gate: -RANK[gate.verdict]))


def acceptable(gates: Iterable[Gate]) -> tuple[str, ...]:
    """The names for `--accept` that would let everything through; none when nothing blocks, or when they cannot."""
    ways = [[name for name in ACCEPTS if accepted(gate, (name,))] for gate in blockers(gates)]
    return tuple(dict.fromkeys(name for names in ways for name in names)) if all(ways) else ()
