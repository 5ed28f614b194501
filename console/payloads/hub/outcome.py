"""What a call of the library ended with, as plain data: the exception and its whole cause chain, without secrets."""

from __future__ import annotations

import re
from typing import Any

MAX_TEXT = 2000
_SECRETS = re.compile(r"hf_[A-Za-z0-9_]{6,}|(?i:(?<=bearer ))[^\s'\"]+")


def redact(text: str, secrets: list[str]) -> str:
    """The text without the given secrets, nor anything that looks like a token."""
    for secret in secrets:
        if secret:
            text = text.replace(secret, "***")
    return _SECRETS.sub("***", text)[:MAX_TEXT]


def chain(error: BaseException) -> list[BaseException]:
    """The error, then what caused it: the truth about a refusal is often at the end."""
    found: list[BaseException] = []
    current: BaseException | None = error
    while current is not None and current not in found:
        found.append(current)
        current = current.__cause__ or (None if current.__suppress_context__ else current.__context__)
    return found


def describe(error: BaseException, secrets: list[str]) -> dict[str, Any]:
    """One member of the chain. `status` and the texts come from its response, when it has one."""
    response = getattr(error, "response", None)
    headers = getattr(response, "headers", None) or {}

    def text(value: Any) -> str | None:
        return None if value is None else redact(str(value), secrets)

    member: dict[str, Any] = {
        "class": type(error).__name__,
        "module": type(error).__module__,
        "mro": [kind.__name__ for kind in type(error).__mro__ if kind is not object],
        "message": text(error),
        "errno": getattr(error, "errno", None),
    }
    if response is not None:
        member["status"] = getattr(response, "status_code", None)
        member["error_code"] = headers.get("X-Error-Code")
        member["error_message"] = text(headers.get("X-Error-Message"))
        member["server_message"] = text(getattr(error, "server_message", None))
        member["ratelimit"] = headers.get("ratelimit")
        member["retry_after"] = headers.get("retry-after")
    return member


def from_error(error: BaseException, secrets: list[str]) -> dict[str, Any]:
    """The outcome of a call that raised."""
    first, *rest = [describe(member, secrets) for member in chain(error)]
    return {"exception": first, "causes": rest}
