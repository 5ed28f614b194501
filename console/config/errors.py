"""A configuration that cannot be used: one sentence with file and line. The command line makes it exit 2."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class ConfigError(Exception):
    """`file` is None for the environment, the command line and what is typed; `line` counts from 1, None for all."""

    def __init__(self, file: str | None, line: int | None, sentence: str) -> None:
        place = f"{file}:{line}" if file and line else f"line {line}" if line else file or ""
        super().__init__(f"{place}: {sentence}" if place else sentence)
        self.file = file
        self.line = line
        self.sentence = sentence


def nearest(word: str, candidates: Iterable[str]) -> str | None:
    """The candidate most like `word`, or None when none is like it."""
    return next(iter(difflib.get_close_matches(word, list(candidates), n=1, cutoff=0.55)), None)


def unknown_key(word: str, candidates: Iterable[str]) -> str:
    """The sentence about a key that does not exist."""
    names = sorted(candidates)
    near = nearest(word, names)
    hint = f'nearest: "{near}"' if near else f"known: {', '.join(names)}"
    return f'unknown key "{word}" ({hint})'
