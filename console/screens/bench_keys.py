"""`B`: measure the server that runs, with the preset that is typed. `e`: the run as CSV and SVG."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec

from console.bench.formats import table_csv
from console.bench.presets import MAX_CONCURRENCY, PRESETS, Preset, estimate
from console.config.paths import runs_dir, write_private
from console.screens.charts import chart_of
from console.screens.deck import Deck
from console.screens.frame import Frame
from console.screens.handler import Handler
from console.screens.server_files import exported_server
from console.views.bench import recorded_run
from console.views.bench_pane import curve_figure, latest
from console.views.serve import main_server
from widgets.chart_svg import to_svg
from widgets.dialog import AskDialog, ConfirmDialog


def _bench(deck: Deck, frame: Frame) -> None:
    controls, host = deck.session.controls, frame.host
    server = main_server(host) if host else None
    if controls is None or host is None:
        return
    if server is None or not server.present or server.phase != "ready":
        deck.notify("No server is ready on this box.", severity="warning")
        return
    name, server_id = host.name, server.id

    def begin(preset: Preset) -> None:
        if refused := controls.bench(name, server_id, preset.name, preset.concurrency):
            deck.notify(refused, severity="warning")
        else:
            deck.switch_mode("bench")

    def answered(preset: Preset | None) -> None:
        if preset:
            begin(preset)

    if frame.argument:
        _confirm(deck, name, server_id, frame.argument, begin)
        return
    rows = [("box", name), ("measures", server_id)] + [(one.name, _price(one)) for one in PRESETS.values()]
    ask = AskDialog("Run a benchmark: which preset?", rows, wished, placeholder="sweep, or sweep -c 1,8,64")
    deck.push_screen(ask, answered)


def _confirm(deck: Deck, name: str, server: str, text: str, begin: Callable[[Preset], None]) -> None:
    """What was typed in the palette is shown before it begins."""
    try:
        preset = wished(text)
    except ValueError as error:
        deck.notify(str(error), severity="warning")
        return
    users = ",".join(map(str, preset.concurrency))
    rows = [("box", name), ("measures", server), ("preset", preset.name), ("concurrency", users)]
    twin = f"gpudeck bench {name} {flags_of(preset)}"
    dialog = ConfirmDialog("Run a benchmark", [*rows, ("takes", _price(preset))], yes="Measure", twin=twin)
    deck.push_screen(dialog, lambda yes: begin(preset) if yes else None)


def wished(text: str) -> Preset:
    """The preset of `sweep`, `sweep -c 1,8,64`, `--preset sweep --concurrency 1,8`; ValueError says what is wrong."""
    words = text.replace("--preset", " ").replace("--concurrency", "-c").split()
    name = words[0] if words and words[0] != "-c" else "smoke"
    if name not in PRESETS:
        raise ValueError(f"There is no preset {name}: {', '.join(PRESETS)}.")
    preset = PRESETS[name]
    if "-c" not in words:
        return preset
    users = "".join(words[words.index("-c") + 1 :]).split(",")
    numbers = tuple(int(one) for one in users if one.isdecimal())
    if len(numbers) != len(users) or not all(0 < one <= MAX_CONCURRENCY for one in numbers):
        raise ValueError(f"-c takes numbers from 1 to {MAX_CONCURRENCY} with commas, such as -c 1,8,64.")
    return msgspec.structs.replace(preset, concurrency=numbers)


def flags_of(preset: Preset) -> str:
    """A preset with its concurrencies, as the command line takes it."""
    return f"--preset {preset.name} --concurrency {','.join(map(str, preset.concurrency))}"


def _price(preset: Preset) -> str:
    return str(estimate(preset))


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
