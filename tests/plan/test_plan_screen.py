"""The plan screen, at the sizes it is designed for, and its twin as data."""

from __future__ import annotations

from pathlib import Path

import pytest

from console.app import ConsoleApp
from console.events import Stamped
from console.events.plan import Gate, GateChecked
from console.journal.codec import decode_fact, decode_line, encode
from console.state import HostState
from console.values import Unknown, clean, dump_json, to_json
from console.views.next import next_step
from console.views.plan import fit_rows, gate_record, preflight, preflight_lines, served_line
from tests.support.frames import check_frame, frame
from tests.support.kimi_plan import HOST, RECIPE, kimi_plan
from tests.support.played import PlayedSession, gpus, link_up

FRAMES = Path(__file__).parent / "frames"
GOOD = {"tp": 8, "speculative-algorithm": "DFLASH", "max-running-requests": 256}
BAD = {"tp": 8, "speculative-algorithm": "DDTREE", "cuda-graph-max-bs": 256}


def played(args: dict[str, object] | None = None, fraction: float | None = 0.9) -> PlayedSession:
    session = PlayedSession(*link_up(), *gpus(), hosts=[HOST])
    for event in kimi_plan(args, fraction) if args else ():
        session.tell(event)
    return session


@pytest.mark.parametrize(("width", "height"), [(80, 24), (120, 40)])
@pytest.mark.parametrize("name", ["good", "bad", "none"])
async def test_the_plan_screen(name: str, width: int, height: int) -> None:
    session = {"good": lambda: played(GOOD), "bad": lambda: played(BAD, None), "none": played}[name]()
    app = ConsoleApp(session)
    async with app.run_test(size=(width, height)) as pilot:
        await pilot.pause()
        await pilot.press("4")
        await pilot.pause()
        app.tick()
        await pilot.pause()
        panes = frame(app).splitlines()[2:-1]  # header, NEXT and footer have their own tests
        check_frame(FRAMES / f"plan-{name}-{width}x{height}.txt", "\n".join(panes))


async def test_check_again_asks_the_plan_that_is_shown() -> None:
    session = played(BAD, None)
    app = ConsoleApp(session)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        await pilot.press("4")
        await pilot.pause()
        await pilot.press("r")
        await pilot.pause()
    assert ("check", RECIPE) in session.controls.asked


def test_next_names_the_gate_that_stops_the_plan_and_its_key() -> None:
    step = next_step(host_of(played(BAD, None)), 0)
    assert (step.level, step.key) == ("fail", "4")
    assert f"{RECIPE} is stopped by memory (and 1 more)" in step.sentence
    assert next_step(host_of(played(GOOD)), 0)[:3] == ("ok", f"{RECIPE} passes every gate", "D")
    asking = PlayedSession(*link_up(), *gpus(), *kimi_plan(GOOD)[:2], hosts=[HOST])
    assert next_step(host_of(asking), 0)[:3] == ("busy", f"{RECIPE}: the gates are asked", "4")


def host_of(session: PlayedSession) -> HostState:
    return session.state.hosts[HOST]


def test_the_bars_are_whole() -> None:
    rows = fit_rows(host_of(played(GOOD)).plan.recipes[RECIPE])
    assert len(rows) == 8
    for row in rows:
        assert sum(part.ratio for part in row.parts) + row.left_ratio == pytest.approx(1)
        assert {part.name for part in row.parts} >= {"weights", "draft", "kv", "other"}
        assert row.left_ratio > -0.001


def test_text_and_data_say_the_same() -> None:
    plan = host_of(played(BAD, None)).plan.recipes[RECIPE]
    data, text = preflight(plan), "\n".join(preflight_lines(plan))
    assert (data["verdict"], data["exit"]) == ("block", 4)
    for gate in data["gates"]:
        assert gate["sentence"] in text
    assert "kimi_k25" in served_line(plan)
    assert "k25-tp8" in served_line(plan)


def test_promised_numbers_are_there_also_when_a_gate_has_none() -> None:
    gate = Gate(name="disk", verdict="pass", state="done", subject="/m", sentence="/m is a directory of the box.")
    numbers = to_json(gate_record(gate))["numbers"]
    assert {name for name in numbers if not name.endswith("_reason")} == {
        "need_bytes", "have_bytes", "claims_bytes", "available_bytes", "headroom_bytes", "margin_bytes",
    }  # fmt: skip
    assert (numbers["need_bytes"], numbers["need_bytes_reason"]) == (None, gate.sentence)


def test_a_gate_survives_the_record_with_its_unknowns() -> None:
    gate = Gate(
        name="host", verdict="unknown", state="x", subject="s", sentence="t", numbers={"driver": Unknown("no NVML")}
    )
    session = PlayedSession(hosts=[HOST])
    session.tell(kimi_plan(GOOD)[1])
    line = encode(Stamped(1, 0.5, GateChecked(host=HOST, recipe=clean(RECIPE), gate=gate)))
    session.tell(decode_fact(decode_line(line)).event)
    text = dump_json(preflight(host_of(session).plan.recipes[RECIPE]))
    assert '"driver":null,"driver_reason":"no NVML"' in text
