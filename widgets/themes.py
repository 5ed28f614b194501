"""The themes, and what the environment says about colour.

A theme gives values to the variables that `console.tcss` uses; which ink takes which variable stands there.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, MutableMapping
from typing import Any

from textual.app import App
from textual.theme import Theme

DARK = "gpudeck-dark"
LIGHT = "gpudeck-light"
CONTRAST = "gpudeck-contrast"
ANSI = "gpudeck-ansi"


def _variables(inks: str, series: str, styles: Mapping[str, str] | None = None) -> dict[str, str]:
    """Variables of a theme from `name value` lines and the eight series colours."""
    variables = dict(line.split() for line in inks.strip().splitlines())
    variables |= {f"series-{index}": colour for index, colour in enumerate(series.split())}
    variables |= {"dim-style": "none", "stale-opacity": "55%", "stale-style": "none", "cursor-style": "none"} | dict(
        styles or {}
    )
    variables |= {
        "block-cursor-background": variables["cursor"],
        "block-cursor-foreground": variables["cursor-text"],
        "footer-key-foreground": variables["key"],
        "input-selection-background": variables["cursor"],
        "border": variables["line-focus"],
        "border-blurred": variables["line"],
        "scrollbar": variables["line"],
        "scrollbar-hover": variables["line-focus"],
        "scrollbar-active": variables["line-focus"],
        "scrollbar-background": variables["ground"],
        "scrollbar-background-hover": variables["ground"],
        "scrollbar-background-active": variables["ground"],
        "scrollbar-corner-color": variables["ground"],
    }
    return variables


_DARK = """
ground #10151b
badge-text #10151b
ok #87c095
warn #e6b455
fail #ff8178
unknown #b7a5e0
busy #79b8ff
stale #8d99a6
off #8d99a6
strong #f3f6f9
dim #8794a1
label #a3b1bf
key #8fc7ff
bar #44708f
bar-ok #4f8560
bar-busy #4a8fd6
track #3b4856
tick #f3f6f9
line #33404d
line-focus #79b8ff
cursor #24405c
cursor-text #f3f6f9
cursor-blurred #1d2a36
match #e6b455
match-text #10151b
"""

_LIGHT = """
ground #fbfbf9
badge-text #fbfbf9
ok #2c6b41
warn #855300
fail #b3231b
unknown #6546a8
busy #1a5fb0
stale #65707b
off #65707b
strong #0d1216
dim #5d6873
label #46515c
key #1a5fb0
bar #8db3d3
bar-ok #8fbf9d
bar-busy #5c9ee0
track #b9c1c9
tick #0d1216
line #c3cad1
line-focus #1a5fb0
cursor #cfe2f7
cursor-text #0d1216
cursor-blurred #e6edf4
match #ffd978
match-text #0d1216
"""

_CONTRAST = """
ground #000000
badge-text #000000
ok #5aa9ff
warn #ffe066
fail #ffab4a
unknown #e0c8ff
busy #9fd0ff
stale #b8b8b8
off #b8b8b8
strong #ffffff
dim #c2c2c2
label #dcdcdc
key #ffe066
bar #3d8fe0
bar-ok #3d8fe0
bar-busy #5aa9ff
track #6e6e6e
tick #ffffff
line #8c8c8c
line-focus #ffe066
cursor #1d4a80
cursor-text #ffffff
cursor-blurred #333333
match #ffe066
match-text #000000
"""

_ANSI = """
ground ansi_default
badge-text ansi_black
ok ansi_green
warn ansi_yellow
fail ansi_red
unknown ansi_magenta
busy ansi_cyan
stale ansi_default
off ansi_default
strong ansi_default
dim ansi_default
label ansi_default
key ansi_cyan
bar ansi_blue
bar-ok ansi_green
bar-busy ansi_cyan
track ansi_default
tick ansi_default
line ansi_default
line-focus ansi_cyan
cursor ansi_default
cursor-text ansi_default
cursor-blurred ansi_default
match ansi_yellow
match-text ansi_black
"""

THEMES = (
    Theme(
        DARK, primary="#79b8ff", secondary="#a3b1bf", accent="#79b8ff", warning="#e6b455", error="#ff8178",
        success="#87c095", foreground="#d5dde5", background="#10151b", surface="#10151b", panel="#19212a",
        variables=_variables(_DARK, "#6fb3f7 #f2ae57 #86d19a #dc94dd #f3857d #5fd3d3 #cfc46b #aaa2f5"),
    ),
    Theme(
        LIGHT, primary="#1a5fb0", secondary="#46515c", accent="#1a5fb0", warning="#855300", error="#b3231b",
        success="#2c6b41", foreground="#20272e", background="#fbfbf9", surface="#fbfbf9", panel="#eff1f2", dark=False,
        variables=_variables(_LIGHT, "#1f6fc4 #b35c00 #2c7a47 #97409a #bf3030 #007a80 #77690b #5a50c2"),
    ),
    Theme(
        CONTRAST, primary="#6cb8ff", secondary="#dcdcdc", accent="#ffe066", warning="#ffe066", error="#ff9a3d",
        success="#6cb8ff", foreground="#ffffff", background="#000000", surface="#000000", panel="#1a1a1a",
        variables=_variables(
            _CONTRAST, "#6cb8ff #ff9a3d #ffffff #ffe066 #3d8fe0 #d9701a #c2c2c2 #b3a000", {"cursor-style": "bold"}
        ),
    ),
    Theme(
        ANSI, primary="ansi_blue", secondary="ansi_cyan", accent="ansi_cyan", warning="ansi_yellow", error="ansi_red",
        success="ansi_green", foreground="ansi_default", background="ansi_default", surface="ansi_default",
        panel="ansi_default", boost="ansi_default", ansi=True,
        variables=_variables(
            _ANSI,
            "ansi_bright_blue ansi_yellow ansi_green ansi_magenta ansi_red ansi_cyan "
            "ansi_bright_yellow ansi_bright_magenta",
            {"dim-style": "dim", "stale-opacity": "100%", "cursor-style": "reverse", "ansi-background": "ansi_default"},
        ),
    ),
)  # fmt: skip


def register_themes(app: App[Any]) -> None:
    """Make the themes known to the app; call it in `__init__`, before `app.theme` is set."""
    for theme in THEMES:
        app.register_theme(theme)


def apply_no_color(env: MutableMapping[str, str] = os.environ) -> bool:
    """Make NO_COLOR mean what no-color.org says (any text but the empty one); call it before the App is made.

    Textual takes an empty one as set. When the answer is True, give the App `ansi_color=True` and the theme
    of `theme_for`: Textual then sends no colour at all, otherwise shades of grey.
    """
    if not env.get("NO_COLOR"):
        env.pop("NO_COLOR", None)
        return False
    return True


def theme_for(env: Mapping[str, str], wanted: str = "") -> str:
    """The theme to use: the ANSI one without colour or on a 16-colour terminal, else the wanted or the dark one."""
    if env.get("NO_COLOR"):
        return ANSI
    if wanted:
        return wanted
    term = env.get("TERM", "")
    few = term.endswith("-16color") or term in ("linux", "vt100", "vt220", "ansi", "screen", "xterm")
    return ANSI if few and env.get("COLORTERM", "") not in ("truecolor", "24bit") else DARK
