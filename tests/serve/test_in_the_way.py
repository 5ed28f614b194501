"""What a start replaces: the servers on its port or its GPUs, and nothing that serves beside them."""

from __future__ import annotations

import msgspec
import pytest

from console.config.records import Recipe
from console.events import Stamped
from console.events.host import GpuProcess, GpuProcesses, GpuProcessesSampled
from console.events.serve import Server, ServersSampled
from console.gates.in_the_way import in_the_way
from console.state import HostState, State, reduce
from console.values import CleanText
from tests.support.gpu_facts import GIB, gauges, identified, identity, name_of, sampled

PIDS = {"a": 100, "b": 200, "c": 300}


def server(name: str, port: int, owner: str) -> Server:
    text = CleanText("")
    pid = PIDS[name]
    values = {
        "id": CleanText(name), "pid": pid, "start": 1, "started_s": 1.0, "boot_id": text, "owner": owner, "job": text,
        "user": CleanText("u"), "argv": (), "cwd": text, "unit": text, "unit_scope": text, "container": text,
        "log_path": text, "processes": (pid, pid + 1), "address": CleanText("127.0.0.1"), "port": port,
        "listening": True,
    }  # fmt: skip
    return msgspec.convert(values, Server)


def box(held: dict[int, str], owners: dict[str, str]) -> HostState:
    """Four GPUs; `held`: index → server whose process fills it; the servers' ports are 30000, 30001 …"""
    rows = tuple(
        GpuProcesses(
            uuid=name_of(index),
            processes=(
                GpuProcess(pid=PIDS[name] + 1, user=CleanText("u"), command=CleanText("c"), memory_bytes=80 * GIB),
            ),
        )
        for index, name in held.items()
    )
    used = [gauges(index, memory_used_bytes=80 * GIB if index in held else 0) for index in range(4)]
    seen = tuple(server(name, 30000 + number, owner) for number, (name, owner) in enumerate(owners.items()))
    state = State(hosts={"box": HostState("box")})
    facts = (
        identified(*(identity(index) for index in range(4))), sampled(*used),
        GpuProcessesSampled(host="box", gpus=rows), ServersSampled(host="box", servers=seen),
    )  # fmt: skip
    for seq, fact in enumerate(facts, 1):
        reduce(state, Stamped(seq, 0.0, fact))
    return state.hosts["box"]


TWO = {0: "a", 1: "a", 2: "b"}
MINE = {"a": "ours", "b": "ours"}


@pytest.mark.parametrize(
    ("held", "owners", "recipe", "replaced"),
    [
        (TWO, MINE, {"port": 30000, "args": {"tp": 2}}, ["a"]),  # its own GPUs are enough
        (TWO, MINE, {"port": 30000, "args": {"tp": 3}}, ["a"]),  # with the free one
        (TWO, MINE, {"port": 30000, "args": {"tensor-parallel-size": 4}}, ["a", "b"]),
        (TWO, MINE, {"port": 30009, "args": {"tp": 1}}, []),  # a free GPU and a free port
        (TWO, MINE, {"port": 30009, "args": {"tp": 2}}, ["a"]),  # too few are free: the first by index
        (TWO, MINE, {"port": 30009, "args": {"tp": 1}, "gpus": (2,)}, ["b"]),
        (TWO, MINE, {"port": 30000, "args": {"tp": 1}, "gpus": ("GPU-2",)}, ["a", "b"]),  # port and GPU
        (TWO, {"a": "foreign", "b": "ours"}, {"port": 30009, "args": {"tp": 2}}, ["b"]),  # a stranger stays
        (TWO, MINE, {"port": 30001, "args": {"device": "cpu"}}, ["b"]),  # the port alone
    ],
)  # fmt: skip
def test_what_is_replaced(
    held: dict[int, str], owners: dict[str, str], recipe: dict[str, object], replaced: list[str]
) -> None:
    wanted = msgspec.convert({"name": "new", "model": "/m", **recipe}, Recipe, strict=False)
    assert [str(one.id) for one in in_the_way(box(held, owners), wanted)] == replaced


def test_unknown_gpus_replace_the_port_alone() -> None:
    state = HostState("box")
    root = State(hosts={"box": state})
    reduce(root, Stamped(1, 0.0, ServersSampled(host="box", servers=(server("a", 30000, "ours"),))))
    wanted = msgspec.convert({"name": "new", "model": "/m", "port": 30001, "args": {"tp": 8}}, Recipe)
    assert in_the_way(state, wanted) == []
