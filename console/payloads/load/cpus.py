"""Where the worker runs: on two cores that no scheduler process uses, at a lower priority."""

from __future__ import annotations

import contextlib
import glob
import os
from collections.abc import Iterable

NICE = 5
SCHEDULER = b"sglang::"


def parse_list(text: str) -> set[int]:
    """`0-3,8` as a set of CPU numbers."""
    cpus: set[int] = set()
    for part in filter(None, text.strip().split(",")):
        first, _, last = part.partition("-")
        cpus |= set(range(int(first), int(last or first) + 1))
    return cpus


def choose(allowed: set[int], busy: set[int], nodes: Iterable[set[int]], wanted: int = 2) -> set[int]:
    """The last free cores of the NUMA node with the fewest busy ones; empty when there is nothing to gain."""
    if len(allowed) <= 2 * wanted:
        return set()
    candidates = [node & allowed for node in nodes] or [allowed]
    best = min(candidates, key=lambda node: (len(node & busy), -len(node - busy)))
    free = sorted(best - busy)
    return set(free[-wanted:]) if len(free) >= wanted else set()


def busy_cores() -> set[int]:
    """The cores on which SGLang's scheduler processes ran last."""
    cores: set[int] = set()
    for path in glob.glob("/proc/[0-9]*/cmdline"):
        try:
            with open(path, "rb") as file:
                if not file.read(64).startswith(SCHEDULER):
                    continue
            with open(path[: -len("cmdline")] + "stat", "rb") as file:
                cores.add(int(file.read().rsplit(b")", 1)[1].split()[36]))
        except (OSError, IndexError, ValueError):
            continue
    return cores


def numa_nodes() -> list[set[int]]:
    nodes: list[set[int]] = []
    for path in sorted(glob.glob("/sys/devices/system/node/node[0-9]*/cpulist")):
        try:
            with open(path) as file:
                nodes.append(parse_list(file.read()))
        except (OSError, ValueError):
            continue
    return [node for node in nodes if node]


def settle_down() -> list[int]:
    """Lowers the priority and pins this process; returns the cores, empty when it was left free."""
    with contextlib.suppress(OSError):
        os.nice(NICE)
    chosen = choose(set(os.sched_getaffinity(0)), busy_cores(), numa_nodes())
    if chosen:
        try:
            os.sched_setaffinity(0, chosen)
        except OSError:
            return []
    return sorted(chosen)
