"""What a launch needs of the machine that the agent's samples do not hold: free ports, compute capabilities."""

from __future__ import annotations

import glob
import os
import socket
from typing import Any


def look(config: dict[str, Any]) -> dict[str, Any]:
    """`config`: `ports` to test, `uuids` of the GPUs. What cannot be read is null."""
    return {
        "ports": [_port(int(port)) for port in config.get("ports", [])],
        "capability": _capability(list(config.get("uuids", []))),
    }


def _port(port: int) -> dict[str, Any]:
    """Bound as a server binds it; a port that somebody listens on names its process where /proc lets us see."""
    for address in ("0.0.0.0", "127.0.0.1"):
        probe = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        try:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((address, port))
        except OSError as error:
            return {"port": port, "free": False, "error": error.strerror or str(error), "holder": _holder(port)}
        finally:
            probe.close()
    return {"port": port, "free": True, "error": "", "holder": None}


def _holder(port: int) -> str | None:
    """`pid 4711 (python3)` of the listener, or None where it is not ours to see."""
    inodes = _listening_inodes(port)
    for link in glob.iglob("/proc/[0-9]*/fd/*") if inodes else ():
        try:
            target = os.readlink(link)
        except OSError:
            continue
        if target.startswith("socket:[") and target[8:-1] in inodes:
            pid = link.split("/")[2]
            return f"pid {pid} ({_name(pid)})"
    return None


def _name(pid: str) -> str:
    try:
        with open(f"/proc/{pid}/comm", encoding="utf-8", errors="replace") as stream:
            return stream.read().strip()
    except OSError:
        return "gone"


def _listening_inodes(port: int) -> list[str]:
    inodes = []
    wanted = f"{port:04X}"
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        try:
            with open(table, encoding="ascii") as stream:
                rows = [line.split() for line in stream][1:]
        except OSError:
            continue
        inodes += [row[9] for row in rows if row[3] == "0A" and row[1].rsplit(":", 1)[1] == wanted]
    return inodes


def _capability(uuids: list[str]) -> list[list[int]] | None:
    """[major, minor] of each GPU, from NVML: no context is made. SGLang itself brings the module."""
    try:
        import pynvml
    except ImportError:
        return None
    nvml: Any = pynvml
    try:
        nvml.nvmlInit()
        handles = [nvml.nvmlDeviceGetHandleByUUID(uuid) for uuid in uuids]
        return [list(nvml.nvmlDeviceGetCudaComputeCapability(handle)) for handle in handles]
    except Exception:
        return None
