"""Other keys for actions, by the action's id: what a user wrote, checked, and the table of intents that comes of it."""

from __future__ import annotations

import difflib
import unicodedata
from collections.abc import Mapping

from console.intents import BY_ID, INTENTS, Intent

# The names of keys that have no sign of their own, and the few signs that terminals call otherwise than Unicode.
_NAMED = frozenset({"space", "backspace", "delete", "insert", "home", "end", "pageup", "pagedown"}
                   | {f"f{number}" for number in range(1, 13)})  # fmt: skip
_SIGNS = {"solidus": "slash", "reverse_solidus": "backslash", "commercial_at": "at", "hyphen_minus": "minus",
          "plus_sign": "plus", "low_line": "underscore"}  # fmt: skip
# What a dialog, a list and the terminal itself need.
_KEPT = frozenset({"escape", "enter", "tab", "up", "down", "left", "right", "ctrl+c", "ctrl+q", "ctrl+z"})

Changes = Mapping[str, str]


def key_id(text: str) -> str:
    """A key as the terminal calls it: `?` is question_mark, `ctrl+o` is itself. Empty when it is no key."""
    if len(text) == 1 and text.isprintable() and not text.isspace():
        if text.isalnum() and text.isascii():
            return text
        name = unicodedata.name(text, "").lower().replace("-", "_").replace(" ", "_")
        return _SIGNS.get(name, name)
    lead, plus, last = text.rpartition("+")
    if plus and lead in ("ctrl", "alt") and len(last) == 1 and last.isalnum() and last.isascii():
        return text
    return text if text in _NAMED or text in _KEPT else ""


def problem(changes: Changes) -> tuple[str, str] | None:
    """The first thing that is wrong: (the action it stands at, a sentence); None when every key is clear."""
    for action, text in changes.items():
        if action not in BY_ID:
            near = next(iter(difflib.get_close_matches(action, BY_ID, n=1, cutoff=0.5)), "")
            hint = f'nearest: "{near}"' if near else "docs/keys.md lists them"
            return action, f'keys: there is no action "{action}" ({hint})'
        key = key_id(text)
        if not key:
            return action, f'keys: {action}: "{text}" is no key; write one sign, a name like f5, or ctrl+o'
        if key in _KEPT:
            return action, f"keys: {action}: {text} is kept for dialogs, lists and the terminal"
    return _conflict(changes)


def _conflict(changes: Changes) -> tuple[str, str] | None:
    """Two actions of one kind of session on one key, where the table as it comes has none."""
    table = keyed(changes)
    for action in changes:
        mine = next(intent for intent in table if intent.id == action)
        for other in table:
            if other.id != action and set(mine.keys) & set(other.keys) and _meet(mine, other):
                return action, f"keys: {changes[action]} is {other.id}, too; give {other.id} another key as well"
    return None


def _meet(one: Intent, other: Intent) -> bool:
    return {one.where, other.where} != {"live", "replay"}


def keyed(changes: Changes) -> tuple[Intent, ...]:
    """The table with these keys in place of its own."""
    return tuple(
        intent._replace(keys=(key_id(changes[intent.id]),)) if intent.id in changes else intent for intent in INTENTS
    )
