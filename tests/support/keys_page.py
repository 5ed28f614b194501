"""The page of all keys, from the table of intents: `python -m tests.support.keys_page` writes docs/keys.md."""

from __future__ import annotations

from pathlib import Path

from console.intents import INTENTS, Intent, key_name

PAGE = Path(__file__).parents[2] / "docs" / "keys.md"
HEAD = """\
# Keys

<!-- Written by `make keys` from console/intents.py. -->

Lower case looks, upper case changes the box; `N`, a note for the record and the report, and `space` on a job are the
exceptions. `?` shows the keys of the session at hand, and `:` finds any of these actions by name. In read-only mode,
and in a replay, what would change the box is taken away.

Besides: `tab` and the arrows move between panes and rows, `enter` opens what is under the cursor, `esc` leaves a
dialog and changes nothing. In a pane with a chart, `t` shows its numbers as a table; on screen 6, `c` shows the next
curve of the run. `HOST` is the box on screen.

The mouse does what keys do: a click on a key, wherever one is named, on a screen in the last line, on a box or the
alerts in the header, on a row (twice: `enter`), on a pane's title (zoom), on the bar of a replay (go there); the wheel
scrolls, dragging selects for `y`.

The palette takes arguments, too: `serve start NAME`, `deploy NAME`, `preflight NAME`, `bench sweep -c 1,8,64`,
`jobs stop ID`, `note TEXT`, in a replay `go to 00:14:00`. It suggests what there is, and shows the command line; what
it cannot take is said, and `enter` goes back to what was typed.

A text to find or to filter by stays in sight below its list as long as it is in force: the same key corrects it, `esc`
takes it away. On the screen of a recipe's gates `r` asks them again and `E` edits the flags that they refused.
"""
OTHER_KEYS = """\
## Other keys

An action has an id, the last column. `[keys]` of the configuration (`gpudeck config path` says where it lies) gives it
another key:

```toml
[keys]
deploy = "ctrl+d"
note = "f5"
jump = ";"
```

A key is one sign, a name like `f5` or `space`, or `ctrl+` or `alt+` with a letter. What is no action or no key, what
two actions of one session would share, and what dialogs and the terminal need, is an error with file and line. `?`,
the footer and NEXT show the keys in force. A key that means nothing does nothing.
"""
REPLAY = """\
## In a replay

A key that needs a live box says that this is a replay.
"""
COLUMNS = "| key | title | does | changes the box | at the command line | id |\n|---|---|---|---|---|---|\n"


def keys_page() -> str:
    """The whole page: the keys of a live session, then those that only a replay has."""
    live = [intent for intent in INTENTS if intent.where != "replay"]
    replay = [intent for intent in INTENTS if intent.where == "replay"]
    return f"{HEAD}\n{_table(live)}\n{REPLAY}\n{_table(replay)}\n{OTHER_KEYS}"


def _table(intents: list[Intent]) -> str:
    return COLUMNS + "".join(_row(intent) for intent in intents)


def _row(intent: Intent) -> str:
    keys = " ".join(f"`{key_name(key)}`" for key in intent.keys)
    twin = f"`{intent.command.format(host='HOST')}`" if intent.command else ""
    return f"| {keys} | {intent.title} | {intent.help} | {'yes' if intent.changes else ''} | {twin} | `{intent.id}` |\n"


if __name__ == "__main__":
    PAGE.write_text(keys_page(), "utf-8")
