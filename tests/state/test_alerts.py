"""Alerts follow from facts and their times: hysteresis, history, what the user has seen, what is told."""

from __future__ import annotations

from pathlib import Path

from console.events import Event, Stamped
from console.events.alerts import AlertsAcknowledged, TellAsked
from console.events.bench import BenchEnded
from console.events.host import GpusSampled, XidReported
from console.events.link import LinkChanged
from console.events.serve import ServerEnded, ServerProved
from console.journal import Recorder, Recording, new_header
from console.session.replay import Replay, play
from console.state import State, reduce
from console.state.alerts import Alerts
from console.values import CleanText
from console.views.alerts import alert_rows, badge
from tests.support.played import STARTED, gauges, gpus, link_up

HOST = "ct200"


def told(*facts: tuple[float, Event]) -> State:
    state = State()
    for seq, (t, event) in enumerate(facts, 1):
        reduce(state, Stamped(seq, t, event))
    return state


def alerts(state: State) -> Alerts:
    return state.hosts[HOST].alerts


def heat(celsius: int) -> Event:
    return GpusSampled(host=HOST, gpus=tuple(gauges(index, temperature_c=celsius) for index in range(1)))


def linked(state: str) -> Event:
    return LinkChanged(host=HOST, state=state, sentence=CleanText("gone"))  # type: ignore[arg-type]


ONE_GPU = [(0.0, event) for event in [*link_up(), *gpus(count=1)]]


def test_what_is_hot_begins_at_one_threshold_and_ends_at_a_lower_one() -> None:
    degrees = [82, 83, 82, 83, 82, 81]
    seen = []
    for count in range(len(degrees)):
        facts = [(float(t), heat(value)) for t, value in enumerate(degrees[: count + 1], 1)]
        seen.append(len(alerts(told(*ONE_GPU, *facts)).current))
    assert seen == [0, 1, 1, 1, 1, 0]


def test_what_is_back_soon_is_the_same_alert_and_later_a_new_one() -> None:
    again = alerts(told((0.0, linked("lost")), (5.0, linked("up")), (30.0, linked("lost"))))
    assert [(one.since_t, one.times) for one in again.current.values()] == [(0.0, 2)]
    assert not again.history
    later = alerts(told((0.0, linked("lost")), (5.0, linked("up")), (300.0, linked("lost"))))
    assert [(one.since_t, one.times) for one in later.current.values()] == [(300.0, 1)]
    assert [(one.since_t, one.until_t) for one in later.history] == [(0.0, 5.0)]


def test_the_history_is_bounded() -> None:
    facts = [(100.0 * n, linked("up" if n % 2 else "lost")) for n in range(300)]
    assert len(alerts(told(*facts)).history) == 50


def test_what_was_seen_is_no_news_until_it_gets_worse() -> None:
    seen = AlertsAcknowledged(host=HOST, alerts=(CleanText("link"),))
    state = told((0.0, linked("stale")), (1.0, seen))
    assert badge(state.hosts[HOST]) == ("ok", "")
    assert [row.word for row in alert_rows(state.hosts[HOST], 2.0)] == ["seen"]
    reduce(state, Stamped(3, 3.0, linked("lost")))
    assert badge(state.hosts[HOST]) == ("fail", "1 alert")


def xid(number: int, age_s: float = 0.0) -> Event:
    return XidReported(
        host=HOST, uuid=CleanText("GPU-0"), pci_bus_id=CleanText("0000:00:00.0"), xid=number, at=1000.0, age_s=age_s,
        source="kernel",
    )  # fmt: skip


def test_an_xid_stays_until_it_was_seen_and_old_or_harmless_ones_are_no_news() -> None:
    assert not alerts(told(*ONE_GPU, (1.0, xid(79, 90_000.0)), (2.0, xid(13)))).current
    state = told(*ONE_GPU, (1.0, xid(79)))
    (about,) = alerts(state).current
    reduce(state, Stamped(99, 9.0, AlertsAcknowledged(host=HOST, alerts=(CleanText(about),))))
    assert not alerts(state).current
    assert [row.word for row in alert_rows(state.hosts[HOST], 10.0)] == ["seen"]


def asked(moment: str, wanted: bool = True) -> Event:
    return TellAsked(host=HOST, moment=moment, wanted=wanted)  # type: ignore[arg-type]


def proved() -> Event:
    return ServerProved(host=HOST, server=CleanText("s1"), by="token")


def crashed() -> Event:
    return ServerEnded(
        host=HOST, server=CleanText("s1"), phase="crashed", kind=CleanText("oom"), cause=CleanText("out of memory"),
        cause_phase="weights", advice=(), exit_code=1, signal=None,
    )  # fmt: skip


def test_a_moment_is_told_once_and_only_when_it_was_asked() -> None:
    ended = BenchEnded(host=HOST, job=CleanText("b1"), run=CleanText("r1"), sentence=CleanText(""))
    facts = [(0.0, proved()), (1.0, asked("ready")), (2.0, proved()), (3.0, proved()), (4.0, asked("measured"))]
    state = told(*facts, (5.0, asked("measured", wanted=False)), (6.0, ended))
    assert [(one.moment, one.t) for one in alerts(state).told] == [("ready", 2.0)]
    assert alerts(told((0.0, asked("measured")), (1.0, ended))).told[0].sentence == "benchmark r1 is measured"


def test_a_failed_start_is_told_too_and_an_answer_ends_its_alert() -> None:
    state = told((0.0, asked("ready")), (1.0, crashed()))
    assert "out of memory" in alerts(state).told[0].sentence
    assert list(alerts(state).current) == ["server s1"]
    reduce(state, Stamped(3, 9.0, proved()))
    assert not alerts(state).current


def test_a_replay_has_the_alerts_of_the_night(tmp_path: Path) -> None:
    facts = [
        *ONE_GPU,
        (1.0, linked("lost")),
        (2.0, asked("ready")),
        (8.0, linked("up")),
        (9.0, xid(79)),
        (9.5, crashed()),
    ]
    live = told(*facts)
    path = tmp_path / "night.jsonl"
    recorder = Recorder(path, new_header("0.1.0", (HOST,), STARTED), lambda _reason: None)
    for seq, (t, event) in enumerate(facts, 1):
        recorder.record(Stamped(seq, t, event))
    recorder.close()
    assert len(list(Recording(path).facts())) == len(facts)
    replay = Replay(path)
    play(replay, None)
    assert alerts(replay.state) == alerts(live)
