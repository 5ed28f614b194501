"""What a launch needs of the machine beside GPUs and disks: ports, shared memory, how the GPUs are joined."""

from __future__ import annotations

import glob
import os
import socket
from typing import Any


def look(config: dict[str, Any]) -> dict[str, Any]:
    """`config`: `ports` to test, `uuids` of the GPUs. What cannot be read is null."""
    return {
        "ports": [_port(int(port)) for port in config.get("ports", [])],
        "shm": _shm(),
        "iommu": _iommu(),
        "gpus": _gpus(list(config.get("uuids", []))),
    }


def _port(port: int) -> dict[str, Any]:
    """Bound as a server binds it; a port that somebody listens on names its process where /proc lets us see."""
    for family, address in ((socket.AF_INET, "0.0.0.0"), (socket.AF_INET, "127.0.0.1")):
        probe = socket.socket(family, socket.SOCK_STREAM)
        try:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((address, port))
        except OSError as error:
            return {"port": port, "free": False, "error": error.strerror or str(error), "pid": _listener(port)}
        finally:
            probe.close()
    return {"port": port, "free": True, "error": "", "pid": None}


def _listener(port: int) -> int | None:
    inodes = _listening_inodes(port)
    if not inodes:
        return None
    for link in glob.iglob("/proc/[0-9]*/fd/*"):
        try:
            target = os.readlink(link)
        except OSError:
            continue
        if target.startswith("socket:[") and target[8:-1] in inodes:
            return int(link.split("/")[2])
    return None


def _listening_inodes(port: int) -> list[str]:
    inodes = []
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        try:
            with open(table) as stream:
                rows = [line.split() for line in stream][1:]
        except OSError:
            continue
        wanted = f"{port:04X}"
        inodes += [row[9] for row in rows if row[3] == "0A" and row[1].rsplit(":", 1)[1] == wanted]
    return inodes


def _shm() -> dict[str, int] | None:
    try:
        room = os.statvfs("/dev/shm")
    except OSError:
        return None
    return {"total_bytes": room.f_blocks * room.f_frsize, "available_bytes": room.f_bavail * room.f_frsize}


def _iommu() -> bool | None:
    """Whether an IOMMU translates; with it peer-to-peer copies over PCIe are known to hang."""
    try:
        return bool(os.listdir("/sys/class/iommu"))
    except OSError:
        return None


def _gpus(uuids: list[str]) -> dict[str, Any]:
    """Compute capability, NVLink between every pair, and the farthest link level; from NVML, no context made."""
    try:
        import pynvml
    except ImportError:
        return {"error": "no NVML module in this interpreter"}
    nvml: Any = pynvml
    try:
        nvml.nvmlInit()
    except Exception as error:
        return {"error": str(error)}
    try:
        return _joined(nvml, uuids)
    except Exception as error:
        return {"error": str(error)}
    finally:
        nvml.nvmlShutdown()


def _joined(nvml: Any, uuids: list[str]) -> dict[str, Any]:
    handles = [nvml.nvmlDeviceGetHandleByUUID(uuid) for uuid in uuids]
    nvlink, level = True, 0
    for index, one in enumerate(handles):
        for other in handles[index + 1 :]:
            level = max(level, _quiet(lambda a=one, b=other: nvml.nvmlDeviceGetTopologyCommonAncestor(a, b), 0))
            status = _quiet(lambda a=one, b=other: nvml.nvmlDeviceGetP2PStatus(a, b, 2), -1)
            nvlink = nvlink and status == 0
    capability = [list(nvml.nvmlDeviceGetCudaComputeCapability(handle)) for handle in handles]
    return {"capability": capability, "nvlink": nvlink if len(handles) > 1 else None, "level": level}


def _quiet(question: Any, otherwise: int) -> int:
    try:
        return int(question())
    except Exception:
        return otherwise
