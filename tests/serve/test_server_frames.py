"""Screen 5 as text: starting, ready with frozen gauges, crashed with its ways out."""

from __future__ import annotations

from pathlib import Path

import pytest

from console.app import ConsoleApp
from console.events import Event
from console.events import serve as facts
from console.values import CleanText, Unknown, clean
from tests.support.frames import check_frame, frame
from tests.support.played import PlayedSession, link_up

FRAMES = Path(__file__).parent / "frames"
SIZES = [(80, 24), (120, 40)]
ID = CleanText("serve-20261130-003400-6f2d")
ARGV = "/venv/bin/python -m sglang.launch_server --model-path /m --served-model-name moonshotai/Kimi-K2.6 --tp-size 8"
HOST = "ct200"


def listed(*, running: bool = True) -> Event:
    one = facts.Server(
        id=ID, pid=4711, start=99, started_s=1.0, boot_id=CleanText("b"), owner="ours", job=ID,
        user=CleanText("root"), argv=tuple(clean(word) for word in ARGV.split()), cwd=CleanText("/"),
        unit=CleanText(""), unit_scope=CleanText(""), container=CleanText(""), log_path=CleanText("/l"),
        processes=(4711,), address=CleanText("127.0.0.1"), port=30000, listening=True,
    )  # fmt: skip
    return facts.ServersSampled(host=HOST, servers=(one,) if running else ())


def reached(*phases: facts.ServerPhase) -> list[Event]:
    return [
        facts.ServerPhaseReached(host=HOST, server=ID, phase=phase, in_phase_s=10.0 * (len(phases) - at))
        for at, phase in enumerate(phases)
    ]


def logged(*texts: tuple[facts.Level, str]) -> Event:
    rows = tuple(
        facts.LogRow(CleanText(f"2026-11-30 00:34:{at:02}"), CleanText("TP0"), level, clean(text))
        for at, (level, text) in enumerate(texts)
    )
    return facts.ServerLogged(host=HOST, server=ID, rows=rows)


WEIGHTS = [
    listed(),
    *reached("imports", "distributed", "weights"),
    logged(("info", "Init torch distributed begin."), ("info", "Load weight begin. avail mem=94.30 GB")),
    facts.ServerProgressed(
        host=HOST, server=ID, task=CleanText("Loading safetensors checkpoint shards"), done=12, total=64
    ),
]
READY = [
    listed(),
    *reached("imports", "distributed", "weights", "kv", "graphs", "warmup"),
    facts.ServerProved(host=HOST, server=ID, by="/ready"),
    logged(("info", "The server is fired up and ready to roll!"), ("warning", "UserWarning: x is deprecated")),
    facts.ServerGauged(
        host=HOST, server=ID, source="metrics", running=64, queued=16, gen_tok_s=21354.0, kv_ratio=0.42,
        cache_hit_ratio=0.1, accept_length=2.61, max_running=48, idle=True,
        stale=(CleanText("running"), CleanText("queued"), CleanText("gen_tok_s")),
    ),
    facts.ServerMeasured(
        host=HOST, server=ID, actuals={}, limits={}, phases_s={},
        remarks=(CleanText("speculative decoding capped the running requests at 48"),),
    ),
]  # fmt: skip
CRASHED = [
    *WEIGHTS,
    logged(("error", "torch.OutOfMemoryError: CUDA out of memory.")),
    listed(running=False),
    facts.ServerEnded(
        host=HOST, server=ID, phase="crashed", kind=CleanText("memory_weights"), cause_phase="weights",
        cause=CleanText("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB."),
        advice=(CleanText("the weights do not fit: use more GPUs (tp, pp) or a quantised repository"),),
        exit_code=Unknown("gone"), signal=9,
    ),
]  # fmt: skip
SCENES: dict[str, list[Event]] = {"weights": WEIGHTS, "ready": READY, "crashed": CRASHED}


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
@pytest.mark.parametrize("scene", SCENES)
async def test_the_server_screen(scene: str, size: tuple[int, int]) -> None:
    session = PlayedSession(*link_up(), *SCENES[scene], hosts=[HOST])
    app = ConsoleApp(session)
    async with app.run_test(size=size) as pilot:
        await pilot.press("5")
        app.tick()
        await pilot.pause()
        text = frame(app)
    check_frame(FRAMES / f"{scene}-{size[0]}x{size[1]}.txt", text)
    assert ("READY" in text) is (scene == "ready")
    if scene == "ready":
        assert "stale" in text
    if scene == "crashed":
        assert "use more GPUs" in text


async def test_the_log_has_the_keys_and_says_how_many_lines_are_new() -> None:
    lines: list[tuple[facts.Level, str]] = [("info", f"line {number}") for number in range(60)]
    session = PlayedSession(*link_up(), *READY, logged(*lines), hosts=[HOST])
    app = ConsoleApp(session)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("5")
        app.tick()
        await pilot.press("k")
        session.tell(logged(*lines[:3]))
        app.tick()
        await pilot.pause()
        assert "+3 new" in frame(app)
        await pilot.press("G")
        app.tick()
        await pilot.pause()
        assert "new" not in frame(app)
