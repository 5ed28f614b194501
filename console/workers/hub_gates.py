"""The gates that rest on the Hub, from what was looked at: access and remote code a repository, disk a device."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import msgspec

from console.events.host import Disk
from console.gates.disk import Claims, Device, Need, disk_gate, join
from console.gates.disk import Place as DiskPlace
from console.gates.gate import Gate
from console.gates.remote_code import remote_code_gate
from console.models.config import ModelConfig, parse_config
from console.state import HostState
from console.values import Unknown, known
from console.workers.hub import Looked
from console.workers.repository import Listing

MOST_WAYS = 3


def hub_gates(
    looks: Sequence[Looked], host: HostState, *, trusted: bool, accepted: Collection[str] = ()
) -> tuple[Gate, ...]:
    """Access of every repository, its code, and the disk of every device that something must go to."""
    access = [looked.gate for looked in looks]
    code = [gate for looked in looks if (gate := _code_gate(looked, trusted, accepted))]
    return (*access, *code, *disk_gates(looks, host))


def config_of(looked: Looked) -> ModelConfig | Unknown:
    """The configuration at the commit that was looked at."""
    text = looked.texts.get("config.json")
    return parse_config(text) if text is not None else Unknown(f"config.json was not read: {looked.access.access}")


def listing_of(looked: Looked) -> Listing:
    """What the memory check needs of a repository that is not on the box yet."""
    sizes = [file.size_bytes for file in looked.manifest.files] if looked.manifest else []
    total: int | Unknown = sum(size for size in sizes if known(size))
    if looked.manifest is None:
        total = Unknown(f"the Hub did not list it: {looked.access.access}")
    unsized = next((size for size in sizes if not known(size)), total)
    return Listing(config=config_of(looked), total_bytes=unsized)


def _code_gate(looked: Looked, trusted: bool, accepted: Collection[str]) -> Gate | None:
    """None without a manifest: what is not known is the access gate's to say."""
    config, manifest = config_of(looked), looked.manifest
    if manifest is None or not known(config):
        return None
    return remote_code_gate(manifest.repo, manifest.commit, manifest.code, config.code_files, trusted, accepted)


def disk_gates(looks: Sequence[Looked], host: HostState) -> tuple[Gate, ...]:
    """One gate a device; a directory of the box needs none, and what the Hub did not list is the access gate's."""
    groups: dict[str, list[Looked]] = {}
    for looked in looks:
        if looked.disk is not None and looked.manifest is not None:
            groups.setdefault(looked.disk.device or looked.disk.path, []).append(looked)
    return tuple(_device_gate(group, host) for group in groups.values())


def _device_gate(group: Sequence[Looked], host: HostState) -> Gate:
    disk = group[0].disk
    assert disk is not None
    device = Device(
        key=disk.device,
        mount=disk.mount,
        fstype=disk.fstype,
        available_bytes=disk.available_bytes,
        quota_free_bytes=disk.quota_free_bytes if known(disk.quota_free_bytes) else None,
        inodes_free=disk.inodes_free if known(disk.inodes_free) else None,
        read_only=disk.read_only,
        is_ram=disk.is_ram,
        problem=disk.problem,
    )
    gate = disk_gate(
        DiskPlace(
            names=tuple(looked.access.repo for looked in group),
            need=join([_need(looked) for looked in group]),
            device=device,
            claims=_claims(group),
            parts=tuple((looked.access.repo, _need(looked)) for looked in group),
            others=_others(host, disk.mount),
            deletable=_deletable(host, group),
        )
    )
    return _unusable(group) or gate


def _need(looked: Looked) -> Need:
    assert looked.manifest is not None
    sizes = tuple(file.size_bytes for file in looked.manifest.files)
    return Need(sizes=sizes, have_bytes=looked.have_bytes, missing_files=looked.missing_files)


def _claims(group: Sequence[Looked]) -> Claims:
    """Others' claims are the same for the whole device, leftovers are each target's own."""
    orphans = sum(looked.claims.orphan_bytes for looked in group)
    return msgspec.structs.replace(group[0].claims, orphan_bytes=orphans)


def _unusable(group: Sequence[Looked]) -> Gate | None:
    """A target that is a file, or that this user may not write to, blocks whatever the space."""
    for looked in group:
        disk = looked.disk
        assert disk is not None
        problem = ""
        if disk.is_dir is False:
            problem = f"{disk.path} is a file, or a file stands in its way."
        elif disk.writable is False and not disk.read_only and looked.missing_files:
            problem = f"{disk.path} cannot be written by this user."
        if problem:
            return Gate(
                name="disk", verdict="block", state="no", subject=disk.path, sentence=problem,
                way_out=("Choose another directory (--dir, --path).",),
            )  # fmt: skip
    return None


def _others(host: HostState, mount: str) -> tuple[tuple[str, int], ...]:
    disks: Sequence[Disk] = host.hardware.disks if known(host.hardware.disks) else ()
    usable = [
        (str(disk.mount), disk.available_bytes)
        for disk in disks
        if known(disk.available_bytes) and disk.mount != mount and disk.state == "ok" and not disk.read_only
    ]
    return tuple(sorted(usable, key=lambda item: -item[1])[:MOST_WAYS])


def _deletable(host: HostState, group: Sequence[Looked]) -> tuple[tuple[str, int], ...]:
    """The largest stored models of the device that nobody has open and nobody asked for."""
    wanted = {looked.stored.path for looked in group if looked.stored}
    device = next((looked.stored.device for looked in group if looked.stored), "")
    models = host.hub.inventory if known(host.hub.inventory) else ()
    free = [
        (str(model.path), model.size_bytes)
        for model in models
        if model.device == device and model.path not in wanted and not model.open_by
    ]
    return tuple(sorted(free, key=lambda item: -item[1])[:MOST_WAYS])
