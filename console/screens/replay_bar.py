"""The bar of a replay: where it is, how fast it plays, how long it is."""

from __future__ import annotations

from console.session.player import Player
from widgets.cells import Bar, Cell, Line


def replay_line(player: Player) -> Line:
    """One line: position, speed, the clock, the keys."""
    now, whole = player.replay.now(), player.duration_s
    state = "paused" if player.paused else "ended" if player.replay.ended else "playing"
    return Line(
        (
            Cell(f" REPLAY {clock(now)} ", "replay"),
            Cell(f" {player.speed:g}×  ", "strong"),
            Cell(f"{state:<8}", "warn" if player.paused else "label"),
            Bar(now / whole if whole else 0.0, "bar-busy", width=30),
            Cell(f"  {clock(whole)}", "dim"),
        ),
        (
            Cell("space", "key"),
            Cell(" play  ", "dim"),
            Cell("{ }", "key"),
            Cell(" 10 s  ", "dim"),
            Cell("n", "key"),
            Cell(" next ", "dim"),
        ),
    )


def clock(seconds: float) -> str:
    """Seconds as HH:MM:SS."""
    whole = int(seconds)
    return f"{whole // 3600:02}:{whole // 60 % 60:02}:{whole % 60:02}"
