"""All keys in one read of the terminal lead to where the same keys lead when each waits for the one before."""

from __future__ import annotations

import pytest

from console.app import ConsoleApp
from tests.screens.test_first_screens import HEALTHY
from tests.support.played import PlayedSession
from tests.support.typed import told, types


def live() -> ConsoleApp:
    return ConsoleApp(PlayedSession(*HEALTHY, hosts=["ct200"]))


async def ends(app: ConsoleApp, text: str, *, slowly: bool) -> dict[str, object]:
    async with app.run_test(size=(80, 24), notifications=True) as pilot:
        await types(app, pilot, text, slowly=slowly)
        return told(app)


PALETTE = ': quitx <enter> "y" <down> <enter> <enter>'  # no such action: nothing is done, least of all what `quit` does
SCROLLS = "? jj <pagedown> <pagedown> j <escape> 2 <pagedown> jj <ctrl+o> dz"
ASKED = ": note <enter> h <enter> 5 / up <enter> n : jobs <down> <up> <enter>"
AROUND = "8 0 jk / ct <enter> <enter> 3 <tab> z <escape> a <escape> E x N one <tab> <tab> <enter>"


@pytest.mark.parametrize(
    "text", [SCROLLS, *(pytest.param(one, marks=pytest.mark.slow) for one in (PALETTE, ASKED, AROUND))]
)
async def test_a_burst_ends_where_slow_keys_end(text: str) -> None:
    assert await ends(live(), text, slowly=False) == await ends(live(), text, slowly=True)
