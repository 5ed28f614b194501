"""Ports for servers of tests: none that the kernel gives to somebody else between the choice and the listening."""

from __future__ import annotations

import os
import socket

FIRST, LAST, STEP = 20_000, 32_000, 8  # below the ports of outgoing connections
_next = FIRST + os.getpid() * 97 * STEP % (LAST - FIRST)  # two processes begin apart


def free_port() -> int:
    """A port on which nobody listens, never the same twice."""
    global _next
    for _ in range(FIRST, LAST, STEP):
        port, _next = _next, FIRST + (_next - FIRST + STEP) % (LAST - FIRST)
        with socket.socket() as probe:
            try:
                probe.bind(("", port))
            except OSError:
                continue
            return port
    raise AssertionError(f"no port from {FIRST} to {LAST} is free")
