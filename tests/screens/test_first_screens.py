"""The first screens as text, at the sizes they are designed for."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest

from console.app import ConsoleApp
from console.events import Event
from console.events.host import GpusSampled, ProbeStuck
from console.events.link import HostKeyAsked, HostKeyChanged, LinkChanged, NoteWritten, RecorderFailed, WorkerFailed
from console.session.player import Player
from console.session.replay import Replay
from console.values import CleanText, Unknown
from console.views.next import next_step
from console.views.notable import notable
from tests.support.frames import check_frame, frame
from tests.support.played import PlayedSession, disks, gauges, gpus, link_up

FRAMES = Path(__file__).parent / "frames"
RECORDING = Path(__file__).parents[1] / "recordings/first_light.jsonl"
SIZES = [(80, 24), (120, 40)]
HEALTHY = [*link_up(), *gpus(), *disks()]


class Choice(NamedTuple):
    name: str
    source: str
    way: str = ""


CHOICES = [
    Choice("ct200", "SSH config", "root@10.1.2.200"),
    Choice("local", "this machine", "no SSH"),
    Choice("demo", "loopback", "no GPU, no SSH needed"),
]


def lost(state: str, sentence: str) -> Event:
    return LinkChanged(host="ct200", state=state, sentence=CleanText(sentence), exit_code=3)  # type: ignore[arg-type]


def asked() -> Event:
    fingerprint = CleanText("SHA256:+RvbCHrraKbS00r3177irS5ceiICO89QIfnd9caVuBQ")
    return HostKeyAsked(
        host="ct200", target=CleanText("10.1.2.200:22"), algorithm=CleanText("ssh-ed25519"), fingerprint=fingerprint
    )


def changed() -> Event:
    return HostKeyChanged(
        host="ct200", target=CleanText("10.1.2.200:2201"), known_fingerprint=CleanText("SHA256:AAAA"),
        shown_fingerprint=CleanText("SHA256:BBBB"), file=CleanText("~/.ssh/known_hosts"), line=7,
    )  # fmt: skip


def one_lost() -> Event:
    readings = [gauges(index) for index in range(8)]
    nothing = Unknown("the GPU is lost")
    readings[5] = gauges(
        5, state="lost", state_reason=CleanText("the GPU has fallen off the bus"), util_pct=nothing, power_w=nothing,
        memory_used_bytes=nothing, memory_free_bytes=nothing, temperature_c=nothing, sm_clock_mhz=nothing,
        throttle=nothing,
    )  # fmt: skip
    readings[4] = gauges(4, throttle=("thermal",), temperature_c=87)
    return GpusSampled(host="ct200", gpus=tuple(readings))


SCENES: dict[str, list[Event]] = {
    "connecting": [LinkChanged(host="ct200", state="connecting")],
    "healthy": HEALTHY,
    "refused": [
        lost("lost", "10.1.2.200 port 22 refused the connection: the host is up, no SSH server listens there.")
    ],
    "gpu-lost": [*HEALTHY, one_lost()],
    "no-gpus": [*link_up(), GpusSampled(host="ct200", gpus=Unknown("nvmlInit has not answered for 5 s")), *disks()],
    "probe-stuck": [*HEALTHY[:-1], ProbeStuck(host="ct200", probe=CleanText("disks"), stuck_s=12.0)],
    "host-key-unknown": [lost("blocked", "The host key is not known."), asked()],
    "host-key-changed": [lost("blocked", "HOST KEY CHANGED"), changed()],
    "recorder-failed": [
        *HEALTHY,
        RecorderFailed(path=CleanText("r"), reason=CleanText("No space left on device")),
    ],
    "worker-failed": [*HEALTHY, WorkerFailed(task=CleanText("hub ct200"), reason=CleanText("KeyError: 'size'"))],
}


async def shown(session: PlayedSession, size: tuple[int, int], *keys: str, **looks: bool) -> str:
    app = ConsoleApp(session, **looks)
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        app.tick()
        await pilot.pause()
        if keys:
            await pilot.press(*keys)
            await pilot.pause()
            app.tick()
            await pilot.pause()
        return frame(app)


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
@pytest.mark.parametrize("scene", SCENES)
async def test_the_overview(scene: str, size: tuple[int, int]) -> None:
    text = await shown(PlayedSession(*SCENES[scene], hosts=["ct200"]), size)
    check_frame(FRAMES / f"{scene}-{size[0]}x{size[1]}.txt", text)


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
async def test_stale_values_stay_with_their_age(size: tuple[int, int]) -> None:
    session = PlayedSession(*HEALTHY, hosts=["ct200"])
    session.t = 14.0
    session.tell(LinkChanged(host="ct200", state="stale"))
    text = await shown(session, size)
    check_frame(FRAMES / f"stale-{size[0]}x{size[1]}.txt", text)
    assert "stale 14 s" in text
    assert "86.0/95.6" in text


async def test_without_a_link_no_pane_looks_fresh() -> None:
    session = PlayedSession(*HEALTHY, hosts=["ct200"])
    session.t = 4.0
    session.tell(LinkChanged(host="ct200", state="lost"))
    text = await shown(session, (120, 40))
    assert "GPUs  ◌ stale 4.0 s" in text
    assert "Disks  ◌ stale 4.0 s" in text


async def test_a_refused_key_that_is_pressed_again_says_so_once() -> None:
    session = PlayedSession(*HEALTHY, hosts=["ct200"])
    session.tell(LinkChanged(host="ct200", state="lost"))
    app = ConsoleApp(session)
    async with app.run_test(size=(120, 40), notifications=True) as pilot:
        await pilot.press("D", "S", "X", "D")
        await pilot.pause(0.1)
        assert frame(app).count("The link is lost: r connects again.") == 1


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
async def test_the_picker(size: tuple[int, int]) -> None:
    text = await shown(PlayedSession(choices=CHOICES), size)
    check_frame(FRAMES / f"picker-{size[0]}x{size[1]}.txt", text)


async def test_the_picker_opens_a_box() -> None:
    session = PlayedSession(choices=CHOICES)
    await shown(session, (80, 24), "down", "enter")
    assert ("open", "local") in session.controls.asked


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
async def test_the_host_screen_and_help(size: tuple[int, int]) -> None:
    for name, key in (("host", "2"), ("help", "question_mark")):
        text = await shown(PlayedSession(*HEALTHY, hosts=["ct200"]), size, key)
        check_frame(FRAMES / f"{name}-{size[0]}x{size[1]}.txt", text)


async def test_at_80x24_all_eight_gpus_the_worst_disk_link_and_next_are_there() -> None:
    text = await shown(PlayedSession(*HEALTHY, hosts=["ct200"]), (80, 24))
    for index in range(8):
        assert f" {index} " in text
        assert f"{93 + index % 5}%" in text
        assert f"{62 + index}°" in text
    for word in ("86.0/95.6", "NEXT", "up", "12.0 GB", "full"):
        assert word in text


async def test_ascii_is_ascii() -> None:
    text = await shown(PlayedSession(*HEALTHY, one_lost(), hosts=["ct200"]), (120, 40), ascii_only=True)
    assert text.isascii()
    check_frame(FRAMES / "ascii-120x40.txt", text)


async def test_two_boxes_are_switched_with_the_brackets() -> None:
    session = PlayedSession(*HEALTHY, *link_up("b2"), hosts=["ct200", "b2"])
    assert "[ct200] b2" in await shown(session, (120, 40))
    assert "ct200 [b2]" in await shown(session, (120, 40), "right_square_bracket")


async def test_read_only_shows_and_refuses() -> None:
    session = PlayedSession(*HEALTHY, hosts=["ct200"])
    session.read_only = True
    assert "read-only" in await shown(session, (120, 40))


async def test_a_demo_says_so() -> None:
    session = PlayedSession(*link_up("demo"), hosts=["demo"])
    session.demo = True
    assert " DEMO " in await shown(session, (80, 24))


async def test_a_note_goes_into_the_record() -> None:
    session = PlayedSession(*HEALTHY, hosts=["ct200"])
    await shown(session, (120, 40), "N", *"night", "enter")
    assert NoteWritten(text=CleanText("night"), host="ct200") in session.events


async def test_an_unknown_host_key_is_trusted_only_by_the_second_button() -> None:
    for keys, expected in ((("enter",), False), (("escape",), False), (("right", "enter"), True)):
        session = PlayedSession(*SCENES["host-key-unknown"], hosts=["ct200"])
        await shown(session, (120, 40), *keys)
        assert (("accept", "ct200") in session.controls.asked) is expected


async def test_a_changed_host_key_cannot_be_accepted() -> None:
    session = PlayedSession(*SCENES["host-key-changed"], hosts=["ct200"])
    text = await shown(session, (120, 40), "tab", "right", "enter")
    assert not [asked for asked in session.controls.asked if asked[0] == "accept"]
    assert "HOST KEY CHANGED" in text


@pytest.mark.parametrize("scene", ["host-key-unknown", "host-key-changed"])
async def test_the_key_beside_a_host_key_asks_the_box_again_when_its_dialog_was_left(scene: str) -> None:
    session = PlayedSession(*SCENES[scene], hosts=["ct200"])
    await shown(session, (120, 40), "escape", next_step(session.state.hosts["ct200"], 0.0).key)
    assert ("again", "ct200") in session.controls.asked


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
async def test_a_replay_is_played_with_keys_and_touches_nothing(size: tuple[int, int]) -> None:
    replay = Replay(RECORDING)
    player = Player(replay)
    player.paused = True
    player.find_marks(notable)  # else a thread does, some time after the first frame
    player.go_to(2.0)
    app = ConsoleApp(replay, player=player)
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        check_frame(FRAMES / f"replay-{size[0]}x{size[1]}.txt", frame(app))
        await pilot.press("n")
        await pilot.pause()
        assert "LOST" in frame(app)
        for key in ("N", "r", "exclamation_mark"):
            await pilot.press(key)
        assert player.paused
        await pilot.press("left_curly_bracket")
        assert replay.now() == 0.0
        await pilot.press("plus", "plus")
        assert player.speed == 4.0
        await pilot.press("space")
        assert not player.paused
