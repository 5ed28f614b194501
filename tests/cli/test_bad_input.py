"""What goes wrong is one clear sentence and its exit code; nothing is lost."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.gpudeck import Gpudeck
from tests.support.ports import free_port
from tests.support.sshd import Sshd, keygen


def one_sentence(stderr: str) -> str:
    (line,) = stderr.strip().splitlines()
    return line


def check(gpudeck: Gpudeck, code: int, *words: str, arguments: tuple[str, ...]) -> None:
    plain = gpudeck.run(*arguments)
    assert plain.returncode == code, plain.stderr
    sentence = one_sentence(plain.stderr)
    for word in words:
        assert word.lower() in sentence.lower()
    assert plain.stdout == ""
    data = gpudeck.run(*arguments, "--json")
    assert data.returncode == code
    error = json.loads(data.stdout)
    assert (error["schema"], error["exit"]) == ("gpudeck.error/1", code)
    assert error["sentence"]


def test_refused(gpudeck: Gpudeck) -> None:
    gpudeck.laptop.host("closed", free_port())
    check(gpudeck, 3, "127.0.0.1", "refused", arguments=("status", "closed"))


def test_unreachable_name(gpudeck: Gpudeck) -> None:
    check(gpudeck, 3, "nowhere.invalid", arguments=("status", "root@nowhere.invalid"))


def test_wrong_key(gpudeck: Gpudeck, server: Sshd) -> None:
    gpudeck.laptop.trust(server.known_hosts_line())
    alias = gpudeck.laptop.host("locked", server.port, gpudeck.laptop.key("id_wrong"))
    check(gpudeck, 5, "id_wrong", arguments=("status", alias))


def test_unknown_host_key(gpudeck: Gpudeck, server: Sshd) -> None:
    key = gpudeck.laptop.key("id_new")
    server.authorize(Path(f"{key}.pub"))
    alias = gpudeck.laptop.host("stranger", server.port, key)
    check(gpudeck, 6, "SHA256:", arguments=("status", alias))


def test_changed_host_key(gpudeck: Gpudeck, server: Sshd, tmp_path: Path) -> None:
    kind, data = keygen(tmp_path / "other").read_text().split()[:2]
    gpudeck.laptop.trust(f"[127.0.0.1]:{server.port} {kind} {data}\n")
    alias = gpudeck.laptop.host("swapped", server.port, gpudeck.laptop.key("id_x"))
    check(gpudeck, 6, "HOST KEY CHANGED", "known_hosts", arguments=("status", alias))


def test_no_python_on_the_box(gpudeck: Gpudeck, server: Sshd) -> None:
    key = gpudeck.laptop.key("id_bare")
    server.authorize(Path(f"{key}.pub"), options='command="PATH=/nonexistent; $SSH_ORIGINAL_COMMAND"')
    gpudeck.laptop.trust(server.known_hosts_line())
    alias = gpudeck.laptop.host("bare", server.port, key)
    check(gpudeck, 1, "python3", arguments=("status", alias))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("statsu",), ("statsu", "status")),
        (("status",), ("host",)),
        (("status", "local", "--frobnicate"), ("--frobnicate",)),
        (("status", "local", "--timeout", "soon"), ("--timeout",)),
        (("status", "local", "--timeout", "nan"), ("--timeout",)),
        (("status", "root@127.0.0.1:ssh"), ("'ssh' is no port",)),
        (("--replay", "nothing-here.jsonl", "--headless"), ("nothing-here.jsonl",)),
        (("--replay", "one.jsonl", "two.jsonl", "--headless"), ("one.jsonl", "two.jsonl")),
        (("status", "local", "--record", "r", "--no-record"), ("--record",)),
        (("completion", "basic"), ("basic",)),
    ],
)
def test_usage(gpudeck: Gpudeck, arguments: tuple[str, ...], words: tuple[str, ...]) -> None:
    check(gpudeck, 2, *words, arguments=arguments)


@pytest.mark.parametrize("content", [b"", b"\x00\x01\x02\xff" * 99, b'{"gpudeck": "1"'])
def test_recordings_that_are_none(gpudeck: Gpudeck, tmp_path: Path, content: bytes) -> None:
    (tmp_path / "odd.jsonl").write_bytes(content)
    check(gpudeck, 2, "odd.jsonl", arguments=("--replay", str(tmp_path / "odd.jsonl"), "--headless"))


def test_a_cut_and_a_newer_recording_replay(gpudeck: Gpudeck, tmp_path: Path) -> None:
    head = '{"gpudeck":"9","schema":9,"started":"2026-01-01T00:00:00Z","hosts":["box"]}\n'
    (tmp_path / "r").write_text(head + '[1,0.5,"LinkChanged",{"host":"box","state":"up"}]\n[2,0.7,"Link')
    done = gpudeck.run("--replay", str(tmp_path / "r"), "--headless", "--json")
    assert done.returncode == 0
    assert json.loads(done.stdout)["warnings"] == ["newer_schema", "torn_last_line"]


def test_a_picture_that_cannot_be_written_is_one_sentence(gpudeck: Gpudeck, tmp_path: Path) -> None:
    head = '{"gpudeck":"1","schema":1,"started":"2026-01-01T00:00:00Z","hosts":[]}\n'
    (tmp_path / "r").write_text(head)
    check(gpudeck, 1, "/proc/nowhere", arguments=("--replay", str(tmp_path / "r"), "--svg", "/proc/nowhere"))


def test_a_recording_is_never_written_over(gpudeck: Gpudeck, box: str, tmp_path: Path) -> None:
    (tmp_path / "kept.jsonl").write_text("precious")
    check(gpudeck, 2, "kept.jsonl", arguments=("status", box, "--record", str(tmp_path / "kept.jsonl")))
    assert (tmp_path / "kept.jsonl").read_text() == "precious"


def test_the_console_needs_a_terminal(gpudeck: Gpudeck) -> None:
    check(gpudeck, 2, "terminal", arguments=("local",))


def test_an_agent_that_is_killed_is_started_again_or_told(gpudeck: Gpudeck, box: str) -> None:
    done = gpudeck.run("status", box, "--timeout", "0.001")
    assert done.returncode == 124
    assert box in one_sentence(done.stderr)
