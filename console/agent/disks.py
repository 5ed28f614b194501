"""The disks of this box, every five seconds: what each can still take, and what is wrong with it."""

from __future__ import annotations

from typing import Any

from .limits import Quotas, ram_limits
from .machine import text_of
from .mounts import Mount, parse, per_device
from .volume import NetworkVolume, Volume, silent, state_of
from .walk import Walk
from .wire import unknown

MOUNTS = "/proc/self/mountinfo"
DEADLINE_S = 1.0


class Disks:
    """Local file systems are walked; network ones answer from a child process each, all at the same time."""

    period_s = 5.0

    def __init__(self, agent: Any) -> None:
        self._outlet = agent.outlet
        self._local = Walk("disk", DEADLINE_S)
        self._volumes: dict[tuple[str, str], Volume] = {}
        self._quotas = Quotas()
        self._writable: set[str] = set()

    def sample(self) -> None:
        text = text_of(MOUNTS)
        if text is None:
            self._outlet.sample("DisksSampled", {"disks": unknown("/proc/self/mountinfo cannot be read")})
            return
        chosen = per_device(parse(text))
        self._volumes = {_key(mount): self._volume(mount) for mount, _ in chosen}
        self._local.round([v for v in self._volumes.values() if not isinstance(v, NetworkVolume)])
        network = [v for v in self._volumes.values() if isinstance(v, NetworkVolume)]
        for volume in network:
            volume.start()
        for volume in network:
            volume.read()
        disks = [self._disk(mount, others) for mount, others in chosen]
        self._outlet.sample("DisksSampled", {"disks": [disk for disk in disks if disk is not None]})

    def _volume(self, mount: Mount) -> Volume:
        known = self._volumes.get(_key(mount))
        if known is not None:
            known.mount = mount  # its options may have changed
            return known
        return NetworkVolume(mount) if mount.is_network else Volume(mount)

    def _disk(self, mount: Mount, others: list[str]) -> dict[str, Any] | None:
        """The fact's fields; None for a file system without space of its own."""
        volume = self._volumes[_key(mount)]
        disk: dict[str, Any] = {
            "mount": mount.path,
            "device": mount.source,
            "fstype": mount.fstype,
            "read_only": mount.mount_read_only or mount.super_read_only,
            "is_ram": mount.is_ram,
            "device_id": mount.device_id,
            "is_network": mount.is_network,
            "other_mounts": others,
        }
        stuck_s = volume.stuck_s() if mount.is_network else self._local.stuck_s(volume)
        if stuck_s is not None:
            reason = f"no answer for {stuck_s:.0f} s"
            return dict(disk, state="stuck", state_reason=reason, **silent(reason))
        numbers = volume.numbers
        if numbers is None:
            return dict(disk, state="stuck", state_reason="not sampled yet", **silent("not sampled yet"))
        if "error" in numbers:
            return dict(disk, state="error", state_reason=numbers["error"], **silent(numbers["error"]))
        return dict(disk, **self._measured(mount, numbers)) if numbers["total"] else None

    def _measured(self, mount: Mount, numbers: dict[str, Any]) -> dict[str, Any]:
        available, limited_by = self._usable(mount, numbers["available"])
        state, reason = state_of(mount, numbers, available)
        if state != "read_only":
            self._writable.add(mount.path)
        elif not reason and mount.path in self._writable:
            reason = "was writable before"
        inodes = numbers["inodes"]
        return {
            "total_bytes": numbers["total"],
            "available_bytes": available,
            "reserved_bytes": numbers["reserved"],
            "inodes_free": unknown("n/a: this file system has no fixed number") if inodes is None else inodes,
            "read_only": state == "read_only",
            "state": state,
            "state_reason": reason,
            "limited_by": limited_by,
        }

    def _usable(self, mount: Mount, available: int) -> tuple[int, str]:
        limits = [(available, "")]
        if mount.is_ram:
            limits += [(most, name) for name, most in ram_limits()]
        left = self._quotas.left(mount.source)
        if left is not None:
            limits.append((left, "quota"))
        return min(limits)


def _key(mount: Mount) -> tuple[str, str]:
    return mount.device_id, mount.path
