"""The rows of the host picker, from a real `ssh -G`, and what it must not wait for."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from console.config import Config, load_config
from console.config.memory import remember
from console.session.picker import Choice, Picker


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for kind in ("CONFIG", "DATA", "STATE", "CACHE"):
        monkeypatch.setenv(f"XDG_{kind}_HOME", str(tmp_path / kind.lower()))
    return tmp_path


def configured(home: Path, text: str = "") -> Config:
    file = home / "config" / "gpudeck" / "config.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return load_config(cwd=home, env=os.environ, config_file=None, flags={})


def ssh_config(home: Path, text: str) -> Path:
    path = home / "ssh_config"
    path.write_text(text)
    return path


async def rows(picker: Picker) -> list[list[Choice]]:
    return [list(found) async for found in picker.rows()]


BASTION = """
Host bastion
  HostName 10.9.9.9
  User alice
Host ct200
  HostName 10.1.2.200
  User root
  ProxyJump bastion
"""


async def test_aliases_come_at_once_and_their_chains_later(home: Path) -> None:
    stages = await rows(Picker(configured(home), ssh_config(home, BASTION)))
    assert [row.name for row in stages[0]] == ["bastion", "ct200", "local", "demo"]
    assert [row.way for row in stages[0][:2]] == ["", ""]
    ways = {row.name: row.way for row in stages[-1]}
    assert ways["ct200"] == "alice@10.9.9.9 → root@10.1.2.200"
    assert ways["bastion"] == "alice@10.9.9.9"
    assert len(stages) == 3


async def test_a_chain_is_asked_for_once(home: Path) -> None:
    asked = home / "asked"
    config = ssh_config(home, f'Match exec "echo x >> {asked}"\n  User root\nHost box\n  HostName 10.0.0.1\n')
    picker = Picker(configured(home), config)
    await rows(picker)
    count = asked.read_text().count("x")
    assert count >= 1
    again = await rows(picker)
    assert len(again) == 1
    assert again[0][0].way.endswith("10.0.0.1")
    assert asked.read_text().count("x") == count


async def test_recent_boxes_are_first_and_the_demo_is_last(home: Path) -> None:
    remember("ct200", used="2026-01-31T10:00:00Z")
    remember("root@10.5.5.5", used="2026-01-31T12:00:00Z")
    remember("demo", used="2026-01-31T13:00:00Z")
    picker = Picker(configured(home, '[hosts.lab]\nssh = "root@10.7.7.7"\n'), ssh_config(home, BASTION))
    assert [(row.name, row.source) for row in picker.choices()] == [
        ("root@10.5.5.5", "recent"),
        ("ct200", "recent"),
        ("lab", "config.toml"),
        ("bastion", "SSH config"),
        ("local", "this machine"),
        ("demo", "loopback"),
    ]


async def test_without_any_configuration_there_is_still_a_way_in(home: Path) -> None:
    stages = await rows(Picker(configured(home), ssh_config(home, "")))
    assert [row.name for row in stages[-1]] == ["local", "demo"]


async def test_a_configuration_that_cannot_be_used_says_so_in_the_row(home: Path) -> None:
    stages = await rows(Picker(configured(home), ssh_config(home, "Host box\n  Hots typo\n")))
    assert "Bad configuration option" in stages[-1][0].way or "cannot be used" in stages[-1][0].way


async def test_leaving_does_not_wait_for_a_hanging_configuration(home: Path) -> None:
    config = ssh_config(home, 'Match exec "sleep 600"\n  User root\nHost box\n  HostName 10.0.0.1\n')
    async for found in Picker(configured(home), config).rows():
        assert [row.name for row in found] == ["box", "local", "demo"]
        break
