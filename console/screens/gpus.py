"""The GPU pane; what wears out and how the GPUs are joined, for the host screen."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar, cast

from console.screens.frame import Frame
from console.screens.pane import DeckPane
from console.state import HostState
from console.values import Unknown, known
from console.views.gpu_health import HealthRow, health_rows, mig_lines
from console.views.gpus import GpuRow, gpu_notes, gpu_rows, gpu_summary, gpu_title
from console.views.topology import all_reduce_of, path_matrix
from console.views.xids import xid_lines
from widgets.cells import Bar, Cell, Line, Row, Spark, State, StateKind
from widgets.layout import Column
from widgets.line_table import LineTable
from widgets.lines import Lines

COLUMNS = (
    Column("#", 2, align="right"),
    Column("util", 6, flex=2, priority=2),
    Column("%", 4, align="right"),
    Column("memory", 6, flex=3, priority=3),
    Column("GiB", 11, align="right"),
    Column("°C", 4, align="right"),
    Column("W", 4, align="right", priority=1),
    Column("MHz", 5, align="right", priority=5),
    Column("state", 9),
    Column("last minutes", 12, flex=2, priority=6),
    Column("owner", 15, flex=4, priority=4),
)
HEALTH_COLUMNS = (
    Column("#", 2, align="right"),
    Column("bus", 12, priority=4),
    Column("ECC u/c", 8, align="right"),
    Column("rows u/c", 11, align="right"),
    Column("PCIe", 11),
    Column("NVLink", 6, align="right", priority=1),
    Column("limited by", 12, flex=1),
    Column("kWh", 7, align="right", priority=3),
    Column("mode", 10, flex=2, priority=2),
)
_KINDS: dict[str, StateKind] = {"fail": "fail", "warn": "warn", "info": "off", "ok": "ok", "unknown": "unknown"}


class GpuPane(DeckPane):
    """All GPUs of the box, one line each."""

    slices: ClassVar = ("hardware",)

    def __init__(self) -> None:
        self._table = LineTable(COLUMNS, fold=True, empty="waiting for the first sample", id="gpu-table")
        super().__init__("GPUs", self._table, focusable=True, id="gpus")

    def data_t(self, frame: Frame) -> float | Unknown:
        return frame.host.hardware.gpus_t if frame.host else Unknown("no box")

    def show(self, frame: Frame) -> None:
        host = frame.host
        if host is None:
            return
        gpus = host.hardware.gpus
        self.set_title("GPUs", gpu_title(host))
        self.set_foot(gpu_summary(host))
        asked = known(gpus) or known(host.hardware.gpus_t)
        answer = "no GPU on this box" if known(gpus) else f"unknown: {gpus.reason}"
        self._table.set_empty(answer if asked else "waiting for the first sample")
        self._table.set_rows([_row(row) for row in gpu_rows(host, frame.now)])


def _row(row: GpuRow) -> Row:
    calm = "" if row.kind == "ok" else row.kind
    return Row(
        (
            Cell(row.number, "dim"),
            Cell(row.mode, "dim") if row.mode else Bar(row.util, "bar-busy"),
            Cell(row.util_text, calm),
            Bar(row.memory),
            Cell(row.memory_text, calm),
            Cell(row.heat_text, row.kind if row.word in ("HOT", "SLOW") else "label"),
            Cell(row.power_text, "dim" if row.capped else "label"),
            Cell(row.clock_text, "label"),
            State(cast(StateKind, row.kind), row.word),
            Spark(row.history, high=1.0),
            Cell(row.owner, "label"),
        ),
        key=row.uuid,
    )


class GpuHealthPane(DeckPane):
    """What wears out, what holds the clocks down, and everything that deserves attention as a sentence."""

    slices: ClassVar = ("hardware",)

    def __init__(self) -> None:
        self._table = LineTable(HEALTH_COLUMNS, empty="not read yet", id="health-table")
        self._notes = Lines(wrap=True, id="health-notes")
        super().__init__("GPU health", self._table, self._notes, focusable=True, id="health")

    def show(self, frame: Frame) -> None:
        host = frame.host
        if host is None:
            return
        self._table.set_rows([_health(row) for row in health_rows(host, frame.now)])
        self._notes.set_lines(list(_notes(host, frame.now)) or [Line((State("ok", "nothing stands out"),))])


def _notes(host: HostState, now: float) -> Iterable[Line]:
    gpus = host.hardware.gpus
    if not known(gpus):
        yield _said("unknown", f"unknown: {gpus.reason}")
    for note in gpu_notes(host, now):
        yield _said(note.finding.kind, f"{note.who}: {note.finding.sentence}")
    for kind, sentence in xid_lines(host, now):
        yield _said(kind, sentence)
    for sentence in mig_lines(host):
        yield _said("info", sentence)


def _said(kind: str, sentence: str) -> Line:
    return Line((State(_KINDS[kind], ""), Cell(f" {sentence}", "" if kind != "info" else "label")), indent=2)


def _health(row: HealthRow) -> Row:
    return Row(
        (
            Cell(row.number, "dim"),
            Cell(row.bus, "dim"),
            Cell(row.ecc, row.ecc_ink or "label"),
            Cell(row.remapped, row.remapped_ink or "label"),
            Cell(row.pcie, row.pcie_ink or "label"),
            Cell(row.nvlinks, "label"),
            Cell(row.limits, row.limits_ink),
            Cell(row.energy, "label"),
            Cell(row.settings, "label"),
        ),
        key=row.uuid,
    )


class LinksPane(DeckPane):
    """The matrix of paths between the GPUs, and what it means for an all-reduce."""

    slices: ClassVar = ("hardware",)

    def __init__(self) -> None:
        self._lines = Lines(wrap=True, id="link-lines")
        super().__init__("GPU links", self._lines, focusable=True, id="links")

    def show(self, frame: Frame) -> None:
        if frame.host is not None:
            self._lines.set_lines(list(_links(frame.host)))


def _links(host: HostState) -> Iterable[Line]:
    outlook, gpus, topology = all_reduce_of(host), host.hardware.gpus, host.hardware.topology
    if outlook is None or topology is None or not known(gpus):
        yield Line((Cell("not read yet", "dim"),))
        return
    yield Line((State(_KINDS[outlook.kind], ""), Cell(f" {outlook.sentence}")), indent=2)
    iommu = topology.iommu if known(topology.iommu) else f"unknown ({topology.iommu.reason})"
    yield Line((Cell(f"IOMMU {iommu}", "label"),))
    numbers = [str(gpu.identity.index) for gpu in gpus.values()]
    if len(numbers) > 1:
        yield Line((Cell("    " + "".join(f"{number:>5}" for number in numbers), "head"),))
        for number, cells in zip(numbers, path_matrix(topology, list(gpus)), strict=True):
            yield Line((Cell(f"{number:>4}", "dim"), Cell("".join(f"{cell:>5}" for cell in cells), "label")))
