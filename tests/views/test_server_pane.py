"""The phase bar of a server that was met late: its log knows better than the moment at which it was proved."""

from __future__ import annotations

import pytest

from console.events import serve as facts
from console.state import HostState
from console.values import CleanText
from console.views.server_pane import phase_steps
from tests.support.played import PlayedSession

HOST, ID = "box", CleanText("4711-99")
DAY_S = 86_400.0


def met(proved_after_s: float, told_s: float | None) -> HostState:
    """A start whose log lies `proved_after_s` back: two phases in one second, then a warm-up of `told_s`."""
    began: list[tuple[facts.ServerPhase, float]] = [
        ("imports", 9.0),
        ("weights", 9.0),
        ("graphs", 5.0),
        ("warmup", 3.0),
    ]
    session = PlayedSession(hosts=[HOST])
    session.t = proved_after_s
    for phase, ago in began:
        session.tell(facts.ServerPhaseReached(host=HOST, server=ID, phase=phase, in_phase_s=proved_after_s + ago))
    phases_s = {} if told_s is None else {"warmup": told_s}
    session.tell(facts.ServerMeasured(host=HOST, server=ID, actuals={}, limits={}, remarks=(), phases_s=phases_s))
    session.tell(facts.ServerProved(host=HOST, server=ID, by="/ready"))
    return session.state.hosts[HOST]


@pytest.mark.parametrize(
    ("proved_after_s", "told_s", "warmup"),
    [(DAY_S, 3.0, 3.0), (0.5, 3.0, 3.5), (DAY_S, None, DAY_S + 3.0)],
    ids=["met a day later", "seen as it started", "its log does not tell"],
)
def test_the_warm_up_ends_with_the_ready_line_of_a_server_that_was_met_late(
    proved_after_s: float, told_s: float | None, warmup: float
) -> None:
    steps = {step.name: step.seconds for step in phase_steps(met(proved_after_s, told_s).serve.servers[ID], 2 * DAY_S)}
    assert steps["warmup"] == warmup
    assert (steps["weights"], steps["graphs"]) == (4.0, 2.0)


def test_what_began_and_ended_in_one_second_of_the_log_has_no_duration_rather_than_0_ms() -> None:
    steps = {step.name: step for step in phase_steps(met(0.0, 3.0).serve.servers[ID], 1.0)}
    assert (steps["imports"].state, steps["imports"].seconds) == ("done", None)
