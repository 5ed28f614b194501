"""The page of all keys, from the table of intents: `python -m tests.support.keys_page` writes docs/keys.md."""

from __future__ import annotations

from pathlib import Path

from console.intents import INTENTS, Intent
from console.screens.base import key_name

PAGE = Path(__file__).parents[2] / "docs" / "keys.md"
HEAD = """\
# Keys

<!-- Written by `make keys` from console/intents.py. -->

Lower case looks, upper case changes the box; `N`, a note in the record alone, and `space` on a job are the
exceptions. `?` shows the keys of the session at hand, and `:` finds any of these actions by name. In read-only mode,
and in a replay, what would change the box is taken away.

Besides: `tab` and the arrows move between panes and rows, `enter` opens what is under the cursor, `esc` leaves a
dialog and changes nothing. In a pane with a chart, `t` shows its numbers as a table. `HOST` is the box on screen.
"""
REPLAY = """\
## In a replay

A key that needs a live box says that this is a replay.
"""
COLUMNS = "| key | title | does | changes the box | at the command line |\n|---|---|---|---|---|\n"


def keys_page() -> str:
    """The whole page: the keys of a live session, then those that only a replay has."""
    live = [intent for intent in INTENTS if intent.where != "replay"]
    replay = [intent for intent in INTENTS if intent.where == "replay"]
    return f"{HEAD}\n{_table(live)}\n{REPLAY}\n{_table(replay)}"


def _table(intents: list[Intent]) -> str:
    return COLUMNS + "".join(_row(intent) for intent in intents)


def _row(intent: Intent) -> str:
    keys = " ".join(f"`{key_name(key)}`" for key in intent.keys)
    twin = f"`{intent.command.format(host='HOST')}`" if intent.command else ""
    return f"| {keys} | {intent.title} | {intent.help} | {'yes' if intent.changes else ''} | {twin} |\n"


if __name__ == "__main__":
    PAGE.write_text(keys_page(), "utf-8")
