"""Is what the console shows what NVML's own tool shows, and what does looking cost?"""

from __future__ import annotations

import asyncio
import base64
import json
import os
import subprocess
import time
import xml.etree.ElementTree as ET
import zlib
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tests.acceptance.place import Place

MIB = 1 << 20
# Field of gpudeck.status/1 -> place in `nvidia-smi -q -x`.
FIELDS = {
    "uuid": "uuid",
    "name": "product_name",
    "pci_bus_id": "pci/pci_bus_id",
    "memory_total_bytes": "fb_memory_usage/total",
    "memory_reserved_bytes": "fb_memory_usage/reserved",
    "memory_used_bytes": "fb_memory_usage/used",
    "memory_free_bytes": "fb_memory_usage/free",
    "util_pct": "utilization/gpu_util",
    "memory_util_pct": "utilization/memory_util",
    "power_w": "gpu_power_readings/average_power_draw",
    "power_w (instant)": "gpu_power_readings/instant_power_draw",
    "power_limit_w": "gpu_power_readings/current_power_limit",
    "temperature_c": "temperature/gpu_temp",
    "sm_clock_mhz": "clocks/sm_clock",
    "mig_enabled": "mig_mode/current_mig",
    "health.persistence": "persistence_mode",
    "health.ecc_enabled": "ecc_mode/current_ecc",
    "health.ecc_corrected": "ecc_errors/volatile/dram_correctable",
    "health.ecc_uncorrected": "ecc_errors/volatile/dram_uncorrectable",
    "health.remapped_corrected": "remapped_rows/remapped_row_corr",
    "health.remapped_uncorrected": "remapped_rows/remapped_row_unc",
    "health.remap_pending": "remapped_rows/remapped_row_pending",
    "health.remap_failed": "remapped_rows/remapped_row_failure",
    "health.recovery_action": "gpu_recovery_action",
    "health.compute_mode": "compute_mode",
    "health.pcie_gen": "pci/pci_gpu_link_info/pcie_gen/current_link_gen",
    "health.pcie_gen_max": "pci/pci_gpu_link_info/pcie_gen/max_link_gen",
    "health.pcie_width": "pci/pci_gpu_link_info/link_widths/current_link_width",
    "health.pcie_width_max": "pci/pci_gpu_link_info/link_widths/max_link_width",
    "health.pcie_replays": "pci/replay_counter",
}
WORDS = {"Enabled": True, "Disabled": False, "Yes": True, "No": False, "N/A": None}
REASONS = {
    "gpu_idle": "idle", "sw_power_cap": "power_cap", "hw_slowdown": "hw_slowdown", "sync_boost": "sync",
    "hw_thermal_slowdown": "thermal", "sw_thermal_slowdown": "thermal", "hw_power_brake_slowdown": "hw_slowdown",
}  # fmt: skip


def smi() -> list[dict[str, Any]]:
    """What nvidia-smi says of each GPU, in the console's names and units (its memory is rounded to MiB)."""
    text = subprocess.run(["nvidia-smi", "-q", "-x"], capture_output=True, check=True, timeout=30).stdout
    root = ET.fromstring(text)
    return [
        {name: _value(gpu.findtext(place)) for name, place in FIELDS.items()}
        | {"throttle": _reasons(gpu), "processes": _processes(gpu)}
        for gpu in root.findall("gpu")
    ] + [{"driver_version": root.findtext("driver_version"), "cuda_version": root.findtext("cuda_version")}]


def _value(text: str | None) -> Any:
    if text is None or text in WORDS:
        return WORDS.get(text or "N/A")
    number, _, unit = text.partition(" ")
    if number.endswith("x"):
        number = number[:-1]
    try:
        return int(number) * MIB if unit == "MiB" else float(number) if "." in number else int(number)
    except ValueError:
        return text


def _reasons(gpu: ET.Element) -> list[str]:
    found = gpu.find("clocks_event_reasons")
    active = [one.tag for one in (found if found is not None else ()) if one.text == "Active"]
    return sorted({word for end, word in REASONS.items() for tag in active if tag.endswith(f"_reason_{end}")})


def _processes(gpu: ET.Element) -> list[list[Any]]:
    rows = gpu.findall("processes/process_info")
    return sorted([int(row.findtext("pid") or 0), _value(row.findtext("used_memory"))] for row in rows)


def shown(gpu: dict[str, Any]) -> dict[str, Any]:
    """The same names of a GPU of gpudeck.status/1."""
    flat = {**gpu, "power_w (instant)": gpu["power_w"], **{f"health.{k}": v for k, v in gpu["health"].items()}}
    found = {name: flat.get(name, "missing") for name in FIELDS}
    rows = sorted([one["pid"], one["memory_bytes"]] for one in gpu["processes"] or [])
    return found | {"throttle": sorted(gpu["throttle"] or []), "processes": rows}


