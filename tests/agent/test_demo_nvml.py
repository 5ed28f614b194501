"""The demo's GPUs go through the same agent as real ones."""

from __future__ import annotations

import base64
import json
import os
import zlib
from importlib import resources
from pathlib import Path
from typing import Any

from console.events.host import GpuHealthSampled, GpuProcessesSampled, GpusIdentified, GpusSampled, XidReported
from console.values import known
from tests.support.agent import Watched, watched


def put(path: Path, **state: Any) -> None:
    fresh = path.with_suffix(".new")
    fresh.write_text(json.dumps(state))
    fresh.replace(path)


async def start(box: Watched) -> None:
    source = resources.files("console.demo").joinpath("nvml.py").read_bytes()
    await box.agent.request("nvml", module="pynvml", source=base64.b64encode(zlib.compress(source)).decode())


async def sampled(box: Watched, states: str) -> GpusSampled:
    wanted = states.split()
    return await box.until(GpusSampled, lambda fact: known(fact.gpus) and [g.state for g in fact.gpus] == wanted)


async def test_eight_gpus_and_a_scenario(tmp_path: Path) -> None:
    state = tmp_path / "state.json"
    async with watched({"GPUDECK_DEMO_STATE": str(state)}) as box:
        await start(box)
        idle = await sampled(box, "ok " * 8)
        identified = await box.until(GpusIdentified)
        owners = await box.until(GpuProcessesSampled)
        await box.until(GpuHealthSampled)
        box.forget()
        put(state, now=1000.0, all={"load": 0.97, "processes": [[os.getpid(), 90 * 10**9]]},
            gpus={"3": {"lost": True}, "4": {"error": 16}, "5": {"hung": True, "xids": [119]}})  # fmt: skip
        busy = await sampled(box, "ok ok ok lost reset_required hung ok ok")
        xid = await box.until(XidReported)
        put(state, gpus={"7": {"missing": True}})
        await box.agent.request("probe", name="gpus", now=True)
        await sampled(box, "ok " * 7 + "missing")
    assert known(identified.gpus)
    assert known(idle.gpus)
    assert known(busy.gpus)
    assert known(owners.gpus)
    assert {gpu.memory_total_bytes for gpu in identified.gpus} == {97887 * 1024 * 1024}
    assert len({gpu.uuid for gpu in identified.gpus}) == 8
    first, before = busy.gpus[0], idle.gpus[0]
    assert (first.memory_used_bytes, first.state) == (90 * 10**9, "ok")
    assert known(first.util_pct)
    assert known(first.power_w)
    assert known(before.power_w)
    assert first.util_pct > 80
    assert before.power_w < 50 < first.power_w <= 600
    assert xid.xid == 119


async def test_the_same_moment_looks_the_same_twice(tmp_path: Path) -> None:
    state = tmp_path / "state.json"
    put(state, now=4242.5, all={"load": 0.5})
    seen = []
    for _ in range(2):
        async with watched({"GPUDECK_DEMO_STATE": str(state)}) as box:
            await start(box)
            seen.append((await sampled(box, "ok " * 8)).gpus)
    assert seen[0] == seen[1]
