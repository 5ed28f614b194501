"""The NEXT line: the order in which facts block, and what takes a fact out of it."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import NamedTuple

import pytest

from console.events import Event, Stamped
from console.events.alerts import AlertsAcknowledged
from console.events.host import DisksSampled, GpuProcess, GpuProcesses, GpuProcessesSampled, GpusSampled, XidReported
from console.events.hub import AccessChecked, DownloadProgressed
from console.events.jobs import JobsSampled
from console.events.link import HeartbeatHeard, HostKeyChanged, LinkChanged
from console.events.plan import PlanChecked, PlanStarted
from console.events.serve import DeployStepped, Server, ServerEnded, ServerProved, ServersSampled
from console.state import HostState, State, reduce
from console.values import CleanText, Unknown
from console.views.next import next_step, next_steps
from tests.support.job_facts import job
from tests.support.played import GIB, disk, disks, gauges, gpus, link_up

HOST = "ct200"
NOW = 100.0
NONE = Unknown("not told")


def box(*events: Event, t: float = 0.0, state: State | None = None) -> State:
    state = state or State()
    for event in events:
        reduce(state, Stamped(state.seq + 1, t, event))
    return state


def words(state: State, now: float = NOW) -> str:
    return next_step(state.hosts[HOST], now).sentence


def server(name: str = "s1", owner: str = "ours", pid: int = 5000) -> Server:
    return Server(
        id=CleanText(name), pid=pid, start=1, started_s=1.0, boot_id=CleanText("b"), owner=owner,  # type: ignore[arg-type]
        job=CleanText(""), user=CleanText("root"), argv=(CleanText("sglang"),), cwd=NONE, unit=CleanText(""),
        unit_scope=CleanText(""), container=CleanText(""), log_path=NONE, processes=(pid + 1,),
        address=CleanText("127.0.0.1"), port=30000, listening=True,
    )  # fmt: skip


def runs(*servers: Server) -> Event:
    return ServersSampled(host=HOST, servers=servers)


def held_by(pid: int, job: str = "") -> Event:
    process = GpuProcess(
        pid=pid, user=CleanText("bob"), command=CleanText("python train.py"), memory_bytes=40 * GIB, job=CleanText(job)
    )
    return GpuProcessesSampled(host=HOST, gpus=(GpuProcesses(uuid=CleanText("GPU-3"), processes=(process,)),))


def gated(repo: str = "z-lab/drafter") -> Event:
    return AccessChecked(
        host=HOST, repo=CleanText(repo), access="request_needed", commit=NONE, status=403, error=CleanText(""),
        text=CleanText(""), who=CleanText("alice"), token_source=CleanText("file"), endpoint=CleanText("https://hub"),
        proxy=CleanText(""), retry_after_s=NONE, revision=CleanText("main"), probe=CleanText("config.json"),
        origin="box",
    )  # fmt: skip


def plan(recipe: str = "r1", draft: str = "z-lab/drafter") -> list[Event]:
    return [PlanStarted(host=HOST, recipe=CleanText(recipe), model=CleanText("org/model"), draft=CleanText(draft))]


def downloading(present: int) -> Event:
    return DownloadProgressed(
        host=HOST, job=CleanText("d1"), repo=CleanText("org/model"), path=CleanText("/data/model"),
        phase="downloading", total_bytes=10**12, present_bytes=present, rate_bytes_s=0.0, eta_s=NONE, files=64,
        files_ok=3,
    )  # fmt: skip


def crashed() -> Event:
    return ServerEnded(
        host=HOST, server=CleanText("s1"), phase="crashed", kind=CleanText("oom"), cause=CleanText("out of memory"),
        cause_phase="weights", advice=(), exit_code=1, signal=None,
    )  # fmt: skip


def filling(available: int) -> list[Stamped]:
    return [
        Stamped(0, float(t), DisksSampled(host=HOST, disks=(disk("/data", available - 10**9 * t),)))
        for t in range(0, 65, 5)
    ]


class Trouble(NamedTuple):
    """One fact that blocks, what NEXT says of it, and the key that leads on."""

    name: str
    tell: Callable[[State], object]
    word: str
    key: str


def lost() -> Event:
    readings = [gauges(index) for index in range(8)]
    readings[5] = gauges(5, state="lost", state_reason=CleanText("it has fallen off the bus"))
    return GpusSampled(host=HOST, gpus=tuple(readings))


def changed_key() -> Event:
    return HostKeyChanged(
        host=HOST, target=CleanText("10.0.0.1:22"), known_fingerprint=CleanText("SHA256:a"),
        shown_fingerprint=CleanText("SHA256:b"), file=CleanText("known_hosts"), line=7,
    )  # fmt: skip


def fills(state: State) -> None:
    for stamped in filling(400 * 10**9):
        box(stamped.event, t=stamped.t, state=state)


# In the order in which they block, the link and its key apart: with those nothing else is known.
TROUBLES = (
    Trouble("GPU lost", lambda state: box(lost(), state=state), "GPU 5 lost", "2"),
    Trouble("server crashed", lambda state: box(runs(server()), crashed(), runs(), state=state), "out of memory", "5"),
    Trouble("gate blocks", lambda state: box(*plan(), gated(), state=state), "is gated", "3"),
    Trouble("disk fills", fills, "disk /data full in", "2"),
    Trouble("foreign user", lambda state: box(held_by(777), state=state), "bob:train.py (pid 777)", "2"),
    Trouble("stale", lambda state: box(LinkChanged(host=HOST, state="stale"), state=state), "no sign of life", ""),
    Trouble("download stalls", lambda state: box(downloading(5), state=state), "no byte for", "3"),
    Trouble(
        "deploy",
        lambda state: box(
            DeployStepped(
                host=HOST, recipe=CleanText("r2"), step="download", state="running", sentence=CleanText("org/model")
            ),
            state=state,
        ),
        "deploy r2: download",
        "3",
    ),
)


def healthy() -> State:
    return box(*link_up(), *gpus(), runs())


@pytest.mark.parametrize("trouble", TROUBLES, ids=lambda one: one.name)
def test_each_fact_alone_is_next_with_the_key_that_leads_on(trouble: Trouble) -> None:
    state = healthy()
    assert words(state, 5.0) == "nothing blocks"
    trouble.tell(state)
    step = next_step(state.hosts[HOST], NOW)
    assert trouble.word in step.sentence
    assert step.key == trouble.key


@pytest.mark.parametrize(
    ("worse", "better"), list(itertools.combinations(TROUBLES, 2)), ids=lambda one: one.name.replace(" ", "-")
)
def test_of_two_facts_the_one_that_blocks_more_is_next(worse: Trouble, better: Trouble) -> None:
    state = healthy()
    better.tell(state)
    worse.tell(state)
    if worse.name != "stale":  # a link that is up again would clear it
        box(*gpus()[:1], state=state)
    sentences = [step.sentence for step in next_steps(state.hosts[HOST], NOW)]
    assert worse.word in sentences[0]
    assert any(better.word in sentence for sentence in sentences[1:])


def test_a_lost_gpu_stands_before_a_sick_one_and_a_sick_one_before_a_gate() -> None:
    readings = [gauges(index) for index in range(8)]
    readings[3] = gauges(3, throttle=(CleanText("hw_slowdown"),))
    sick = box(GpusSampled(host=HOST, gpus=tuple(readings)), *plan(), gated(), state=healthy())
    assert [step.sentence.startswith("GPU 3: slowed") for step in next_steps(sick.hosts[HOST], NOW)[:2]] == [
        True,
        False,
    ]
    readings[5] = gauges(5, state="lost", state_reason=CleanText("it has fallen off the bus"))
    both = box(GpusSampled(host=HOST, gpus=tuple(readings)), state=sick)
    assert [step.sentence[:5] for step in next_steps(both.hosts[HOST], NOW)[:2]] == ["GPU 5", "GPU 3"]


@pytest.mark.parametrize("trouble", TROUBLES, ids=lambda one: one.name)
def test_without_a_link_and_with_a_changed_key_nothing_else_is_next(trouble: Trouble) -> None:
    state = healthy()
    trouble.tell(state)
    box(LinkChanged(host=HOST, state="lost", sentence=CleanText("refused")), state=state)
    assert words(state) == "link lost: refused"
    box(LinkChanged(host=HOST, state="blocked", sentence=CleanText("key")), changed_key(), state=state)
    assert words(state).startswith("HOST KEY CHANGED")


def test_what_was_gated_before_stands_over_no_server_that_lives() -> None:
    state = box(*plan("old"), gated(), PlanChecked(host=HOST, recipe=CleanText("old"), verdict="block", exit_code=5),
                state=healthy())  # fmt: skip
    assert "is gated" in words(state)
    box(runs(server()), state=state)
    assert "is gated" not in words(state)
    box(ServerProved(host=HOST, server=CleanText("s1"), by="token"), state=state)
    assert words(state).startswith("READY")


def test_a_repository_of_another_recipe_is_not_the_plans() -> None:
    state = box(gated("old/drafter"), *plan("new", draft=""), state=healthy())
    assert "gated" not in words(state)


def test_processes_of_a_server_and_small_ones_are_no_strangers() -> None:
    state = box(runs(server(pid=776)), held_by(777), state=healthy())
    assert "bob" not in words(state)
    small = GpuProcess(pid=9, user=CleanText("x"), command=CleanText("Xorg"), memory_bytes=GIB // 4)
    few = GpuProcesses(uuid=CleanText("GPU-3"), processes=(small,))
    box(GpuProcessesSampled(host=HOST, gpus=(few,)), state=state)
    assert all("Xorg" not in step.sentence for step in next_steps(state.hosts[HOST], NOW))


def test_a_process_of_our_own_job_is_no_stranger() -> None:
    assert "bob" in words(box(held_by(777), state=healthy()))
    assert "bob" not in words(box(held_by(777, "bench-1"), state=healthy()))


def test_what_was_acknowledged_is_next_no_more_until_it_comes_again() -> None:
    state = box(*link_up(), *gpus(), runs(), *disks())
    assert "disk / full" in words(state, 5.0)
    box(AlertsAcknowledged(host=HOST, alerts=(CleanText("disk /"),)), t=6.0, state=state)
    assert words(state, 7.0) == "nothing blocks"
    fine = disk("/", 300 * 10**9)
    box(DisksSampled(host=HOST, disks=(fine,)), t=8.0, state=state)
    box(*disks(), t=200.0, state=state)
    assert "disk / full" in words(state, 5.0)


def test_an_xid_that_was_seen_is_next_no_more() -> None:
    error = XidReported(
        host=HOST, uuid=CleanText("GPU-3"), pci_bus_id=CleanText("0000:03:00.0"), xid=63, at=1000.0, source="nvml"
    )
    state = box(error, t=50.0, state=healthy())
    assert words(state, 51.0).startswith("Xid 63 on GPU 3")
    (about,) = [name for name in state.hosts[HOST].alerts.current if name.startswith("xid")]
    box(AlertsAcknowledged(host=HOST, alerts=(CleanText(about),)), t=52.0, state=state)
    assert words(state, 60.0) == "nothing blocks"


def test_before_a_box_is_chosen() -> None:
    assert next_step(None, 0.0)[:3] == ("busy", "choose a host", "enter")
    assert isinstance(next_steps(HostState("x"), 0.0), list)


def test_a_reboot_and_a_wrong_clock_are_told() -> None:
    lost = job("serve-1", state="lost_reboot")
    old = job("bench-0", state="lost_reboot", created_s=0.0)
    state = box(*link_up(HOST), JobsSampled(host=HOST, jobs=(old, lost), older=0, now_s=86500.0))
    assert words(state) == "the box was started again while serve-1 ran: lost by the reboot"
    box(
        JobsSampled(host=HOST, jobs=(old,), older=0, now_s=86500.0), HeartbeatHeard(host=HOST, skew_s=-300), state=state
    )
    assert words(state).startswith("the box's clock is 5 min behind this one")
    box(HeartbeatHeard(host=HOST, skew_s=-30), state=state)
    assert words(state) == "nothing blocks"
