"""`B`: measure the server that runs, with the preset that is typed. `e`: the run as CSV and SVG."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

import msgspec

from console.bench.formats import table_csv
from console.bench.presets import MAX_CONCURRENCY, PRESETS, Preset, estimate
from console.config.paths import runs_dir, write_private
from console.screens.charts import chart_of
from console.screens.deck import Deck
from console.screens.frame import Frame
from console.screens.handler import Handler
from console.screens.server_files import exported_server
from console.screens.server_keys import gone
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
    if server is None or server.seen is None or not server.present or server.phase != "ready":
        deck.notify("No server is ready on this box.", severity="warning")
        return
    name, server_id, seen = host.name, server.id, server.seen

    def refused(preset: Preset) -> str:
        return gone(deck, name, server_id, seen) or controls.bench(name, server_id, preset.name, preset.concurrency)

    def begin(preset: Preset) -> None:
        if why := refused(preset):
            deck.notify(f"{why} Nothing is measured.", severity="warning")
        else:
            deck.switch_mode("bench")

    def typed(text: str) -> Preset:
        if why := refused(preset := wished(text)):
            raise ValueError(why)
        return preset

    def answered(preset: Preset | None) -> None:
        if preset:
            deck.switch_mode("bench")

    if frame.argument:
        _confirm(deck, name, server_id, frame.argument, begin)
        return
    rows = [("box", name), ("measures", server_id)] + [(one.name, _price(one)) for one in PRESETS.values()]
    ask = AskDialog("Run a benchmark: which preset?", rows, typed, placeholder="sweep, or sweep -c 1,8,64")
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
    plain = re.sub(r"--preset[\s=]", " ", re.sub(r"--concurrency\b=?", "-c ", f"{text} "))
    words = re.sub(r"\s*,\s*", ",", plain).split()
    at = words.index("-c") if "-c" in words else len(words)
    name, *more = [*words[:at], *words[at + 2 :]] or ["smoke"]
    if name not in PRESETS:
        raise ValueError(f"There is no preset {name}: {', '.join(PRESETS)}.")
    if more:
        raise ValueError(f"{more[0]} is not understood: a preset, and -c with commas between numbers: sweep -c 1,8,64.")
    preset = PRESETS[name]
    return preset if at == len(words) else msgspec.structs.replace(preset, concurrency=_users(words[at + 1 : at + 2]))


def _users(words: Sequence[str]) -> tuple[int, ...]:
    """The numbers of `1,8,64`, ascending; ValueError says what is wrong."""
    users = "".join(words).split(",")
    numbers = {int(one) for one in users if one.isdecimal() and len(one) < 9}
    if not all(one.isdecimal() for one in users) or min(numbers, default=0) < 1 or max(numbers) > MAX_CONCURRENCY:
        raise ValueError(f"-c takes numbers from 1 to {MAX_CONCURRENCY} with commas, such as -c 1,8,64.")
    return tuple(sorted(numbers))


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
