"""Takes secrets, names of boxes and people, and addresses out of data that leaves the laptop."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable, Iterator
from typing import Any

from msgspec import inspect

from console.events import ALL_EVENTS
from console.values.secrets import redact

# Fields whose text is a name, or holds names: `user@host:port`, `alice@laptop`.
_NAMES = {"host": "host", "hosts": "host", "hostname": "host", "via": "host", "target": "host", "user": "user",
          "who": "user", "by": "user"}  # fmt: skip
_PARTS = re.compile(r"(?:([^@\s]+)@)?\[?([^@\s\]]+?)\]?(?::\d+)?")
_EXPORT = re.compile(r"([^/:\s]+):/")
_HOME = re.compile(r"/(?:home|Users)/([^/\s\"']+)")
_V4, _V6 = r"\d{1,3}(?:\.\d{1,3}){3}", r"[0-9A-Fa-f]{0,4}(?::[0-9A-Fa-f]{0,4}){2,7}"
_ADDRESS = re.compile(rf"(?<![\w.:])(?:{_V4}|{_V6})(?!\w|\.\d)")
_NOBODY = {"root", "localhost", "local", "demo", "nobody", "none"}


def _words_of_schema() -> set[str]:
    """The values of all enums of all facts: a box that is called `up` must not break its own recording."""
    return {word for kind in inspect.multi_type_info(ALL_EVENTS) for word in _literals(kind)}


def _literals(kind: inspect.Type) -> Iterator[str]:
    if isinstance(kind, inspect.LiteralType):
        yield from (value for value in kind.values if isinstance(value, str))
    elif isinstance(kind, inspect.StructType):
        yield from (word for field in kind.fields for word in _literals(field.type))
    elif isinstance(kind, inspect.UnionType):
        yield from (word for part in kind.types for word in _literals(part))
    elif isinstance(kind, inspect.VarTupleType):
        yield from _literals(kind.item_type)


class Scrubber:
    """Each name becomes `host-1`, `user-2` …, the same everywhere. `learn` first, then `clean`."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self._counts: dict[str, int] = {}
        self._reserved = _NOBODY | _words_of_schema()
        self._pattern: re.Pattern[str] | None = None

    def name(self, kind: str, text: str) -> None:
        """This is the name of a `host` or of a `user`."""
        if text and text not in self._names and text.lower() not in _NOBODY and not _is_address(text):
            self._counts[kind] = self._counts.get(kind, 0) + 1
            self._names[text] = f"{kind}-{self._counts[kind]}"
            self._pattern = None

    def learn(self, data: Any, key: str = "") -> None:
        """Every name in a piece of data, told by its field."""
        if isinstance(data, dict):
            for field, value in data.items():
                self.learn(value, field)
        elif isinstance(data, list | tuple):
            for value in data:
                self.learn(value, key)
        elif isinstance(data, str):
            for user in _HOME.findall(data):
                self.name("user", user)
            if self._is_name(data, key):
                self._learn_name(data, _NAMES[key])
            elif key == "device" and (export := _EXPORT.match(data)):
                self.name("host", export[1])

    def _is_name(self, text: str, key: str) -> bool:
        """Some fields of names hold words of the schema elsewhere."""
        return key in _NAMES and (key in ("host", "hosts", "hostname") or text not in self._reserved)

    def _learn_name(self, text: str, kind: str) -> None:
        match = _PARTS.fullmatch(text)
        if match is None:
            return
        user, name = match.groups()
        self.name("user", user or "")
        self.name("host" if user else kind, name)

    def clean(self, data: Any, key: str = "") -> Any:
        """The same data without them. Keys below `hosts` are names, too."""
        if isinstance(data, dict):
            return {self._key(field, key): self.clean(value, field) for field, value in data.items()}
        if isinstance(data, list | tuple):
            return [self.clean(value, key) for value in data]
        if not isinstance(data, str):
            return data
        return self._names[data] if data in self._names and self._is_name(data, key) else self.text(data)

    def _key(self, field: str, above: str) -> str:
        return self._names.get(field, field) if above == "hosts" else field

    def text(self, text: str) -> str:
        """A text without secrets, names and addresses."""
        if self._pattern is None:
            self._pattern = _any_of(name for name in self._names if name not in self._reserved)
        text = self._pattern.sub(lambda match: self._names[match[0]], redact(text))
        return _ADDRESS.sub(self._address, text)

    def _address(self, match: re.Match[str]) -> str:
        if not _is_address(match[0]) or ipaddress.ip_address(match[0]).is_loopback:
            return match[0]
        if match[0] not in self._names:
            self._counts["address"] = self._counts.get("address", 0) + 1
            self._names[match[0]] = f"address-{self._counts['address']}"
        return self._names[match[0]]


def _any_of(names: Iterable[str]) -> re.Pattern[str]:
    """Any of the names as a word of its own; the longest first, so that `box.lan` is not `host-1.lan`."""
    words = "|".join(map(re.escape, sorted(names, key=len, reverse=True)))
    return re.compile(rf"(?<![\w-])(?:{words})(?![\w-])") if words else re.compile(r"(?!)")


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True
