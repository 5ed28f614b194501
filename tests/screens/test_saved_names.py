"""A box says what its servers are called: what is saved of one stays in its folder."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from console.app import ConsoleApp
from console.events.serve import ServerLogged, ServersSampled
from console.values import CleanText
from tests.perf import mixed_hour
from tests.support.played import PlayedSession


@pytest.mark.parametrize("name", ["../../../victim", "/etc/victim"])
async def test_a_log_is_saved_in_its_folder(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "a" / "b" / "data"))
    session = PlayedSession(*mixed_hour.before(), hosts=[mixed_hour.HOST])
    listed = next(event for event in mixed_hour.before() if isinstance(event, ServersSampled))
    assert isinstance(listed.servers, tuple)
    evil = msgspec.structs.replace(listed.servers[0], id=CleanText(name))
    session.tell(msgspec.structs.replace(listed, servers=(evil,)))
    session.tell(ServerLogged(host=mixed_hour.HOST, server=CleanText(name), rows=(mixed_hour.line(0, 0),)))
    app = ConsoleApp(session)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("5", "e")
        await pilot.pause()
    saved = tmp_path / "a" / "b" / "data" / "gpudeck" / "saved"
    assert len(list(saved.iterdir())) == 2, "the log and the bundle"
    assert [path for path in tmp_path.rglob("*") if path.is_file() and path.parent != saved] == []
