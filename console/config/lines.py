"""The line of every key of a TOML text. `tomllib` has read the text before, so that it is known to be well formed."""

from __future__ import annotations

import re
import tomllib

Path = tuple[str | int, ...]

_BLANK = re.compile(r"(?:[ \t\r\n]|#[^\n]*)+")
_STRINGS = (
    re.compile(r'"""(?:\\.|[^\\])*?"{3,5}', re.DOTALL),
    re.compile(r"'''.*?'{3,5}", re.DOTALL),
    re.compile(r'"(?:\\.|[^"\\\n])*"'),
    re.compile(r"'[^'\n]*'"),
)
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_BARE_VALUE = re.compile(r"[^,\]}#\n]+")
_SPACE = re.compile(r"[ \t]*")


def key_lines(text: str) -> dict[Path, int]:
    """Path of each key, table and array element → its line, from 1. Arrays of tables count from 0."""
    return _Scanner(text).scan()


class _Scanner:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = self.marked = 0
        self.line = 1
        self.lines: dict[Path, int] = {}
        self.arrays: dict[Path, int] = {}

    def scan(self) -> dict[Path, int]:
        prefix: Path = ()
        while True:
            self.skip(_BLANK)
            if self.at >= len(self.text):
                return self.lines
            if self.text[self.at] == "[":
                prefix = self.header()
            else:
                self.pair(prefix)

    def skip(self, pattern: re.Pattern[str]) -> str:
        found = pattern.match(self.text, self.at)
        self.at = found.end() if found else self.at
        return found.group() if found else ""

    def mark(self, path: Path) -> None:
        """The first mention counts, for each table above, too."""
        self.line += self.text.count("\n", self.marked, self.at)
        self.marked, line = self.at, self.line
        for length in range(1, len(path) + 1):
            self.lines.setdefault(path[:length], line)

    def header(self) -> Path:
        start = self.at
        is_array = self.text.startswith("[[", self.at)
        self.at += 2 if is_array else 1
        keys = self.dotted()
        end = self.at
        path: Path = ()
        for key in keys[:-1]:
            path = self.inside((*path, key))
        path = (*path, keys[-1])
        if is_array:
            self.arrays[path] = self.arrays.get(path, -1) + 1
            path = (*path, self.arrays[path])
        self.at = start
        self.mark(path)
        self.at = end
        self.skip(_SPACE)
        self.at += 2 if is_array else 1
        return path

    def inside(self, path: Path) -> Path:
        """A table under `[[x]]` belongs to its last element."""
        return (*path, self.arrays[path]) if path in self.arrays else path

    def pair(self, prefix: Path) -> None:
        start = self.at
        path = (*prefix, *self.dotted())
        end, self.at = self.at, start
        self.mark(path)
        self.at = end + 1  # the sign =
        self.skip(_SPACE)
        self.value(path)

    def dotted(self) -> list[str]:
        keys: list[str] = []
        while True:
            self.skip(_SPACE)
            keys.append(self.key())
            self.skip(_SPACE)
            if self.text[self.at] != ".":
                return keys
            self.at += 1

    def key(self) -> str:
        bare = self.skip(_BARE_KEY)
        if bare:
            return bare
        quoted = self.skip(_STRINGS[2]) or self.skip(_STRINGS[3])
        return str(tomllib.loads(f"key = {quoted}")["key"])

    def value(self, path: Path) -> None:
        opening = self.text[self.at]
        if opening in "[{":
            self.container(path, opening)
        elif not any(self.skip(pattern) for pattern in _STRINGS):
            self.skip(_BARE_VALUE)

    def container(self, path: Path, opening: str) -> None:
        self.at += 1
        index = 0
        while True:
            self.skip(_BLANK)
            if self.text[self.at] in "]}":
                self.at += 1
                return
            if self.text[self.at] == ",":
                self.at += 1
            elif opening == "{":
                self.pair(path)
            else:
                self.mark((*path, index))
                self.value((*path, index))
                index += 1
