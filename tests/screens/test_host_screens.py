"""What is wrong with GPUs and disks, on the overview and on the host screen, at the sizes they are designed for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
from textual.pilot import Pilot

from console.app import ConsoleApp
from console.events import Event, HostEvent
from console.events.host import (
    Disk,
    DisksSampled,
    GpuProcess,
    GpuProcesses,
    GpuProcessesSampled,
    GpusIdentified,
    GpusSampled,
    MigDevice,
    XidReported,
)
from console.events.link import HeartbeatHeard
from console.values import CleanText, Unknown
from tests.support import gpu_facts
from tests.support.frames import check_frame, frame
from tests.support.gpu_facts import GIB, health, identity
from tests.support.played import PlayedSession, disk, disks, gauges, gpus, link_up

FRAMES = Path(__file__).parent / "frames"
SIZES = [(80, 24), (120, 40)]
MIG_ON = Unknown("n/a: MIG is on")


def at_ct200(event: HostEvent) -> HostEvent:
    return msgspec.structs.replace(event, host="ct200")


def silent(index: int, state: str, reason: str) -> Any:
    nothing = dict.fromkeys(
        ("memory_used_bytes", "memory_reserved_bytes", "memory_free_bytes", "util_pct", "power_w", "temperature_c",
         "sm_clock_mhz", "throttle", "memory_util_pct"), Unknown(state),
    )  # fmt: skip
    return gauges(index, state=state, state_reason=CleanText(reason), **nothing)


def processes(*owners: tuple[str, str] | None) -> HostEvent:
    """One process a GPU; None is one of another namespace."""
    hidden = Unknown("not visible here (other namespace or user)")
    listed = tuple(
        GpuProcess(
            pid=4000 + index, user=CleanText(owner[0]) if owner else hidden,
            command=CleanText(owner[1]) if owner else hidden, memory_bytes=86 * GIB,
        )
        for index, owner in enumerate(owners)
    )  # fmt: skip
    by_gpu = tuple(GpuProcesses(uuid=CleanText(f"GPU-{i}"), processes=(one,)) for i, one in enumerate(listed))
    return GpuProcessesSampled(host="ct200", gpus=by_gpu)


def sick() -> list[tuple[float, Event]]:
    """A box where each GPU has another trouble."""
    scheduler = ("root", "sglang::scheduler_TP0")
    readings = [
        gauges(0, util_pct=100, power_w=96.0, memory_util_pct=0),
        gauges(1, throttle=("thermal",), temperature_c=87),
        gauges(2, throttle=("power_cap", "hw_slowdown")),
        silent(3, "lost", "the GPU has fallen off the bus"),
        silent(4, "hung", "no answer for 45 s"),
        gauges(5),
        gauges(6),
        gauges(7),
    ]
    sampled = GpusSampled(host="ct200", gpus=tuple(readings))
    conditions = [health(index) for index in range(8)]
    conditions[5] = health(5, pcie_width=8)
    conditions[6] = health(6, ecc_uncorrected=2, remap_pending=True, recovery_action=CleanText("reset the GPU"))
    xid = XidReported(
        host="ct200", uuid=CleanText("GPU-3"), pci_bus_id=CleanText("0000:03:00.0"), xid=79, at=1769897731.0,
        source="kernel",
    )  # fmt: skip
    first: list[Event] = [*link_up(), *gpus(), processes(*[scheduler] * 7, None)]
    first += [at_ct200(gpu_facts.healthy(*conditions)), xid]
    first += [at_ct200(gpu_facts.topology(8, nvlink=False, path="NODE", iommu=CleanText("on")))]
    return [(0.0, event) for event in first] + [
        *((float(t), sampled) for t in range(1, 31)),
        (30.0, disks()[0]),
    ]


def chip() -> list[tuple[float, Event]]:
    """One GPU that shares the machine's memory, and one in MIG mode."""
    nothing = Unknown("n/a: unified memory, no PCIe link")
    links = dict.fromkeys(("pcie_gen", "pcie_gen_max", "pcie_width", "pcie_width_max", "pcie_replays"), nothing)
    parts = tuple(
        MigDevice(uuid=CleanText(f"MIG-{n}"), name=CleanText("MIG 3g.71gb"), memory_total_bytes=71 * GIB,
                  memory_used_bytes=n * GIB) for n in range(2)
    )  # fmt: skip
    listed = (
        identity(0, name=CleanText("NVIDIA GB10"), unified_memory=True, power_limit_w=Unknown("n/a: not supported")),
        identity(1, name=CleanText("NVIDIA H200"), mig_enabled=True, mig_devices=parts),
    )
    cannot = Unknown("n/a: not supported by this GPU")
    readings = (
        gauges(0, power_w=cannot, memory_reserved_bytes=cannot, memory_used_bytes=40 * GIB),
        gauges(1, util_pct=MIG_ON, memory_util_pct=MIG_ON, memory_used_bytes=Unknown("timeout"), throttle=()),
    )
    facts = [gpu_facts.identified(*listed), gpu_facts.healthy(health(0, **links), health(1))]
    events = [*link_up(), *map(at_ct200, facts), GpusSampled(host="ct200", gpus=readings), *disks()]
    return [(0.0, event) for event in events]


