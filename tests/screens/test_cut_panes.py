"""What has no room in a pane is seen to be missing."""

from __future__ import annotations

from textual.app import ComposeResult

from tests.support.frames import StyledApp, frame
from widgets.cells import Cell, Line
from widgets.lines import Lines
from widgets.pane import Pane


class Panes(StyledApp):
    CSS = "#low { max-height: 4; height: auto; } #high { height: auto; }"

    def compose(self) -> ComposeResult:
        for name in ("low", "high"):
            upper, lower = Lines(), Lines()
            upper.set_lines([Line((Cell("first"),)), Line((Cell("second"),))])
            lower.set_lines([Line((Cell("third"),))])
            yield Pane(name, upper, lower, id=name)


async def test_a_pane_that_ends_before_its_text_ends_with_an_ellipsis() -> None:
    app = Panes()
    async with app.run_test(size=(20, 12)) as pilot:
        await pilot.pause()
        lines = [line.strip("│ ") for line in frame(app).splitlines()]
        assert lines[1:3] == ["first", "second …"]
        assert lines[5:8] == ["first", "second", "third"]
