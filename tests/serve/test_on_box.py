"""What the agent does for servers, on this machine's own processes and files."""

from __future__ import annotations

import base64
import contextlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.agent import adopt, log_lines, processes, server_stop, servers, units
from console.agent.calls import Call, OpError
from tests.support.served import until


class Recorded:
    """A request's Call that keeps its parts."""

    def __init__(self) -> None:
        self.cancelled = threading.Event()
        self.parts: list[dict[str, Any]] = []

    def part(self, data: dict[str, Any]) -> None:
        self.parts.append(data)


def call() -> Call:
    return cast(Call, Recorded())


@pytest.mark.parametrize(
    ("words", "is_one"),
    [
        ("/venv/bin/python -m sglang.launch_server --model-path /m", True),
        ("python3.12 -u -X dev -m sglang.launch_server --model /m", True),
        ("/venv/bin/python /venv/bin/sglang serve --model-path /m", True),
        ("/venv/bin/sglang serve --model-path /m", True),
        ("python /venv/lib/sglang/launch_server.py --model-path /m", True),
        ("sglang::scheduler_TP0", False),
        ("python -m sglang.bench_serving", False),
        ("python -c import sglang.launch_server", False),
        ("vim sglang.launch_server", False),
        ("tail -f python -m sglang.launch_server", False),
        ("sudo python -m sglang.launch_server --model-path /m", False),
        ("python", False),
        ("python -m", False),
    ],
)
def test_only_the_parent_of_a_server_is_one(words: str, is_one: bool) -> None:
    assert servers.is_server(words.split()) is is_one


@pytest.mark.parametrize(
    ("cgroup", "unit"),
    [
        ("0::/system.slice/sglang.service", ("sglang.service", "system")),
        ("0::/user.slice/user-1000.slice/user@1000.service/app.slice/k26.service", ("k26.service", "user")),
        ("0::/user.slice/user-0.slice/user@0.service/app.slice/tmux.scope", ("", "")),
        ("0::/user.slice/user-0.slice/session-3.scope", ("", "")),
        ("12:cpu:/x.service\n1:name=systemd:/system.slice/a.service\n", ("a.service", "system")),
        ("0::/", ("", "")),
        ("", ("", "")),
    ],
)
def test_unit_of_a_cgroup(cgroup: str, unit: tuple[str, str]) -> None:
    assert processes.unit_of(cgroup) == unit


@pytest.mark.parametrize(
    ("cgroup", "name"),
    [
        (f"0::/system.slice/docker-{'ab12' * 16}.scope", "ab12ab12ab12"),
        (f"0::/docker/{'cd34' * 16}", "cd34cd34cd34"),
        (f"0::/kubepods.slice/kubepods-pod1.slice/cri-containerd-{'ef' * 32}.scope", "efefefefefef"),
        (f"0::/machine.slice/libpod-{'0123' * 16}.scope/container", "012301230123"),
        ("0::/system.slice/sglang.service", ""),
    ],
)
def test_container_by_its_cgroup_when_the_namespace_is_hidden(cgroup: str, name: str) -> None:
    gone = 2**22 - 1  # no such process: its namespace cannot be read
    assert processes.container_of(gone, cgroup) == name


def test_own_processes_are_in_no_container() -> None:
    assert processes.container_of(os.getpid(), f"0::/docker/{'ab12' * 16}") == ""


SECRET = st.text("abcdefXYZ0123456789_-", min_size=8, max_size=40)


@given(SECRET)
def test_no_secret_leaves_in_any_spelling(secret: str) -> None:
    spaced = "" if secret.startswith("--") else f"--api-key {secret}"  # argparse takes that for an option
    log = (
        f"server_args=ServerArgs(model_path='/m', api_key='{secret}', admin_api_key=\"{secret}\", port=1)\n"
        f"server_args={{'api_key': '{secret}', \"hf_token\": \"{secret}\", 'max_tokens': 5}}\n"
        f"launch: python -m sglang.launch_server {spaced} --admin-api-key={secret} --port 1\n"
        f"Authorization: Bearer {secret}\n"
    )
    masked = log_lines.mask_log(log.encode()).decode()
    assert secret not in masked.replace("ServerArgs", "").replace("model_path", "")
    assert "model_path='/m'" in masked
    assert "'max_tokens': 5" in masked
    assert "--port 1" in masked


def test_log_lines_that_hide_nothing_stay_as_they_are() -> None:
    line = (
        "[2026-11-30 00:36:27] Decode batch, #running-req: 48, #token: 19038, token usage: 0.02, gen throughput "
        "(token/s): 2841.47\ntokenizer='x' mask_token=<|MASK|> tokenizer_path='/m'\n"
    )
    assert log_lines.mask_log(line.encode()).decode() == line
    assert log_lines.mask_log(b"\xff\xfe bytes\n") == b"\xff\xfe bytes\n"


