"""Widgets of a terminal console. They know Textual and nothing of the program around them.

Callers hand over plain rows of pieces (`widgets.cells`): `Cell(text, ink)`, `State(kind, word)`, `Bar(ratio)`,
`Spark(values)`. An ink is a style class of `console.tcss` (`ok warn fail unknown busy stale off dim label strong
key link bar head badge alarm replay series-0…7`; several with a space). Text is never markup. Widgets compare what
they are given with what they show and paint only what changed, so a pane may hand over everything each frame.
Every setter may be called before the widget is mounted.

The app calls `apply_no_color()` before it is made, `register_themes(self)` in `__init__`, sets
`self.theme = theme_for(os.environ, wanted)`, and for `--ascii` adds the class `glyphs.ASCII_CLASS` to itself.

Pane (frame; title, note, keys, age):
    pane = Pane("GPUs", LineTable(COLUMNS, id="gpus"))
    pane.set_foot([Hint("u", "users", "app.users")])
    pane.set_title("GPUs", "8× H200")
    pane.set_stale("stale 14 s")                                    # "" when fresh

LineTable (any list; `fold=True` puts rows side by side when the height is short):
    table = LineTable([Column("#", 2, align="right"), Column("memory", 8, flex=2, priority=1)], cursor=True)
    table.set_rows([Row((Cell("0", "dim"), Bar(0.9, tick=0.92)), key=uuid)])
    table.cursor_key; table.cursor_text; table.select(key)          # posts LineTable.Moved, LineTable.Chosen
    table.find("ep4"); table.set_filter("k26")                      # the same two as LogView's; n/p step

Lines (free lines; `wrap=True` breaks at spaces):
    lines = Lines(wrap=True)
    lines.set_lines([Line((State("ok", "READY"), Cell("  01:12:09", "label")), right=(Cell("9 s ago", "dim"),))])

HeaderBar, NextLine, GateList, PhaseBar, TransferList, Sparkline (one setter each):
    header.set_parts([Part((Cell("ct200", "strong"),)), Part((Cell("via bastion"),), priority=2)], right)
    next_line.set_next("fail", "drafter is GATED", [KeyHint("enter", "open page")], "1/3")
    gates.set_gates([Gate("fail", "block", "disk", "595.0 GB do not fit into …", ("free 2.1 GB", "use /data"))])
    phases.set_phases([Phase("ok", "spawn", "1 s"), Phase("busy", "weights", "12/64 · eta 40 s", ratio=0.19)])
    transfers.set_transfers([Transfer("model.safetensors", "busy", "fetching", 0.81, "43/54 GB", "612 MB/s", "18 s")])
    sparkline.set_values([1.0, None, 3.0], "2 914 tok/s")

LogView (a ring of 5,000 lines; keys: arrows, page, home/end, n/p for matches), with a FindBar under it:
    log.extend([LogLine(text, level="info", rank="TP0", time="12:41:05", progress="")])    # once a frame
    log.find("out of memory"); log.set_filter("TP3"); log.follow, log.new_lines             # posts FollowChanged
    log.extend_back(older_lines)                                     # the answer to the message OlderWanted
    find_bar.open("find")                                            # posts FindBar.Changed, FindBar.Closed

ChartView and the same chart as SVG (`ys` None is a gap; `flagged` are hollow):
    curves = (Series("TP8", xs, ys, lows, highs, flagged=frozenset({2})), Series("last week", xs2, ys2, ghost=True))
    chart = Chart(Axis("concurrency", log=True), Axis("tok/s", zero=True), curves, (Level(2000, "goal"),))
    view.set_chart(chart); svg = chart_svg.to_svg(chart)

Dialogs (screens for `app.push_screen(dialog, callback)`; escape and enter change nothing by default):
    ConfirmDialog("Stop the server", [("stops", "pid 41822")], yes="Stop it", twin="gpudeck serve ct200 stop")
    AskDialog("Token", [("stored on", "ct200")], str, secret=True)   # what `str` makes of the text, or None
    HostKeyDialog("ct200", "ssh-ed25519", "SHA256:…", via=["bastion"])
"""
