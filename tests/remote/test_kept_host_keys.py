"""A host key that a person trusts, on a laptop whose disk is full: said, and no half line is left."""

from __future__ import annotations

from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from console.config import Config, HostConfig, Settings
from console.events import Event
from console.events.link import LinkChanged
from console.remote.errors import HostKeyUnknown
from console.remote.known_hosts import accept_host_key, own_file
from console.session.ways import Ways
from console.workers.link import LinkWorker
from tests.support.small_disk import fill, small_disk

UNKNOWN = HostKeyUnknown(
    "ct200", 22, "ssh-ed25519", "SHA256:x", pattern="ct200", public_key="ssh-ed25519 " + "A" * 9000
)


def test_a_full_disk_keeps_nothing_and_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with small_disk(tmp_path / "small") as place:
        monkeypatch.setenv("XDG_STATE_HOME", str(place))
        accept_host_key(HostKeyUnknown("a", 22, "k", "f", pattern="a", public_key="k AAAA"))
        before, filler = own_file().read_bytes(), fill(place)
        told: list[Event] = []
        ways = Ways(Config(settings=Settings(), hosts={}, origins={}), None, None, AsyncExitStack())
        link = LinkWorker(HostConfig(name="ct200", ssh="ct200"), told.append, ways)
        link._unknown_key = UNKNOWN
        link.accept_host_key()
        (fact,) = told
        assert isinstance(fact, LinkChanged)
        assert (fact.state, fact.exit_code) == ("blocked", 6)
        assert "could not be kept" in fact.sentence
        assert own_file().read_bytes() == before
        filler.unlink()
        link.accept_host_key()
        assert own_file().read_bytes().endswith(b"A\n")
        assert len(told) == 1