def test_growing_end_is_held_back(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_bytes(b"one\ntwo api_key='sec")
    first = log_lines.log_read(call(), {"path": str(log), "offset": 0})
    assert base64.b64decode(first["data"]) == b"one\n"
    with log.open("ab") as file:
        file.write(b"ret-value'\n")
    second = log_lines.log_read(call(), {"path": str(log), "offset": first["next"]})
    assert base64.b64decode(second["data"]) == b"two api_key='***'\n"
    assert second["next"] == second["size"]


def test_rest_and_alignment(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_bytes(b"first line\nsecond line\nlast without end")
    middle = log_lines.log_read(call(), {"path": str(log), "offset": 3, "align": True})
    assert base64.b64decode(middle["data"]) == b"second line\n"
    rest = log_lines.log_read(call(), {"path": str(log), "offset": middle["next"], "rest": True})
    assert base64.b64decode(rest["data"]) == b"last without end"


# A parent that ends at TERM, a child that ignores it, and a grandchild that re-parents, in a session of its own.
_TREE = """
import os, signal, subprocess, sys, time
stubborn = "import signal as s, time; s.signal(s.SIGTERM, s.SIG_IGN); print('up', flush=True); time.sleep(600)"
one = subprocess.Popen([sys.executable, "-c", stubborn], stdout=subprocess.PIPE)
one.stdout.readline()
away = "import os,sys\\nif os.fork(): os._exit(0)\\nos.execv(sys.executable,[sys.executable,'-c',sys.argv[1]])"
two = subprocess.Popen([sys.executable, "-c", away, stubborn], stdout=subprocess.PIPE)
two.stdout.readline()
print("ready", flush=True)
time.sleep(600)
"""


@pytest.fixture
def tree() -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen([sys.executable, "-c", _TREE], stdout=subprocess.PIPE, start_new_session=True)
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    yield process
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.stdout.close()
    process.wait()


def _stop(process: subprocess.Popen[bytes], **changed: Any) -> tuple[Recorded, dict[str, Any]]:
    status = processes.status_of(process.pid)
    assert status is not None
    recorded = Recorded()
    request = {"pid": process.pid, "start": status.start, "boot_id": processes.boot_id(), "grace_s": 5.0, **changed}
    return recorded, server_stop.server_stop(cast(Call, recorded), request)


def test_a_tree_that_ignores_term_and_reparents_is_gone(
    tree: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_stop, "REST_S", 0.5)
    found = processes.all_processes().values()
    members = [one.pid for one in found if one.session == tree.pid and not one.gone]
    assert len(members) == 3
    bystander = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    recorded, answer = _stop(tree)
    assert [part["stage"] for part in recorded.parts] == ["asked", "rest", "killed"]
    assert answer["left"] == []
    assert sorted(answer["killed"]) == sorted(pid for pid in members if pid != tree.pid)
    assert not answer["graceful"]
    assert bystander.poll() is None
    bystander.kill()
    bystander.wait()


def test_a_reused_pid_is_refused(tree: subprocess.Popen[bytes]) -> None:
    with pytest.raises(OpError, match="does not live"):
        _stop(tree, start=1)
    with pytest.raises(OpError, match="does not live"):
        _stop(tree, boot_id="another boot")
    assert tree.poll() is None


def test_adoption_keeps_what_brings_it_back_on_the_box(
    tree: subprocess.Popen[bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    status = processes.status_of(tree.pid)
    assert status is not None
    answer = adopt.adopt(call(), {"pid": tree.pid, "start": status.start, "by": "me@laptop"})
    assert "env" not in answer
    kept = adopt.record_of(tree.pid, status.start)
    assert kept is not None
    assert kept["argv"][0] == sys.executable
    assert kept["env"].get("XDG_STATE_HOME") != str(tmp_path)  # the process's own environment, not ours
    assert Path(answer["path"]).stat().st_mode & 0o777 == 0o600
    adopt.release(call(), {"pid": tree.pid, "start": status.start})
    assert adopt.record_of(tree.pid, status.start) is None


def test_listening_port_of_a_process() -> None:
    program = "import socket,time; s=socket.create_server(('127.0.0.1',0)); print(s.getsockname()[1],flush=True)"
    program += "; time.sleep(600)"
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        port = int(process.stdout.readline())
        assert until(lambda: processes.listeners(process.pid, port)) == [("127.0.0.1", port)]
        assert processes.listeners(process.pid, port) == [("127.0.0.1", port)], "the remembered answer"
        process.kill()


def test_a_unit_that_runs_programs_of_others_is_not_the_servers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(units, "text_of", lambda path: "0::/system.slice/ssh.service" if "cgroup" in path else "sshd\n")
    monkeypatch.setattr(units, "_members", lambda cgroup, unit: {1, 2})
    assert units.own_unit(2) == ("", "")
    monkeypatch.setattr(
        units, "text_of", lambda path: "0::/system.slice/llm.service" if "cgroup" in path else "python3\n"
    )
    assert units.own_unit(2) == ("llm.service", "system")


def test_the_adoption_of_a_unit_outlives_its_process(
    tree: subprocess.Popen[bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setattr(adopt, "own_unit", lambda _: ("llm.service", "system"))
    status = processes.status_of(tree.pid)
    assert status is not None
    adopt.adopt(call(), {"pid": tree.pid, "start": status.start, "by": "me@laptop"})
    assert adopt.record_of(1, 1, "llm.service", "system") is not None
    assert adopt.record_of(1, 1, "llm.service", "user") is None
    assert adopt.record_of(tree.pid, status.start) is None