def no_driver() -> list[tuple[float, Event]]:
    reason = (
        "driver/library version mismatch (kernel module 580.95.05): the driver was upgraded under a running kernel; "
        "running jobs keep working; reboot before the next launch"
    )
    unknown = Unknown("not sampled yet")
    listed = GpusIdentified(host="ct200", gpus=Unknown(reason), driver_version=unknown, cuda_version=unknown)
    events = [*link_up(), listed, GpusSampled(host="ct200", gpus=Unknown(reason)), *disks()]
    return [(0.0, event) for event in events]


def full_disks() -> list[tuple[float, Event]]:
    no_answer = Unknown("no answer for 12 s")

    def sample(t: float) -> DisksSampled:
        listed: tuple[Disk, ...] = (
            disk("/data", int(504e9 + 0.6e9 * (30 - t)), 1600 * 10**9, device_id=CleanText("8:1")),
            disk("/", 300 * 10**9, 600 * 10**9, device_id=CleanText("8:2"), inodes_free=12),
            disk("/nfs", no_answer, no_answer, device_id=CleanText("0:9"), fstype=CleanText("nfs4"), state="stuck",
                 state_reason=CleanText("no answer for 12 s"), inodes_free=no_answer, is_network=True),
            disk("/scratch", 90 * 10**9, 100 * 10**9, device_id=CleanText("8:3"), read_only=True, state="read_only",
                 state_reason=CleanText("the file system turned read-only (errors=remount-ro)")),
            disk("/home", 40 * 10**9, 800 * 10**9, device_id=CleanText("8:4"), limited_by=CleanText("quota")),
            disk("/dev/shm", 200 * 10**9, 200 * 10**9, fstype=CleanText("tmpfs"), is_ram=True,
                 device_id=CleanText("0:3"), limited_by=CleanText("MemAvailable")),
        )  # fmt: skip
        return DisksSampled(host="ct200", disks=listed)

    first = [(0.0, event) for event in [*link_up(), *gpus()]]
    return [*first, *((float(t), sample(t)) for t in range(0, 31, 5)), (30.0, gpus()[1])]


SCENES = {"sick": sick, "chip": chip, "no-driver": no_driver, "full-disks": full_disks}


def played(scene: str) -> PlayedSession:
    """The scene at its end, when link and GPUs have just been heard again."""
    session = PlayedSession(hosts=["ct200"])
    events = SCENES[scene]()
    for t, event in [*events, (events[-1][0], HeartbeatHeard(host="ct200", skew_s=0.0))]:
        session.t = t
        session.tell(event)
    return session


async def look(app: ConsoleApp, pilot: Pilot[None]) -> str:
    """The screen as it is at rest."""
    await pilot.pause()
    app.tick()
    await pilot.pause()
    return frame(app)


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
@pytest.mark.parametrize("scene", SCENES)
async def test_the_overview_and_the_host_screen(scene: str, size: tuple[int, int]) -> None:
    app = ConsoleApp(played(scene))
    async with app.run_test(size=size) as pilot:
        check_frame(FRAMES / f"overview-{scene}-{size[0]}x{size[1]}.txt", await look(app, pilot))
        await pilot.press("2")
        check_frame(FRAMES / f"host-{scene}-{size[0]}x{size[1]}.txt", await look(app, pilot))


async def test_a_small_terminal_scrolls_to_every_pane_of_the_host_screen() -> None:
    words = {"health": "spin-hang", "links": "NCCL_P2P_DISABLE", "disks": "/dev/shm", "machine": "way"}
    app = ConsoleApp(played("sick"))
    seen = set()
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("2")
        for _ in range(8):
            await pilot.press("tab")
            pane = app.focused.id if app.focused else ""
            if pane in words and pane not in seen:
                seen.add(pane)
                assert words[pane] in await look(app, pilot), pane
    assert seen == words.keys()


async def test_a_large_terminal_has_every_pane() -> None:
    app = ConsoleApp(played("sick"))
    async with app.run_test(size=(200, 60)) as pilot:
        text = await look(app, pilot)
    assert len(text.splitlines()) == 60
    for title in ("GPUs", "Disks", "Fit", "Server", "Hugging Face", "Bench", "Jobs", "Log"):
        assert f"─ {title} " in text
    for word in ("SPIN?", "HOT", "SLOW", "LOST", "HUNG", "PCIE", "ECC", "not visible here"):
        assert word in text


async def test_arrows_and_tab_move_between_panes() -> None:
    app = ConsoleApp(played("sick"))
    steps = {"right": "disks", "down": "fit", "left": "gpus"}
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        app.screen.query_one("#gpus").focus()
        for key, pane in [*steps.items(), ("down", "server"), ("right", "hub"), ("left", "server"), ("up", "gpus")]:
            await pilot.press(key)
            await pilot.pause()
            assert app.focused is not None
            assert app.focused.id == pane, key
        await pilot.press("tab")
        assert app.focused is not None
        assert app.focused.id == "disks"
