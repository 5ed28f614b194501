"""The table at the keyboard and the mouse; what it paints and what it leaves alone."""

from textual.app import ComposeResult

from tests.support.frames import StyledApp, frame
from tests.support.gallery import GPU_COLUMNS, gpu_rows
from widgets.cells import Cell, Row
from widgets.layout import Column
from widgets.line_table import LineTable

COLUMNS = (Column("name", 8, flex=1), Column("size", 6, align="right", priority=1))


def rows(*names: str) -> list[Row]:
    return [Row((Cell(name), Cell(str(len(name)))), key=name) for name in names]


class TableApp(StyledApp):
    CSS = "LineTable { height: 1fr; }"

    def __init__(self, table: LineTable) -> None:
        super().__init__()
        self.table = table
        self.heard: list[tuple[str, str]] = []

    def compose(self) -> ComposeResult:
        yield self.table

    def on_line_table_moved(self, message: LineTable.Moved) -> None:
        self.heard.append(("moved", message.key))

    def on_line_table_chosen(self, message: LineTable.Chosen) -> None:
        self.heard.append(("chosen", message.key))


async def test_the_cursor_follows_its_row_when_the_order_changes() -> None:
    app = TableApp(LineTable(COLUMNS, cursor=True))
    async with app.run_test(size=(40, 10)) as pilot:
        app.table.set_rows(rows("a", "bb", "ccc"))
        app.table.focus()
        await pilot.press("down", "down")
        assert app.table.cursor_key == "ccc"
        app.table.set_rows(rows("ccc", "a", "bb"))
        assert app.table.cursor_key == "ccc"
        app.table.set_rows(rows("a", "bb"))
        assert app.table.cursor_key == "a"
        app.table.set_rows([])
        assert app.table.cursor_key == ""


async def test_keys_move_choose_and_stop_at_the_ends() -> None:
    app = TableApp(LineTable(COLUMNS, cursor=True))
    async with app.run_test(size=(40, 6)) as pilot:
        app.table.set_rows(rows(*(f"row{at:02}" for at in range(30))))
        app.table.focus()
        await pilot.press("up", "j", "j", "k", "enter")
        assert app.table.cursor_key == "row01"
        assert app.heard[-1] == ("chosen", "row01")
        await pilot.press("G")
        assert app.table.cursor_key == "row29"
        assert "row29" in frame(app)
        assert frame(app).startswith("name")
        await pilot.press("pageup", "g", "up")
        assert app.table.cursor_key == "row00"
        assert "row00" in frame(app).splitlines()[1]


async def test_the_mouse_does_what_the_keys_do() -> None:
    app = TableApp(LineTable(COLUMNS, cursor=True))
    async with app.run_test(size=(40, 8)) as pilot:
        app.table.set_rows(rows("a", "bb", "ccc"))
        await pilot.pause()
        await pilot.click(LineTable, offset=(3, 2))
        assert app.table.cursor_key == "bb"
        await pilot.click(LineTable, offset=(3, 2), times=2)
        assert app.heard[-1] == ("chosen", "bb")
        await pilot.click(LineTable, offset=(3, 6))
        assert app.table.cursor_key == "bb"


async def test_eight_gpus_fold_into_blocks_when_the_height_is_short() -> None:
    app = TableApp(LineTable(GPU_COLUMNS, fold=True))
    async with app.run_test(size=(80, 5)) as pilot:
        app.table.set_rows(gpu_rows())
        await pilot.pause()
        shown = frame(app).splitlines()
        assert len(shown) == 5
        assert shown[0].count("GiB") == 2
        for index in range(8):
            line = shown[1 + index // 2]
            assert f"{62 + index} " in line
        assert "! thermal" in shown[3]


class Counting(LineTable):
    painted: set[int]

    def render_line(self, y: int):  # type: ignore[no-untyped-def]
        self.painted.add(y)
        return super().render_line(y)


async def test_only_the_lines_that_changed_are_painted() -> None:
    table = Counting(COLUMNS)
    table.painted = set()
    app = TableApp(table)
    async with app.run_test(size=(40, 12)) as pilot:
        names = [f"row{at}" for at in range(8)]
        table.set_rows(rows(*names))
        await pilot.pause()
        table.painted.clear()
        table.set_rows(rows(*names))
        await pilot.pause()
        assert not table.painted
        names[4] = "other"
        table.set_rows(rows(*names))
        await pilot.pause()
        assert table.painted == {5}
        assert "other" in frame(app).splitlines()[5]


async def test_an_empty_table_says_why() -> None:
    app = TableApp(LineTable(COLUMNS, empty="no jobs on this box"))
    async with app.run_test(size=(40, 4)) as pilot:
        await pilot.pause()
        assert "no jobs on this box" in frame(app)
        app.table.set_empty("unknown: NVML hangs")
        await pilot.pause()
        assert "unknown: NVML hangs" in frame(app)


async def test_markup_in_remote_text_is_text() -> None:
    app = TableApp(LineTable(COLUMNS, cursor=True))
    async with app.run_test(size=(60, 4)) as pilot:
        app.table.set_rows(rows("[red]x[/red] [@click=app.exit]y[/]"))
        await pilot.pause()
        assert "[red]x[/red] [@click=app.exit]y[/]" in frame(app)


async def test_a_folded_table_unfolds_when_there_is_room_again() -> None:
    app = TableApp(LineTable(GPU_COLUMNS, fold=True, classes="auto"))
    async with app.run_test(size=(80, 20)) as pilot:
        app.table.styles.height = "auto"
        app.table.styles.max_height = "100%"
        app.table.set_rows(gpu_rows())
        for height, lines in ((20, 9), (5, 5), (20, 9)):
            await pilot.resize_terminal(80, height)
            await pilot.pause()
            shown = frame(app).splitlines()
            assert len([line for line in shown if line]) == lines
            assert shown[0].count("GiB") == (1 if lines == 9 else 2)


async def test_find_moves_the_cursor_and_filter_hides_rows() -> None:
    app = TableApp(LineTable(COLUMNS, cursor=True))
    async with app.run_test(size=(40, 10)) as pilot:
        app.table.set_rows(rows("alpha", "beta", "gamma", "Delta"))
        app.table.focus()
        assert app.table.find("ta") == 2
        assert app.table.cursor_key == "beta"
        await pilot.press("n")
        assert app.table.cursor_key == "Delta"
        await pilot.press("n")
        assert app.table.cursor_key == "beta"
        await pilot.press("p")
        assert app.table.cursor_key == "Delta"
        assert app.table.cursor_text == "Delta  5"
        assert app.table.set_filter("et") == 1
        await pilot.pause()
        assert app.table.cursor_key == "beta"
        assert "gamma" not in frame(app)
        app.table.set_rows(rows("beta", "et", "zeta"))
        assert [row.key for row in app.table.rows] == ["beta", "et", "zeta"]
        assert app.table.set_filter("") == 3
        assert app.table.find("nothing") == 0
