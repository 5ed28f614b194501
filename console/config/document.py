"""One TOML file: its values, where each stands, and the errors that name the place."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec

from console.config import lines
from console.config.errors import ConfigError, unknown_key
from console.config.records import Layer, Origin
from console.values import read_regular

MOST_BYTES = 1 << 20
# tomllib takes time that grows with the square of a key's dots.
_DEEP_KEY = re.compile(r"""(?<![\w"'-])(?:[\w"'-]+[ \t]*\.[ \t]*){64}""")

_AT_LINE = re.compile(r" \(at (?:line (\d+), column \d+|end of document)\)$")
_EXPECTED = re.compile(r"Expected `(.+?)`(?:, got `(.+?)`)?(?: - at `\$(.*)`)?$")
_RANGE = re.compile(r"Expected `\w+` (.+?)(?: - at `\$.*`)?$")
_TOML_NAMES = {
    "int": "a whole number", "float": "a number", "str": "a string", "bool": "true or false", "object": "a table",
    "array": "a list", "null": "nothing",
}  # fmt: skip


class Document:
    """A parsed file. `layer` says how far its values reach."""

    def __init__(self, file: str, text: str, layer: Layer) -> None:
        self.file = file
        self.layer = layer
        self._text = text
        if _DEEP_KEY.search(text):
            raise ConfigError(file, None, "is nested too deeply")
        try:
            self.data: dict[str, Any] = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise self._syntax_error(str(error)) from None
        except RecursionError:
            raise ConfigError(file, None, "is nested too deeply") from None

    @cached_property
    def _lines(self) -> dict[lines.Path, int]:
        return lines.key_lines(self._text)

    def line(self, path: lines.Path) -> int | None:
        """The line of a key; of the nearest table above when it has none of its own."""
        while path and path not in self._lines:
            path = path[:-1]
        return self._lines.get(path)

    def origin(self, path: lines.Path) -> Origin:
        """The origin of the value at `path`."""
        return Origin(self.layer, self.file, self.line(path))

    def error(self, path: lines.Path, sentence: str) -> ConfigError:
        """The error about the value at `path`."""
        return ConfigError(self.file, self.line(path), sentence)

    def _syntax_error(self, message: str) -> ConfigError:
        place = _AT_LINE.search(message)
        last = self._text.count("\n") + 1
        line = int(place[1]) if place and place[1] else last
        return ConfigError(self.file, line, f"not valid TOML: {_AT_LINE.sub('', message)}")

    def table(self, path: lines.Path) -> dict[str, Any]:
        """The table at `path`, empty when the file has none."""
        value: Any = self.data
        for key in path:
            value = value.get(key, {})
            if not isinstance(value, dict):
                raise self.error(path, f"{dotted(path)} must be a table")
        return dict(value)

    def fields(self, path: lines.Path, table_type: type[msgspec.Struct]) -> dict[str, Any]:
        """The table at `path` with every key known to `table_type` and every value of the key's type."""
        types = {field.name: field.type for field in msgspec.structs.fields(table_type)}
        values: dict[str, Any] = {}
        for key, value in self.table(path).items():
            if key not in types:
                raise self.error((*path, key), unknown_key(dotted((*path, key)), (dotted((*path, n)) for n in types)))
            try:
                values[key] = msgspec.convert(value, types[key])
            except msgspec.ValidationError as error:
                raise self.error((*path, key), type_sentence(dotted((*path, key)), str(error))) from None
        return values

    def allow(self, names: Collection[str]) -> None:
        """Refuse tables that this kind of file does not have."""
        for key in self.data:
            if key not in names:
                raise self.error((key,), unknown_key(key, names))

    def names(self, table: str) -> Iterator[str]:
        """The names of the tables `[table.NAME]`."""
        yield from self.table((table,))


def read_document(file: Path, layer: Layer) -> Document | None:
    """The file, or None when there is none."""
    try:
        text = read_regular(file, MOST_BYTES).decode("utf-8-sig")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise ConfigError(str(file), None, f"cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise ConfigError(str(file), error.object.count(b"\n", 0, error.start) + 1, "is not UTF-8 text") from None
    return Document(str(file), text, layer)


def dotted(path: lines.Path) -> str:
    """A key path as TOML writes it: `recipes."a b".port`."""
    bare = re.compile(r"[A-Za-z0-9_-]+")
    return ".".join(str(key) if bare.fullmatch(str(key)) else f'"{key}"' for key in path)


def type_sentence(key: str, message: str) -> str:
    """msgspec's message in the words of TOML."""
    found = _EXPECTED.search(message)
    if found and found[2]:
        wanted = " or ".join(_TOML_NAMES.get(name, name) for name in found[1].split(" | ") if name != "null")
        inside = found[3] or ""
        item = " each item" if "[" in inside else ""
        return f"{key}:{item} must be {wanted}, not {_TOML_NAMES.get(found[2], found[2])}"
    limit = _RANGE.search(message)
    return f"{key}: must be {limit[1]}" if limit else f"{key}: {message}"
