"""Screens 6 and 7 as text: a measurement in progress over the ghost of an earlier one, and the stored runs."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import msgspec
import pytest

from console.app import ConsoleApp
from console.bench.points import Percentiles, Point
from console.bench.store import Manifest, Note, RunStore
from console.cli.runs import rendered
from console.config import load_config
from console.events import Event
from console.events import bench as facts
from console.events.host import GpuProcess, GpuProcesses, GpuProcessesSampled
from console.events.link import NoteWritten
from console.session.live import LiveSession
from console.session.ways import Ways
from console.state import HostState
from console.values import CleanText, Unknown
from console.views.bench import cause_lines
from console.views.replay import replay_lines
from console.workers.runs_watch import RunsWatch
from tests.support.frames import check_frame, frame
from tests.support.played import PlayedSession, gpus, link_up
from widgets.chart import ChartView

FRAMES = Path(__file__).parent / "frames"
SIZES = [(80, 24), (120, 40)]
HOLDS = GpuProcess(pid=1, user=CleanText("u"), command=CleanText("sglang"), memory_bytes=1 << 36)
JOB, RUN = CleanText("bench-1"), CleanText("20261130T010203Z-k26-ep4-abcd")
SETUP = {
    "model_sha": "a1", "dataset_sha": "d1", "input_spec": "ids:1024", "output_spec": "fixed:256", "ignore_eos": True,
    "sampling": "temperature=0", "cache_preset": "cold", "load_mode": "closed", "prompt_format": "input_ids",
}  # fmt: skip


def a_manifest(run: str, recipe: str, **more: Any) -> Manifest:
    told: dict[str, Any] = {"setup": SETUP, "treatment": {"recipe": recipe}, **more}
    return Manifest(id=run, created="2026-11-30T01:02:03Z", recipe=recipe, preset="sweep", host="ct200", **told)


def a_point(users: int, rate: float, **more: Any) -> Point:
    return Point(
        users, 0, 60.0, 600, 0, rate, name=f"c{users:04d}-r0", output_tok_s_ci=(rate * 0.98, rate * 1.02),
        tok_s_gpu=rate / 8, user_tok_s=rate / users, ttft_ms=Percentiles(120.0, 260.0, 300.0),
        tpot_ms=Percentiles(1000 * users / rate, 20.0, 30.0), accept_length=3.41, **more,
    )  # fmt: skip


def tick(second: float, tok_s: float) -> Event:
    return facts.BenchTicked(
        host="ct200", job=JOB, point=CleanText("c0064-r0"), concurrency=64, elapsed_s=second, active=64, queued=0,
        done=130, failed=0, tok_s=tok_s, ttft_s=0.31, lag_p99_s=0.0012, cpu_ratio=0.18, server_running=48.0,
        server_queued=16.0, gen_tok_s=tok_s * 0.98, kv_ratio=0.41, power_w=3120.0,
    )  # fmt: skip


def measuring() -> list[Event]:
    points = [a_point(1, 97.9), a_point(8, 610.0), a_point(32, 1210.0, flags=("throttled",), causes=("too hot",))]
    ghost = [msgspec.to_builtins(a_point(users, rate)) for users, rate in ((1, 90.0), (8, 580.0), (64, 1400.0))]
    held = tuple(GpuProcesses(uuid=CleanText(f"GPU-{at}"), processes=(HOLDS,)) for at in range(2))
    events: list[Event] = [
        *link_up(),
        *gpus(count=2, util_pct=96),
        GpuProcessesSampled(host="ct200", gpus=held),
        facts.RunBegan(
            host="ct200", job=JOB, run=RUN, recipe=CleanText("k26-ep4"), preset=CleanText("sweep"),
            planned=tuple(CleanText(f"c{c:04d}-r0") for c in (1, 8, 32, 64, 256)),
            manifest=msgspec.to_builtins(a_manifest(RUN, "k26-ep4")),
        ),
        facts.EarlierRunFound(
            host="ct200", job=JOB, manifest=msgspec.to_builtins(a_manifest("old", "k26-tp8")), points=tuple(ghost)
        ),
    ]  # fmt: skip
    for point in points:
        events.append(facts.PointMeasured(host="ct200", job=JOB, run=RUN, point=msgspec.to_builtins(point)))
    events.append(
        facts.BenchStepReached(host="ct200", job=JOB, point=CleanText("c0064-r0"), step="window", elapsed_s=300.0)
    )
    return events + [tick(300.0 + i, 1500.0 + 40 * (i % 5)) for i in range(60) if not 20 < i < 28]


async def shown(session: PlayedSession, size: tuple[int, int], key: str) -> str:
    app = ConsoleApp(session)
    async with app.run_test(size=size) as pilot:
        await pilot.press(key)
        await pilot.pause()
        app.tick()
        await pilot.pause()
        return "\n".join(frame(app).splitlines()[2:-1])  # header, NEXT and footer have tests of their own


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
async def test_a_measurement_in_progress(size: tuple[int, int]) -> None:
    text = await shown(PlayedSession(*measuring(), hosts=["ct200"]), size, "6")
    check_frame(FRAMES / f"measuring-{size[0]}x{size[1]}.txt", text)


async def test_t_shows_the_numbers_of_the_charts_and_the_pictures_again() -> None:
    app = ConsoleApp(PlayedSession(*measuring(), hosts=["ct200"]))
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("6")
        await pilot.pause()
        picture = frame(app)
        await pilot.press("t")
        await pilot.pause()
        rows = [[word.strip("│") for word in line.split()] for line in frame(app).splitlines()]
        assert any(" ".join(row).strip().endswith("8 610 580") for row in rows)
        assert any("1210○" in row for row in rows)
        await pilot.press("t")
        await pilot.pause()
        assert frame(app) == picture


async def test_the_end_is_told_and_a_refusal_too() -> None:
    ended = facts.BenchEnded(host="ct200", job=JOB, run=RUN, sentence=CleanText("2 of 5 points were not measured"))
    refused = facts.BenchRefused(host="ct200", sentence=CleanText("random ids need the vocabulary"))
    text = await shown(PlayedSession(*measuring(), ended, refused, hosts=["ct200"]), (120, 40), "6")
    assert "2 of 5 points were not measured" in text
    assert "not measured: random ids need the vocabulary" in text


async def test_nothing_measured_says_how_to() -> None:
    text = await shown(PlayedSession(*link_up(), hosts=["ct200"]), (80, 24), "6")
    assert "B measures the running server" in text


def a_store(root: Path) -> RunStore:
    store = RunStore(root)
    for name, factor, mark in (("k26-tp8", 1.0, "baseline"), ("k26-ep4", 1.3, "")):
        created = "2026-11-30T01:00:00Z" if mark else "2026-11-30T05:30:00Z"
        told = a_manifest(f"run-{name}", name, machine={"driver": "580.95" if mark else "580.159"})
        store.create(msgspec.structs.replace(told, created=created))
        for repeat in range(3):
            store.add_point(f"run-{name}", msgspec.structs.replace(a_point(8, 600 * factor + repeat), repeat=repeat))
        if mark:
            store.add_note(f"run-{name}", Note("2026-11-30T02:00:00Z", "the quiet night", mark))
    return store


async def listed(root: Path) -> Event:
    """What the watch tells of a store."""
    told: asyncio.Future[Event] = asyncio.get_running_loop().create_future()
    task = asyncio.ensure_future(RunsWatch(root, told.set_result).run())
    event = await told
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    return event


async def test_the_watch_compares_with_the_marked_baseline(tmp_path: Path) -> None:
    a_store(tmp_path)
    event = await listed(tmp_path)
    assert isinstance(event, facts.RunsListed)
    newest, oldest = event.runs
    assert (newest.against, newest.recipe) == ("run-k26-tp8", "k26-ep4")
    assert any("faster" in line for line in newest.comparison)
    assert "  machine.driver: 580.95 → 580.159" in newest.comparison
    assert (oldest.mark, oldest.against) == ("baseline", "")


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
async def test_the_stored_runs(tmp_path: Path, size: tuple[int, int]) -> None:
    a_store(tmp_path)
    session = PlayedSession(*link_up(), await listed(tmp_path), hosts=["ct200"])
    text = await shown(session, size, "7")
    check_frame(FRAMES / f"runs-{size[0]}x{size[1]}.txt", text)
    assert ("watch", "runs") in session.controls.asked


async def test_a_strangers_recording_cannot_break_the_screen() -> None:
    odd = facts.PointMeasured(host="ct200", job=JOB, run=RUN, point={"concurrency": "many", "x": [1]})
    text = await shown(PlayedSession(*measuring(), odd, hosts=["ct200"]), (120, 40), "6")
    assert "610.0" in text


def test_a_cause_is_said_once_with_the_users_at_which_it_is_true() -> None:
    hot: dict[str, Any] = {"flags": ("throttled",), "causes": ("too hot",)}
    points = [a_point(8, 610.0, **hot), a_point(1, 97.9), a_point(1, 97.8, **hot)]
    assert cause_lines(points) == ["throttled at C = 1, 8: too hot"]


def test_the_text_of_a_replay_has_what_was_measured() -> None:
    session = PlayedSession(*link_up(), *gpus(), *measuring(), hosts=["ct200"])
    text = replay_lines(session.state, (), "2026-11-30T01:02:03Z")
    head = next(line.split() for line in text if line.startswith("C "))
    assert head[:10] == ["C", "tok/s", "±", "/GPU", "/user", "TTFT", "p50", "ms", "p95", "TPOT"]
    assert [line.split()[:2] for line in text if line[:2] in ("1 ", "8 ", "32")] == [
        ["1", "97.9"],
        ["8", "610.0"],
        ["32", "1210.0"],
    ]
    assert text[-1] == "  throttled at C = 32: too hot"


def test_unknown_rates_stay_unknown() -> None:
    none = a_manifest("x", "x")
    assert msgspec.convert(msgspec.to_builtins(none), Manifest).gpus == Unknown("the GPUs of the server are not known")


async def test_a_key_exports_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    app = ConsoleApp(PlayedSession(*measuring(), hosts=["ct200"]))
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("6", "e")
        await pilot.pause()
    folder = tmp_path / "gpudeck" / "runs" / RUN / "exports"
    assert (folder / "points.csv").read_text().count("\n") == 4
    assert (folder / "throughput.svg").read_text().startswith("<svg")


async def test_notes_stand_in_the_report_of_the_run_they_are_about(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    store = RunStore(tmp_path / "gpudeck" / "runs")
    first, second = RUN, CleanText("20991130T010203Z-k26-tp8-abcd")
    store.create(a_manifest(first, "k26-ep4"))
    store.create(msgspec.structs.replace(a_manifest(second, "k26-tp8"), created="2099-11-30T01:02:03Z"))
    async with AsyncExitStack() as resources:
        ways = Ways(load_config(cwd=tmp_path, env={}), None, None, resources)
        session = await resources.enter_async_context(LiveSession(ways))
        session.state.hosts.update({name: HostState(name) for name in ("ct200", "b2")})
        night: list[tuple[str, list[Event]]] = [
            ("a new driver since noon", measuring()),
            ("the fan is loud", [facts.BenchEnded(host="ct200", job=JOB, run=first, sentence=CleanText(""))]),
            ("now with TP 8", [the_beginning_of(second)]),
        ]
        for text, after in night:
            session.publish(NoteWritten(text=CleanText(text), host="ct200"))
            session.publish(NoteWritten(text=CleanText(f"{text}, elsewhere"), host="b2"))
            for event in after:
                session.publish(event)
    assert [note.text for note in store.load(first).notes] == [
        "a new driver since noon", "the fan is loud", "now with TP 8",
    ]  # fmt: skip
    assert [note.text for note in store.load(second).notes] == ["now with TP 8"]
    text = rendered([store.load(first), store.load(second)], "md")
    assert "## Notes" in text
    assert "k26-ep4: the fan is loud" in text
    assert "k26-ep4, before k26-tp8: now with TP 8" in text
    assert "elsewhere" not in text


def the_beginning_of(run: CleanText) -> Event:
    began = next(event for event in measuring() if isinstance(event, facts.RunBegan))
    return msgspec.structs.replace(began, job=CleanText("bench-2"), run=run)


async def test_c_goes_through_the_curves_of_the_run() -> None:
    app = ConsoleApp(PlayedSession(*measuring(), hosts=["ct200"]))
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("6")
        await pilot.pause()
        seen = []
        while (title := app.screen.query_one("#bench-curve-chart", ChartView).chart.title) not in seen:
            seen.append(title)
            await pilot.press("c")
            await pilot.pause()
    assert seen == ["Output throughput", "Per GPU against per user", "Time to first token: k26-ep4"]
    assert title == seen[0], "round again"
