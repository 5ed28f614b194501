"""The ports gate: SGLang binds its HTTP port only after the weights are loaded, so it is tested before."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from console.gates.gate import Gate
from console.values import CleanText, Unknown, known

_DP_HANDSHAKE = 13
_DP_BASE = 233  # SGLang's own distance of the data-parallel ports; six of them in a row


class PortAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """One port as the box tried to bind it. `holder`: who listens, as far as it can be seen."""

    port: int
    free: bool
    error: CleanText = CleanText("")
    holder: CleanText | Unknown = Unknown("not seen")


def wanted_ports(port: int, args: Mapping[str, Any]) -> dict[int, str]:
    """Port → what it is for. Under plain tensor parallelism SGLang searches a free inner port itself."""
    ports = {port: "HTTP"}
    inner = args.get("nccl-port")
    if isinstance(inner, int):
        ports[inner] = "NCCL"
    address = str(args.get("dist-init-addr") or "")
    base = port + _DP_BASE
    if address.rpartition(":")[2].isdigit():
        base = int(address.rpartition(":")[2])
        ports[base] = "distributed initialisation"
    if args.get("enable-dp-attention") is True or (args.get("attn-dp-size") or 1) != 1:
        ports.setdefault(port + _DP_HANDSHAKE, "data-parallel handshake")
        for offset in range(6):
            ports.setdefault(base + offset, "data-parallel attention")
    return ports


def ports_gate(wanted: Mapping[int, str], answers: tuple[PortAnswer, ...] | Unknown) -> Gate:
    """All ports free, or who holds which."""
    subject = ", ".join(str(port) for port in wanted)
    if not known(answers):
        sentence = f"Whether the ports are free is not known: {answers.reason}."
        return Gate(
            name="ports", verdict="unknown", state="unknown", subject=subject, sentence=sentence,
            way_out=("a python3 on the box that starts, then check again (r on screen)",),
        )  # fmt: skip
    taken = [answer for answer in answers if not answer.free]
    numbers = {"ports": [{"port": a.port, "free": a.free, "use": wanted.get(a.port, "")} for a in answers]}
    if not taken:
        return Gate(
            name="ports", verdict="pass", state="free", subject=subject, sentence=f"Free: {subject}.", numbers=numbers
        )
    said = " ".join(
        f"Port {a.port} ({wanted.get(a.port, '')}) is taken"
        + (f" by {a.holder}." if known(a.holder) else f": {a.error}." if a.error else ".")
        for a in taken
    )
    return Gate(
        name="ports",
        verdict="block",
        state="taken",
        subject=", ".join(str(a.port) for a in taken),
        sentence=said,
        way_out=("stop what listens there; --swap replaces an SGLang server", "another `port` in the recipe"),
        numbers=numbers,
    )
