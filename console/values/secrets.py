"""Secrets, and the one place where text is redacted before it is written or shown."""

from __future__ import annotations

import base64
import re
import traceback
from typing import NoReturn
from urllib.parse import quote

from console.values.text import clean_lines

_TOKEN = re.compile(r"\b(hf_)[A-Za-z0-9]{16,}(?=[A-Za-z0-9]{4}\b)")
_known: set[str] = set()


class Secret:
    """A secret value. It prints as `***`, no encoder knows it, and its text is redacted everywhere from now on."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value
        remember(value)

    def reveal(self) -> str:
        """The secret itself, for the one call that needs it."""
        return self._value

    def __repr__(self) -> str:
        return "***"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a secret is never serialised")


def remember(value: str) -> None:
    """Redact this text from now on, also in base64 and URL encoding. Very short values are left alone."""
    if len(value) >= 6:
        _known.update({value, base64.b64encode(value.encode()).decode(), quote(value, safe="")})


def redact(text: str) -> str:
    """The text without known secrets and without anything that looks like a Hugging Face token."""
    for value in sorted(_known, key=len, reverse=True):
        if value in text:
            text = text.replace(value, "***")
    return _TOKEN.sub(r"\1***", text) if "hf_" in text else text


def trace(error: BaseException) -> str:
    """A traceback that may be shown: redacted, cleaned, and without the values of variables."""
    return "\n".join(clean_lines(redact("".join(traceback.format_exception(error)).rstrip("\n"))))
