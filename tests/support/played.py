"""A session played from facts, for screens: no box, a clock that stands still."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime

from console.events import Event, Stamped
from console.events.host import Disk, DisksSampled, GpuGauges, GpuIdentity, GpusIdentified, GpusSampled
from console.events.link import HeartbeatHeard, LinkChanged, NoteWritten, PingAnswered
from console.journal import new_header
from console.session.protocol import HostChoice
from console.state import HostState, State, reduce
from console.values import CleanText, Unknown

STARTED = datetime(2026, 1, 31, 22, 15, 4, tzinfo=UTC)
GIB = 1 << 30


class Controls:
    """Keeps what the screen asked for."""

    def __init__(self, session: PlayedSession, choices: Sequence[HostChoice] = ()) -> None:
        self._session, self._choices = session, choices
        self.asked: list[tuple[str, str]] = []
        self.refusing = ""

    def start(self) -> None:
        self.asked.append(("start", ""))

    def publish(self, event: Event) -> None:
        self._session.tell(event)

    def note(self, text: CleanText, host: str) -> str:
        if not self.refusing:
            self.publish(NoteWritten(text=text, host=host))
        return self.refusing

    def again(self, host: str) -> None:
        self.asked.append(("again", host))

    async def choices(self) -> AsyncIterator[Sequence[HostChoice]]:
        yield self._choices

    def open_host(self, name: str) -> None:
        self.asked.append(("open", name))
        self._session.state.hosts[name] = HostState(name)

    def accept_host_key(self, host: str) -> None:
        self.asked.append(("accept", host))

    def check_recipe(self, host: str, recipe: str, accept: tuple[str, ...] = ()) -> str:
        self.asked.append(("check", recipe))
        return ""

    def recipe_names(self) -> Sequence[str]:
        return ["k26-tp8", "k26-ep4"]

    def recipe_problem(self) -> str:
        return ""

    def change_job(self, host: str, action: str, job_id: str) -> str:
        self.asked.append((action, job_id))
        return self.refusing

    def watch_runs(self) -> None:
        self.asked.append(("watch", "runs"))

    def bench(self, host: str, server: str, preset: str, concurrency: tuple[int, ...] = ()) -> str:
        users = ",".join(map(str, concurrency))
        self.asked.append(("bench", f"{server} {preset} {users}"))
        return ""

    def shell_command(self, host: str) -> Sequence[str]:
        return ["true"]


class PlayedSession:
    """A live session as far as a screen can tell; `tell` adds facts at the moment `t`."""

    def __init__(self, *events: Event, hosts: Sequence[str] = (), choices: Sequence[HostChoice] = ()) -> None:
        self.header = new_header("0.1.0", tuple(hosts), STARTED)
        self.state = State(hosts={name: HostState(name) for name in hosts})
        self.controls = Controls(self, choices)
        self.read_only = self.demo = False
        self.recording = ""
        self.t = 0.0
        self.events: list[Event] = []
        for event in events:
            self.tell(event)

    def tell(self, event: Event) -> None:
        self.events.append(event)
        reduce(self.state, Stamped(self.state.seq + 1, self.t, event))

    def now(self) -> float:
        return self.t


def link_up(host: str = "ct200") -> list[Event]:
    return [
        LinkChanged(host=host, state="connecting"),
        LinkChanged(host=host, state="up", via=(CleanText("root@bastion"),)),
        HeartbeatHeard(host=host, skew_s=0.0),
        PingAnswered(host=host, rtt_s=0.012),
    ]


def gpus(host: str = "ct200", count: int = 8, **fields: object) -> list[Event]:
    """Identities and one sample; a healthy, full box unless fields say otherwise."""
    identities = tuple(
        GpuIdentity(
            index=index, uuid=CleanText(f"GPU-{index}"), pci_bus_id=CleanText(f"0000:{index:02x}:00.0"),
            name=CleanText("NVIDIA RTX PRO 6000"), memory_total_bytes=97887 << 20, power_limit_w=600.0,
        )
        for index in range(count)
    )  # fmt: skip
    driver = CleanText("580.95.05")
    identified = GpusIdentified(host=host, gpus=identities, driver_version=driver, cuda_version=CleanText("13.0"))
    return [identified, GpusSampled(host=host, gpus=tuple(gauges(index, **fields) for index in range(count)))]


def gauges(index: int, **fields: object) -> GpuGauges:
    values: dict[str, object] = {
        "state": "ok", "memory_used_bytes": 86 * GIB, "memory_reserved_bytes": GIB // 2, "memory_free_bytes": 9 * GIB,
        "util_pct": 93 + index % 5, "power_w": 402.0 + index, "temperature_c": 62 + index, "sm_clock_mhz": 2100,
        "throttle": ("power_cap",),
    }  # fmt: skip
    return GpuGauges(uuid=CleanText(f"GPU-{index}"), **(values | fields))  # type: ignore[arg-type]


def disk(mount: str, available: int | Unknown, total: int = 10**12, **fields: object) -> Disk:
    values: dict[str, object] = {
        "device": CleanText("/dev/vda1"), "fstype": CleanText("ext4"), "reserved_bytes": 0, "inodes_free": 10**6,
        "read_only": False, "is_ram": False, "state": "ok",
    }  # fmt: skip
    return Disk(mount=CleanText(mount), total_bytes=total, available_bytes=available, **(values | fields))  # type: ignore[arg-type]


def disks(host: str = "ct200") -> list[Event]:
    return [
        DisksSampled(
            host=host,
            disks=(
                disk("/", 12 * 10**9, 600 * 10**9, state="full"),
                disk("/data", 593 * 10**9, 1_600 * 10**9),
                disk("/dev/shm", 200 * 10**9, 200 * 10**9, fstype=CleanText("tmpfs"), is_ram=True),
            ),
        )
    ]
