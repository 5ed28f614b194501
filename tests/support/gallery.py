"""One app that shows every widget with made-up contents: for frames, costs and the eye."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical

from tests.support.frames import StyledApp
from widgets.cells import Bar, Cell, Line, Row, State
from widgets.chart import ChartView
from widgets.chart_model import Axis, Chart, Level, Series
from widgets.gate_list import Gate, GateList
from widgets.header_bar import HeaderBar, Part
from widgets.layout import Column
from widgets.line_table import LineTable
from widgets.lines import Lines
from widgets.log_lines import LogLine
from widgets.log_view import LogView
from widgets.next_line import KeyHint, NextLine
from widgets.pane import Hint, Pane
from widgets.phase_bar import Phase, PhaseBar
from widgets.sparkline import Sparkline
from widgets.transfer_list import Transfer, TransferList

GPU_COLUMNS = (
    Column("#", 1, align="right"),
    Column("util", 6, flex=1),
    Column("", 4, align="right"),
    Column("memory", 8, flex=2, priority=3),
    Column("GiB", 9, align="right"),
    Column("°C", 3, align="right"),
    Column("W", 4, align="right", priority=2),
    Column("state", 9),
    Column("owner", 14, flex=2, priority=1),
)


def gpu_rows(beat: int = 0) -> list[Row]:
    """Eight GPUs; a healthy full one is calm, three deviate."""
    words: dict[int, State] = {2: State("fail", "lost"), 4: State("warn", "thermal"), 7: State("warn", "bob too")}
    return [
        Row(
            (
                Cell(str(index), "dim"),
                Bar(None if index == 2 else (96 - (index + beat) % 5) / 100),
                Cell("?" if index == 2 else f"{96 - (index + beat) % 5}%", "unknown" if index == 2 else ""),
                Bar(None if index == 2 else 0.904, tick=0.905),
                Cell("unknown" if index == 2 else "86.4/95.6", "unknown" if index == 2 else ""),
                Cell(str(62 + index)),
                Cell(str(402 + index), "label"),
                words.get(index, State("ok", "ok")),
                Cell(f"root sglang TP{index}", "label"),
            ),
            key=str(index),
        )
        for index in range(8)
    ]


GATES = (
    Gate("ok", "pass", "disk", "6.9 GB (6.4 GiB) + 10 % = 7.6 GB → /data has 593.0 GB"),
    Gate(
        "fail",
        "block",
        "access",
        "z-lab/Kimi-K2.6-DFlash is gated, and hf:alice has not accepted its licence",
        ("accept it at https://huggingface.co/z-lab/Kimi-K2.6-DFlash, then press r", "choose another drafter"),
    ),
    Gate("unknown", "unknown", "memory", "the size of the drafter is not known: 模型 has no config"),
)
PHASES = (
    Phase("ok", "spawn", "1 s"),
    Phase("ok", "weights", "214 s"),
    Phase("busy", "graphs", "12/64 · eta 40 s", ratio=0.19),
    Phase("off", "warmup"),
)
TRANSFERS = (
    Transfer("model-00001-of-00064.safetensors", "busy", "fetching", 0.81, "43.0/54.0 GB", "612.0 MB/s", "18 s"),
    Transfer("README.md", "ok", "stored", 1.0, "12.0 kB"),
    Transfer("模型文件.bin", "unknown", "no size", None),
)
CHART = Chart(
    Axis("concurrency", log=True),
    Axis("output tok/s", zero=True),
    (
        Series("TP8", [1, 4, 16, 64, 256], [98, 360, 1200, 3900, 6100]),
        Series("EP8", [1, 4, 16, 64, 256], [70, 300, None, 3100, 5100], flagged=frozenset({4})),
        Series("last week", [1, 4, 16, 64, 256], [90, 330, 1100, 3500, 5600], ghost=True),
    ),
    (Level(5000, "goal"),),
)


def log_lines(first: int, count: int) -> list[LogLine]:
    """Lines as a server writes them."""
    return [
        LogLine(
            f"Decode batch. #running-req: 64, #token: {number}, token usage: 0.71, gen throughput (token/s): 2914.2",
            level="warning" if number % 9 == 8 else "info",
            rank=f"TP{number % 8}",
            time=f"12:41:{number % 60:02}",
        )
        for number in range(first, first + count)
    ]


class Gallery(StyledApp):
    """Everything on one screen."""

    CSS = "#left, #right { width: 1fr; height: auto; } #top { height: auto; } #logs, #chart { height: 1fr; }"

    def compose(self) -> ComposeResult:
        yield HeaderBar()
        yield NextLine()
        yield Pane("GPUs", LineTable(GPU_COLUMNS, fold=True, cursor=True, id="gpu-table"), id="gpus")
        yield Horizontal(
            Vertical(Pane("Fit", GateList(), PhaseBar(), id="fit"), id="left"),
            Vertical(Pane("Hugging Face", TransferList(), Sparkline("tok/s"), Lines(), id="hub"), id="right"),
            id="top",
        )
        yield Pane("Bench", ChartView(), id="chart")
        yield Pane("Log", LogView(), id="logs")

    def on_mount(self) -> None:
        self.query_one("#gpus", Pane).set_foot([Hint("u", "users")])
        self.query_one("#logs", Pane).set_foot([Hint("/", "find"), Hint("&", "filter")])
        left = [
            Part((Cell("gpudeck", "strong"),), 5),
            Part((Cell("ct200 ", "strong"), State("ok", "up"))),
            Part((Cell("via bastion", "label"),), 3),
            Part((State("busy", "REC"),), 1),
        ]
        self.query_one(HeaderBar).set_parts(left, [Part((Cell("12:41:07Z", "dim"),), 2)])
        keys = [KeyHint("enter", "open page"), KeyHint("r", "check again")]
        self.query_one(NextLine).set_next("fail", "drafter z-lab/Kimi-K2.6-DFlash is GATED for hf:alice", keys, "1/3")
        self.query_one("#gpu-table", LineTable).set_rows(gpu_rows())
        self.query_one("#gpus", Pane).set_title("GPUs", "8× RTX PRO 6000 96 GB")
        self.query_one(GateList).set_gates(GATES)
        self.query_one(PhaseBar).set_phases(PHASES)
        self.query_one(TransferList).set_transfers(TRANSFERS)
        self.query_one(Sparkline).set_values([1.0, 5.0, None, 8.0, 9.0, 10.0] * 20, "2 914 tok/s")
        self.query_one("#hub Lines:last-of-type", Lines).set_lines(
            [Line((State("ok", "READY"), Cell("  01:12:09", "label")), (Cell("9 s ago", "dim"),))]
        )
        self.query_one(ChartView).set_chart(CHART)
        self.query_one(LogView).extend(log_lines(0, 40))
