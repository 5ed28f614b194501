"""Whose server may be stopped and how, whether the memory is back, what a unit holds, what starts leave behind."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.bus import Bus
from console.config.records import Recipe
from console.config.starts import KEPT, Start, earlier_starts, remember_start
from console.events import Event
from console.events import serve as facts
from console.events.host import GpuProcess, GpuProcesses, GpuProcessesSampled, GpusIdentified, GpusSampled
from console.models.launch import launch
from console.state import HostState, State, reduce
from console.values import CleanText, Unknown, known
from console.workers.serve import Secrets, yaml
from console.workers.serve_stop import Stopping, StopRefusedError, how_to_stop, judge_memory
from console.workers.serve_unit import unit_files, unit_name, unit_text
from tests.serve.test_server_frames import HOST, ID, listed
from tests.support.played import gauges, gpus

GIB = 1 << 30


def told(*events: Event) -> HostState:
    state, bus = State(), Bus()
    bus.listen(lambda stamped: reduce(state, stamped))
    for event in events:
        bus.publish(event)
    return state.hosts[HOST]


def changed(**fields: object) -> Event:
    event = listed()
    assert isinstance(event, facts.ServersSampled)
    assert known(event.servers)
    one = msgspec.structs.replace(event.servers[0], **fields)
    return facts.ServersSampled(host=HOST, servers=(one,))


@pytest.mark.parametrize(
    ("fields", "how"),
    [
        ({}, "job"),
        ({"job": "", "owner": "adopted"}, "process"),
        ({"job": "", "owner": "adopted", "unit": "sglang.service"}, "unit"),
        ({"job": "", "owner": "ours", "unit": "gpudeck-serve-k26.service"}, "unit"),
        ({"unit": "gpudeck-serve-20261130-003400-6f2d.service"}, "job"),
    ],
)
def test_the_way_to_stop(fields: dict[str, object], how: str) -> None:
    host = told(changed(**fields))
    assert how_to_stop(host, host.serve.servers[ID]) == how


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"job": "", "owner": "foreign"}, "adopt it first"),
        ({"job": "", "owner": "foreign", "unit": "sglang.service"}, "adopt it first"),
        ({"job": "", "owner": "adopted", "container": "ab12"}, "container ab12"),
    ],
)
def test_what_is_not_stopped(fields: dict[str, object], why: str) -> None:
    host = told(changed(**fields))
    with pytest.raises(StopRefusedError, match=why):
        how_to_stop(host, host.serve.servers[ID])


def _memory(used: dict[int, int], holders: dict[int, list[int]], *, baseline: bool = True) -> facts.MemoryReturned:
    """GPU 0 and 1 were the server's, with pids 41 and 42 on them; 1 GiB was used on each before."""
    events = gpus(HOST, 2)
    identified = next(event for event in events if isinstance(event, GpusIdentified))
    assert known(identified.gpus)
    uuids = [gpu.uuid for gpu in identified.gpus]
    readings = tuple(gauges(at, memory_used_bytes=used[at]) for at in range(2))
    assert [one.uuid for one in readings] == uuids
    listing = tuple(
        GpuProcesses(
            uuid=uuid,
            processes=tuple(
                GpuProcess(pid=pid, user=CleanText("u"), command=CleanText("c"), memory_bytes=GIB)
                for pid in holders.get(at, [])
            ),
        )
        for at, uuid in enumerate(uuids)
    )
    host = told(listed(), *events, GpusSampled(host=HOST, gpus=readings), GpuProcessesSampled(host=HOST, gpus=listing))
    before = dict.fromkeys(uuids, GIB) if baseline else {}
    return judge_memory(host, host.serve.servers[ID], Stopping("job", frozenset({41, 42}), tuple(uuids), before))


def test_memory_is_back_when_processes_and_bytes_are() -> None:
    back = _memory({0: GIB, 1: GIB + (100 << 20)}, {})
    assert back.returned is True
    assert "GPU 0" in back.sentence


def test_memory_held_by_its_own_process_is_not_back() -> None:
    held = _memory({0: 80 * GIB, 1: GIB}, {0: [41]})
    assert (held.returned, held.left_pids) == (False, (41,))


def test_memory_held_by_nobody_we_know_is_not_back() -> None:
    over = _memory({0: 80 * GIB, 1: GIB}, {0: [99]})
    assert (over.returned, over.left_pids) == (False, ())
    assert "99" in over.sentence


def test_without_a_baseline_its_processes_decide() -> None:
    assert _memory({0: 80 * GIB, 1: GIB}, {0: [99]}, baseline=False).returned is True


