"""How the GPUs reach each other, once: paths, NVLink, peer access, IOMMU."""

from __future__ import annotations

import os
from typing import Any

from .machine import text_of
from .nvml import code_of
from .wire import is_unknown, unknown

PATHS = {0: "internal", 10: "PIX", 20: "PXB", 30: "PHB", 40: "NODE", 50: "SYS"}
P2P = (
    "ok",
    "chipset not supported",
    "GPU not supported",
    "no path through the IOH",
    "disabled by regkey",
    "not supported",
)
P2P_READ, P2P_NVLINK = 0, 2
NVLINKS = 18


class Topology:
    period_s = 1.0

    def __init__(self, agent: Any) -> None:
        self._outlet = agent.outlet
        self._gpus = agent.probes["gpus"]
        self._told: Any = None

    def sample(self) -> None:
        devices, able = self._gpus.devices, self._gpus.able()
        if self._told is devices or not able:
            return
        self._told = devices
        nvml = self._gpus.library.nvml
        pairs = [_pair(nvml, a, b) for at, a in enumerate(able) for b in able[at + 1 :]]
        links = {device.uuid: _active_links(nvml, device) for device in able}
        self._outlet.sample("GpuTopologySampled", {"pairs": pairs, "nvlinks": links, "iommu": iommu()})


def _pair(nvml: Any, a: Any, b: Any) -> dict[str, Any]:
    path = _call(nvml.nvmlDeviceGetTopologyCommonAncestor, a.handle, b.handle)
    nvlink = _call(nvml.nvmlDeviceGetP2PStatus, a.handle, b.handle, P2P_NVLINK)
    peer = _call(nvml.nvmlDeviceGetP2PStatus, a.handle, b.handle, P2P_READ)
    return {
        "a": a.uuid,
        "b": b.uuid,
        "path": path if is_unknown(path) else PATHS.get(path, f"level {path}"),
        "nvlink": nvlink if is_unknown(nvlink) else nvlink == 0,
        "p2p": peer if is_unknown(peer) else P2P[min(peer, len(P2P) - 1)],
    }


def _active_links(nvml: Any, device: Any) -> Any:
    """How many NVLinks of this GPU are up; 0 for one that has none."""
    active = 0
    for link in range(NVLINKS):
        try:
            active += nvml.nvmlDeviceGetNvLinkState(device.handle, link) == 1
        except Exception as error:
            if link == 0 and code_of(error) not in (2, 3):
                return unknown(str(error))
            break
    return active


def _call(function: Any, *arguments: Any) -> Any:
    try:
        return function(*arguments)
    except Exception as error:
        return unknown(str(error))


def iommu() -> Any:
    """off, on, or passthrough. An IOMMU that translates is a known cause of hanging peer-to-peer copies."""
    try:
        units = os.listdir("/sys/class/iommu")
    except OSError:
        return unknown("no /sys/class/iommu")
    if not units:
        return "off"
    words = (text_of("/proc/cmdline") or "").split()
    kinds = {text_of(f"/sys/kernel/iommu_groups/{group}/type") for group in _groups()}
    return "passthrough" if "iommu=pt" in words or kinds == {"identity\n"} else "on"


def _groups() -> list[str]:
    try:
        return os.listdir("/sys/kernel/iommu_groups")
    except OSError:
        return []
