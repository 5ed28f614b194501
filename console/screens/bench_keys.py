"""`B`: measure the server that runs, with the preset that is typed. `e`: the run as CSV and SVG."""

from __future__ import annotations

from collections.abc import Mapping

from console.bench.formats import table_csv
from console.bench.presets import PRESETS, estimate
from console.config.paths import runs_dir, write_private
from console.screens.charts import chart_of
from console.screens.deck import Deck
from console.screens.frame import Frame
from console.screens.handler import Handler
from console.screens.server_files import exported_server
from console.values import format_duration
from console.views.bench import recorded_run
from console.views.bench_pane import curve_figure, latest
from console.views.serve import main_server
from widgets.chart_svg import to_svg
from widgets.dialog import AskDialog


def _bench(deck: Deck, frame: Frame) -> None:
    controls, host = deck.session.controls, frame.host
    server = main_server(host) if host else None
    if controls is None or host is None:
        return
    if server is None or not server.present or server.phase != "ready":
        deck.notify("No server is ready on this box.", severity="warning")
        return
    name, server_id = host.name, server.id

    def answered(text: str | None) -> None:
        preset = (text or "").strip()
        if not preset:
            return
        if preset not in PRESETS:
            deck.notify(f"There is no preset {preset}: {', '.join(PRESETS)}.", severity="warning")
            return
        if refused := controls.bench(name, server_id, preset):
            deck.notify(refused, severity="warning")
            return
        deck.switch_mode("bench")

    rows = [("measures", f"{server_id}")] + [(one.name, _price(one.name)) for one in PRESETS.values()]
    deck.push_screen(AskDialog("Bench: which preset?", rows), answered)


def _price(name: str) -> str:
    cost = estimate(PRESETS[name])
    return f"{cost.points} points, about {format_duration(cost.likely_s)}, at most {format_duration(cost.longest_s)}"


def _export(deck: Deck, frame: Frame) -> None:
    """The run that is shown, as CSV and SVG beside its stored files; on screen 5 the server's log and bundle."""
    if exported_server(deck, frame):
        return
    run = latest(frame.host)
    if run is None or not run.points:
        deck.notify("No point is measured yet.", severity="warning")
        return
    folder = runs_dir() / run.began.run / "exports"
    try:
        write_private(folder / "points.csv", table_csv([recorded_run(run)]).encode())
        write_private(folder / "throughput.svg", to_svg(chart_of(curve_figure(run))).encode())
    except OSError as error:
        deck.notify(f"{folder} cannot be written: {error.strerror}", severity="error")
        return
    deck.notify(f"points.csv and throughput.svg are in {folder}")


HANDLERS: Mapping[str, Handler] = {"bench": _bench, "export": _export}