def compared(place: Place, name: str, *, over: str = "local", more: tuple[str, ...] = ()) -> None:
    """nvidia-smi, the console, nvidia-smi: kept side by side for each GPU."""
    before = smi()
    told = place.run("status", over, *more, record=f"status-{name}")
    after = smi()
    rows = [
        {"before": a, "console": shown(gpu), "after": b}
        for a, gpu, b in zip(before, told.data["gpus"] or [], after, strict=False)
    ]
    machine = told.data["machine"]
    place.fact(f"compare {name}", rows)
    place.fact(
        f"machine {name}", {key: machine.get(key) for key in ("driver_version", "cuda_version")} | {"smi": before[-1]}
    )


def look(place: Place) -> None:
    """Idle GPUs, locally and over SSH."""
    compared(place, "idle")
    asyncio.run(over_ssh(place, "ssh"))


async def over_ssh(place: Place, name: str) -> None:
    """Through an SSH server on loopback."""
    from console.remote.demo_server import demo_server

    home = place.work / "sshbox"
    home.mkdir(mode=0o700, exist_ok=True)
    async with demo_server(home, {**os.environ, "HOME": str(home)}, "gpubox") as server:
        await asyncio.to_thread(compared, place, name, over="gpubox", more=("--ssh-config", str(server.ssh_config)))


SAMPLE = """
import json, sys, time
sys.path.insert(0, sys.argv[1])
from console.agent.nvml import Library, load
from console.agent.device import Device
library = Library(load("pynvml", sys.argv[2]))
library.read()
found = []
for index in range(library.count):
    device, took = Device(library, index), []
    for _ in range(30):
        began = time.perf_counter(); device.read(); took.append(1000 * (time.perf_counter() - began)); time.sleep(0.1)
    calls = {}
    def timed(name, *arguments, ask=device.ask):
        began = time.perf_counter(); value = ask(name, *arguments)
        calls.setdefault(name, []).append(1000 * (time.perf_counter() - began)); return value
    device.ask = timed
    device.hurry(); began = time.perf_counter(); device.read(); everything = 1000 * (time.perf_counter() - began)
    device.read()
    found.append({"first_ms": took[0], "median_ms": sorted(took[1:])[14], "all_tiers_ms": everything,
                  "slowest": sorted(((max(v), k) for k, v in calls.items()), reverse=True)[:6]})
print(json.dumps(found))
"""


def cost(place: Place) -> None:
    """Milliseconds of NVML per GPU and sample; the agent's CPU, memory and bytes over 20 s on these GPUs."""
    root = str(Path(__file__).parents[2])
    python = place.gpudeck[0] if place.gpudeck[1:2] == ["-m"] else str(Path(place.gpudeck[0]).with_name("python3"))
    done = subprocess.run([python, "-c", SAMPLE, root, _binding()], capture_output=True, text=True, timeout=60)
    place.fact("sample", json.loads(done.stdout) if done.returncode == 0 else done.stderr)
    place.fact("agent", asyncio.run(_agent()))


async def _agent(seconds: float = 20.0, settle_s: float = 8.0) -> dict[str, float]:
    from console.remote.local import open_local_agent

    agent = await open_local_agent("python3", env=dict(os.environ))
    await agent.request("nvml", module="pynvml", source=_binding())
    counted = {"frames": 0}

    async def drain() -> None:
        async for _ in agent.frames():
            counted["frames"] += 1

    draining = asyncio.create_task(drain())
    pid = int(agent.hello["pid"])
    await asyncio.sleep(settle_s)
    cpu_s, frames, began = _cpu_s(pid), counted["frames"], time.monotonic()
    await asyncio.sleep(seconds)
    took = time.monotonic() - began
    found = {
        "cpu_pct": 100 * (_cpu_s(pid) - cpu_s) / took,
        "frames_s": (counted["frames"] - frames) / took,
        "rss_bytes": _memory(pid, "VmRSS"),
        "peak_bytes": _memory(pid, "VmHWM"),
    }
    await agent.close()
    await draining
    return found


def _binding() -> str:
    """The laptop's pinned NVML binding as the console sends it."""
    spec = find_spec("pynvml")
    assert spec is not None
    assert spec.origin is not None
    return base64.b64encode(zlib.compress(Path(spec.origin).read_bytes(), 9)).decode()


def _cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _memory(pid: int, key: str) -> int:
    text = Path(f"/proc/{pid}/status").read_text()
    return int(next(line for line in text.splitlines() if line.startswith(key)).split()[1]) * 1024
