"""The disk cases of the real world, on a shim that plays mounts and file systems."""

from __future__ import annotations

import errno
import os
from pathlib import Path

from console.events.host import Disk, DisksSampled
from console.values import Unknown, known
from tests.support.agent import Watched, gone, watched
from tests.support.fakes import Disks

GB = 10**9


async def sampled(box: Watched) -> dict[str, Disk]:
    fact = await box.until(DisksSampled)
    assert known(fact.disks)
    return {disk.mount: disk for disk in fact.disks}


async def one_sample(disks: Disks) -> dict[str, Disk]:
    async with watched(disks.env()) as box:
        return await sampled(box)


async def test_what_a_user_can_use_is_bavail_in_fragments(disks: Disks) -> None:
    disks.mount("/data", "ext4", "/dev/sdb", "8:16")
    disks.answer("/data", total=270 * GB, available=57 * GB, unused=219 * GB, inodes=(1000, 900))
    data = (await one_sample(disks))["/data"]
    assert (data.total_bytes, data.available_bytes) == (270 * GB // 4096 * 4096, 57 * GB // 4096 * 4096)
    assert data.reserved_bytes == 219 * GB // 4096 * 4096 - 57 * GB // 4096 * 4096
    assert (data.inodes_free, data.state, data.read_only, data.device) == (900, "ok", False, "/dev/sdb")


async def test_one_row_a_device_at_its_own_root(disks: Disks) -> None:
    disks.mount("/srv/cache/models", "ext4", "/dev/sdb", "8:16", root="/models")  # bind mounts of a part
    disks.mount("/m", "ext4", "/dev/sdb", "8:16", root="/models")
    disks.mount("/data/disk", "ext4", "/dev/sdb", "8:16")
    disks.answer("/data")
    disks.mount("/home", "btrfs", "/dev/sdc", "0:40", root="/@home")
    disks.mount("/snap shots", "btrfs", "/dev/sdc", "0:40", root="/@snapshots")
    disks.mount("/tank/a", "zfs", "tank/a", "0:50")
    disks.mount("/tank/b", "zfs", "tank/b", "0:51")
    for path in ("/home", "/tank"):
        disks.answer(path)
    found = await one_sample(disks)
    assert found.keys() == {"/", "/data/disk", "/home", "/tank/a"}
    assert found["/data/disk"].other_mounts == ("/m", "/srv/cache/models")
    assert (found["/home"].fstype, found["/home"].other_mounts) == ("btrfs", ("/snap shots",))
    assert (found["/tank/a"].device_id, found["/tank/a"].other_mounts) == ("zfs:tank", ("/tank/b",))


async def test_what_is_no_disk_is_left_out(disks: Disks) -> None:
    for path, fstype in [("/proc", "proc"), ("/sys/fs/bpf", "bpf"), ("/run/user/0", "tmpfs"), ("/tmp", "tmpfs"),
                         ("/boot/efi", "vfat"), ("/snap/core/1", "squashfs"), ("/net", "autofs"),
                         ("/var/lib/docker/overlay2/x/merged", "overlay"), ("/empty", "ext4")]:  # fmt: skip
        disks.mount(path, fstype, fstype, f"0:{len(path)}")
        disks.answer(path)
    disks.answer("/empty", total=0, available=0)
    disks.mount("/", "overlay", "overlay", "0:99")  # a container's root lies over the other one
    found = await one_sample(disks)
    assert [(mount, disk.fstype) for mount, disk in found.items()] == [("/", "overlay")]


async def test_file_systems_without_a_number_of_inodes(disks: Disks) -> None:
    disks.mount("/data", "btrfs", "/dev/sdb", "0:40")
    disks.answer("/data", inodes=(0, 0))
    inodes = (await one_sample(disks))["/data"].inodes_free
    assert isinstance(inodes, Unknown)
    assert inodes.reason.startswith("n/a")


async def test_full_and_read_only(disks: Disks) -> None:
    disks.mount("/full", "ext4", "/dev/a", "8:16")
    disks.answer("/full", available=0, unused=5 * GB)
    disks.mount("/names", "ext4", "/dev/b", "8:32")
    disks.answer("/names", inodes=(100, 0))
    disks.mount("/ro", "ext4", "/dev/c", "8:48", own="ro", super="ro")
    disks.answer("/ro", flags=1)
    found = await one_sample(disks)
    assert [(found[path].state, found[path].state_reason) for path in ("/full", "/names", "/ro")] == [
        ("full", ""),
        ("full", "no inodes left"),
        ("read_only", ""),
    ]
    assert found["/ro"].read_only


async def test_a_disk_that_turns_read_only_is_told_with_the_reason(disks: Disks) -> None:
    disks.mount("/data", "ext4", "/dev/sdb", "8:16")
    disks.answer("/data")
    async with watched(disks.env()) as box:
        assert (await sampled(box))["/data"].state == "ok"
        box.forget()
        disks.remount("/data", "rw", "ro")
        disks.answer("/data", flags=1)
        await box.agent.request("probe", name="disks", now=True)
        data = (await sampled(box))["/data"]
    assert (data.state, data.read_only) == ("read_only", True)
    assert "errors=remount-ro" in data.state_reason


async def test_errors_are_states(disks: Disks) -> None:
    disks.mount("/gone", "ext4", "/dev/sdb", "8:16")
    disks.fail("/gone", errno.EIO)
    disks.mount("/nfs", "nfs4", "server:/x", "0:60")
    disks.fail("/nfs", errno.ESTALE)
    found = await one_sample(disks)
    assert (found["/gone"].state, found["/gone"].state_reason) == ("error", "Input/output error")
    assert found["/nfs"].state == "error"
    assert "stale handle" in found["/nfs"].state_reason
    assert not known(found["/nfs"].available_bytes)


async def test_a_dead_nfs_server_stops_nothing_and_gets_one_question(disks: Disks) -> None:
    disks.mount("/nfs/dead", "nfs", "server:/x", "0:60")
    disks.hang("/nfs/dead")
    disks.mount("/nfs/well", "nfs", "server:/y", "0:61")
    disks.answer("/nfs/well")
    disks.mount("/fuse", "fuse.s3fs", "bucket", "0:62")
    disks.hang("/fuse")
    async with watched(disks.env()) as box:
        first = await sampled(box)
        box.forget()
        await box.agent.request("probe", name="disks", now=True)
        again = await sampled(box)
        children = _children(box.agent.hello["pid"])
    for child in children:
        assert await gone(child)
    paths = ("/", "/nfs/dead", "/nfs/well", "/fuse")
    for found in (first, again):
        assert [found[path].state for path in paths] == ["ok", "stuck", "ok", "stuck"]
    assert "no answer for" in again["/nfs/dead"].state_reason
    assert again["/nfs/dead"].is_network
    assert len(children) == 3  # two that hang, and the guard of all


def _children(pid: int) -> list[int]:
    found = [path.read_text() for path in Path(f"/proc/{pid}/task").glob("*/children")]
    return [int(child) for text in found for child in text.split()]


async def test_a_local_disk_that_hangs_stops_nothing(disks: Disks) -> None:
    disks.mount("/bad", "ext4", "/dev/sdb", "8:16")
    disks.hang("/bad")
    disks.mount("/good", "ext4", "/dev/sdc", "8:32")
    disks.answer("/good")
    found = await one_sample(disks)
    assert [found[path].state for path in ("/", "/bad", "/good")] == ["ok", "stuck", "ok"]


async def test_shared_memory_is_ram(disks: Disks) -> None:
    disks.mount("/dev/shm", "tmpfs", "tmpfs", "0:27")
    disks.answer("/dev/shm", total=64 * GB, available=64 * GB)
    disks.file("/proc/meminfo", "MemTotal: 62500000 kB\nMemAvailable: 20000000 kB\n")
    disks.file("/proc/self/cgroup", "0::/none\n")
    shm = (await one_sample(disks))["/dev/shm"]
    assert (shm.is_ram, shm.available_bytes, shm.limited_by) == (True, 20_000_000 * 1024, "MemAvailable")


async def test_shared_memory_counts_against_the_cgroup(disks: Disks) -> None:
    disks.mount("/dev/shm", "tmpfs", "tmpfs", "0:27")
    disks.answer("/dev/shm", total=64 * GB, available=64 * GB)
    disks.file("/proc/self/cgroup", "0::/box/agent\n")
    disks.file("/sys/fs/cgroup/box/agent/memory.max", "max\n")
    disks.file("/sys/fs/cgroup/box/agent/memory.current", f"{2 * GB}\n")
    disks.file("/sys/fs/cgroup/box/memory.max", f"{9 * GB}\n")
    disks.file("/sys/fs/cgroup/box/memory.current", f"{8 * GB}\n")
    shm = (await one_sample(disks))["/dev/shm"]
    assert (shm.available_bytes, shm.limited_by) == (1 * GB, "memory cgroup")


async def test_a_quota_is_what_is_left(disks: Disks, tmp_path: Path) -> None:
    disks.mount("/data", "ext4", "/dev/sdb", "8:16")
    disks.answer("/data")
    quota = tmp_path / "bin" / "quota"
    quota.parent.mkdir()
    quota.write_text(
        "#!/bin/sh\necho 'Disk quotas for user x (uid 0):'\n"
        "echo ' Filesystem  blocks   quota   limit   grace   files   quota   limit   grace'\n"
        "echo ' /dev/sdb  3000000*  2000000  4000000   6days     100       0       0        '\n"
    )
    quota.chmod(0o755)
    env = {**disks.env(), "PATH": f"{quota.parent}:{os.environ['PATH']}"}
    async with watched(env) as box:
        data = (await sampled(box))["/data"]
    assert (data.available_bytes, data.limited_by) == (1_000_000 * 1024, "quota")