def test_without_gpus_nobody_knows() -> None:
    host = told(listed(), GpusIdentified(host=HOST, gpus=Unknown("no driver"), driver_version=Unknown("no driver"),
                                         cuda_version=Unknown("no driver")))  # fmt: skip
    judged = judge_memory(host, host.serve.servers[ID], Stopping("job", frozenset({41}), (), {}))
    assert not known(judged.returned)


def test_a_refused_stop_leaves_the_server_as_it_was() -> None:
    asked = facts.ServerStopAsked(host=HOST, server=ID, how="unit", grace_s=60.0)
    refused = facts.ServerRequestFailed(host=HOST, server=ID, action="stop", reason=CleanText("Access denied"))
    proved = facts.ServerProved(host=HOST, server=ID, by="/ready")
    host = told(listed(), proved, asked)
    assert host.serve.servers[ID].phase == "stopping"
    host = told(listed(), proved, asked, refused)
    server = host.serve.servers[ID]
    assert (server.phase, server.stop) == ("ready", None)
    assert host.serve.failed == refused


# --- units


def _recipe(name: str = "k26/ep4+dflash") -> Recipe:
    return Recipe(name=name, model="org/m", secrets={"api-key": "env:K", "HF_TOKEN": "env:T"})


def test_a_unit_stops_the_parent_alone_and_keeps_secrets_apart() -> None:
    start = launch(
        python="/venv/bin/python", model_path="/m", served_name="org/m", port=1, args={"tp": 8}, env={"A": "1"}
    )
    secrets = Secrets(flags={"api-key": "sk-secret-1"}, env={"HF_TOKEN": "hf-secret-2"})
    unit = unit_files({"uid": 0, "home": "/root"}, _recipe(), start, secrets, 90)
    assert (unit.name, unit.scope) == ("gpudeck-serve-k26-ep4-dflash.service", "system")
    text, mode = unit.files["/etc/systemd/system/gpudeck-serve-k26-ep4-dflash.service"]
    assert mode == 0o644
    for line in ("KillMode=mixed", "TimeoutStopSec=90", "Restart=on-failure", "WantedBy=multi-user.target"):
        assert line in text.splitlines()
    assert '"--tp-size" "8"' in text
    assert "secret-" not in text
    private = {path: content for path, content in unit.files.items() if "/.local/state/" in path}
    assert {mode for _, mode in private.values()} == {0o600}
    assert any("hf-secret-2" in content for content, _ in private.values())
    assert any(content == 'api-key: "sk-secret-1"\n' for content, _ in private.values())
    user = unit_files({"uid": 1000, "home": "/home/u"}, _recipe(), start, Secrets(), 60)
    assert user.scope == "user"
    assert "/home/u/.config/systemd/user/gpudeck-serve-k26-ep4-dflash.service" in user.files


@given(st.text(st.characters(exclude_characters="\n\0", exclude_categories=("Cs",)), min_size=1, max_size=30))
def test_words_of_a_unit_come_back_as_they_were(word: str) -> None:
    line = next(one for one in unit_text("r", ("/p", word), "/e", 1, "t").split("\n") if one.startswith("ExecStart="))
    quoted = line.removeprefix('ExecStart="/p" "')[:-1]
    assert _unquoted(quoted) == word


def _unquoted(text: str) -> str:
    """What systemd makes of the inside of a quoted word."""
    undone, at = "", 0
    while at < len(text):
        if text[at : at + 2] in ("\\\\", '\\"', "%%", "$$"):
            at += 1
        else:
            assert text[at] not in '\\"%$'
        undone += text[at]
        at += 1
    return undone


def test_a_line_break_is_no_word_of_a_unit() -> None:
    with pytest.raises(ValueError, match="line break"):
        unit_text("r", ("/p", "a\nExecStartPost=/bin/sh"), "/e", 1, "t")
    assert "/" not in unit_name("a/../b").removeprefix("gpudeck-serve-")


@given(st.text(max_size=30))
def test_secrets_file_is_one_line_a_flag(value: str) -> None:
    data = yaml({"api-key": value})
    assert data.count(b"\n") == 1
    assert msgspec.json.decode(data.partition(b": ")[2]) == value


def test_the_last_starts_are_remembered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert earlier_starts("box", "r") == ()
    for number in range(KEPT + 2):
        remember_start("box", "r", Start(job=f"j{number}", phases_s={"weights": float(number)}, actuals={}))
    remember_start("box", "r", Start(job=f"j{KEPT + 1}", phases_s={"weights": 99.0}, actuals={}))
    kept = earlier_starts("box", "r")
    assert [one.job for one in kept] == [f"j{number}" for number in range(2, KEPT + 2)]
    assert kept[-1].phases_s == {"weights": 99.0}
    assert earlier_starts("box", "other") == ()
