"""Files on the laptop: XDG everywhere, private, whole."""

from __future__ import annotations

import stat
import threading
from pathlib import Path

import pytest

from console.config import memory, paths
from console.config.aliases import ssh_aliases
from tests.support.place import Place


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_xdg_counts_and_a_relative_one_does_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert paths.home_dir("state", {"XDG_STATE_HOME": "/x"}) == Path("/x/gpudeck")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    assert paths.home_dir("state", {"XDG_STATE_HOME": "x"}).is_relative_to(tmp_path)
    assert paths.home_dir("state", {"XDG_STATE_HOME": "x"}).name == "gpudeck"


def test_what_is_written_is_private_and_whole(tmp_path: Path) -> None:
    file = tmp_path / "a" / "b" / "file"
    paths.write_private(file, b"one")
    paths.write_private(file, b"two")
    assert file.read_bytes() == b"two"
    assert mode(file) == 0o600
    assert mode(tmp_path / "a") == mode(tmp_path / "a" / "b") == 0o700
    assert list(file.parent.iterdir()) == [file]


def test_the_highest_gpu_count_stays(place: Place) -> None:
    assert memory.read_memory() == {}
    eight = tuple(memory.GpuMemory(index=index, uuid=f"GPU-{index}") for index in range(8))
    memory.remember("box", gpus=eight)
    memory.remember("box", gpus=eight[:7], used="2026-01-02T03:04:05Z")
    memory.remember("other", used="2026-01-03T03:04:05Z")
    assert memory.read_memory()["box"] == memory.HostMemory(
        gpus_expected=8, gpus=eight, last_used="2026-01-02T03:04:05Z"
    )
    assert memory.recent_hosts() == ["other", "box"]
    assert mode(memory.memory_file()) == 0o600
    memory.memory_file().write_text("{broken")
    assert memory.recent_hosts() == []


def test_two_consoles_remember_at_once(place: Place) -> None:
    gpus = [memory.GpuMemory(index=n, uuid=f"GPU-{n}") for n in range(8)]
    threads = [
        threading.Thread(target=memory.remember, args=(f"box{n}",), kwargs={"gpus": gpus[:n]}) for n in range(1, 8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {name: host.gpus_expected for name, host in memory.read_memory().items()} == {
        f"box{n}": n for n in range(1, 8)
    }


def test_aliases_are_the_literal_host_patterns(tmp_path: Path) -> None:
    ssh = tmp_path / ".ssh"
    (ssh / "conf.d").mkdir(parents=True)
    (ssh / "config").write_text(
        'Include conf.d/*.conf missing\nHost a b *.example !c d?\n  HostName x\nHost = "e"\n# Host no\n'
        "Match host zz\nHOST f # comment\nHost a\nInclude ~/.ssh/loop\nHost it's\n"
    )
    (ssh / "conf.d" / "1.conf").write_text("Host included\n\tPort 1\n")
    (ssh / "loop").write_text("Include loop\nHost looped\n")
    (ssh / "conf.d" / "2.conf").write_bytes(b"Host \xff\n")
    names = ssh_aliases(home=tmp_path)
    assert names[:5] == ["included", "\ufffd", "a", "b", "e"]
    assert names[5:8] == ["f", "looped", "it's"]
    assert ssh_aliases(ssh / "loop", home=tmp_path) == ["looped"]
    assert ssh_aliases(tmp_path / "none", home=tmp_path) == []
