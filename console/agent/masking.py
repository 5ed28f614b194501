"""Secrets are masked before anything leaves the box: values of secret-looking names, and tokens by their shape."""

from __future__ import annotations

import re
from typing import Any

MASK = "***"
_SECRET_WORDS = {"password", "passwd", "passphrase", "secret", "apikey", "credential", "credentials", "authorization"}
_KEY_OWNERS = {"api", "access", "admin", "secret", "auth", "private", "signing", "encryption"}
_SHAPES = re.compile(
    r"\b(?:hf_[A-Za-z0-9]{16,}|sk-[A-Za-z0-9_-]{16,})|(?<=[Bb]earer )[^\s\"']+|(?<=://)[^/@:\s]+:[^/@\s]+(?=@)"
)
# Behind a blank, two dashes begin the next option; behind `=` they belong to the value.
_OPTION = re.compile(r"--([A-Za-z][\w-]{0,99})(=| {1,99}(?!--))[^\s'\",\])]+")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def is_secret_name(name: str) -> bool:
    """`api_key`, `hf-token`, `adminApiKey`: yes; `max_tokens`, `tokenizer`, `token_usage`: no."""
    words = [word for word in re.split(r"[^a-z0-9]+", _CAMEL.sub("_", name).lower()) if word]
    if not words:
        return False
    if words[-1] in ("key", "keys"):
        return bool(_KEY_OWNERS.intersection(words[:-1]))
    return words[-1] == "token" or bool(_SECRET_WORDS.intersection(words))


def mask_text(text: str) -> str:
    """Values of secret options (SGLang tells its whole command line), tokens by their shape, passwords inside URLs."""
    return _SHAPES.sub(MASK, _OPTION.sub(_mask_option, text))


def _mask_option(found: re.Match[str]) -> str:
    name, between = found.groups()
    return f"--{name}{between}{MASK}" if is_secret_name(name) else found.group(0)


def mask_argv(argv: list[str]) -> list[str]:
    """The words of a command line with the values of secret options masked."""
    masked = []
    hide = False
    for word in argv:
        name, equals, _ = word.partition("=")
        if hide and not word.startswith("--"):
            masked.append(MASK)
        elif equals and is_secret_name(name):
            masked.append(f"{name}={MASK}")
        else:
            masked.append(mask_text(word))
        hide = word.startswith("--") and not equals and is_secret_name(word)
    return masked


def mask_json(data: Any) -> Any:
    """JSON data with the values of secret-looking keys masked; empty values stay, they tell something."""
    if isinstance(data, dict):
        return {
            key: MASK
            if is_secret_name(key) and item not in (None, "", [], {}) and not isinstance(item, bool)
            else mask_json(item)
            for key, item in data.items()
        }
    if isinstance(data, list):
        return [mask_json(item) for item in data]
    return mask_text(data) if isinstance(data, str) else data
