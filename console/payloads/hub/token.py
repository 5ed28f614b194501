"""Which token the library would send, in what state it is, and its place on the disk.

The order is the library's own: `HF_TOKEN`, `HUGGING_FACE_HUB_TOKEN`, then the file. What the library cleans from a
value (line breaks anywhere, spaces at both ends) is cleaned here; what it sends although it cannot be a token
(two lines joined, quotes of an .env file) is called malformed.
"""

from __future__ import annotations

import contextlib
import os
import re
import tempfile
from typing import Any, Mapping

VARIABLES = ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN")
_USABLE = re.compile(r"[\x21-\x7e]+")


def choose(env: Mapping[str, str], file_text: str | None) -> dict[str, Any]:
    """`{"token", "source", "state", "shape"}`; state absent, empty, malformed or unproved, shape says what is wrong."""
    variable = next((name for name in VARIABLES if env.get(name)), None)
    for source, raw in ((f"env:{variable}", env.get(variable or "")), ("file", file_text)):
        token = _clean(raw or "")
        if token:
            shape = _shape(raw or "", token)
            return {"token": token, "source": source, "state": "malformed" if shape else "unproved", "shape": shape}
    there = file_text is not None or any(name in env for name in VARIABLES)
    return {"token": "", "source": "none", "state": "empty" if there else "absent", "shape": ""}


def _clean(raw: str) -> str:
    return raw.replace("\r", "").replace("\n", "").strip()


def _shape(raw: str, token: str) -> str:
    if len(raw.split()) > 1:
        return "line_break" if "\n" in raw.strip() else "space"
    if token[0] in "'\"" or token[-1] in "'\"":
        return "quotes"
    return "" if _USABLE.fullmatch(token) else "not_ascii"


def problem(raw: str) -> str:
    """Why a value given to `set` is no token: empty, line_break, space, quotes, not_ascii; or nothing."""
    token = _clean(raw)
    return _shape(raw, token) if token else "empty"


def path(env: Mapping[str, str]) -> str:
    """Where the library keeps the token of this user."""
    cache = env.get("XDG_CACHE_HOME") or os.path.join("~", ".cache")
    home = env.get("HF_HOME") or os.path.join(cache, "huggingface")
    place = env.get("HF_TOKEN_PATH") or os.path.join(home, "token")
    return os.path.expandvars(os.path.expanduser(place))


def read(place: str) -> str | None:
    """The text of the file; None without one, or when it may not be read."""
    try:
        with open(place, encoding="utf-8", errors="surrogateescape") as file:
            return file.read(65536)
    except OSError:
        return None


def write(place: str, token: str) -> None:
    """Puts the token into the library's place: 0600, atomically; new directories 0700."""
    folder = os.path.dirname(place)
    os.makedirs(folder, mode=0o700, exist_ok=True)
    handle, temporary = tempfile.mkstemp(prefix=".token-", dir=folder)
    try:
        with os.fdopen(handle, "w") as file:
            file.write(_clean(token))
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, place)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def remove(place: str) -> bool:
    """Removes the file; False when there was none."""
    try:
        os.unlink(place)
    except FileNotFoundError:
        return False
    return True


def after_whoami(choice: dict[str, Any], answer: dict[str, Any] | None, refusal: dict[str, Any] | None) -> str:
    """The state that one authenticated call leads to; `answer` of the Hub, or its classified `refusal`."""
    if answer is not None:
        return "valid"
    state = (refusal or {}).get("state", "unknown")
    if state in ("token_invalid", "missing_or_private"):
        return "rejected"
    if state == "token_missing":
        return str(choice["state"]) if choice["state"] in ("absent", "empty") else "absent"
    if state == "token_malformed":
        return "malformed"
    return "unreachable" if state.startswith("unreachable_") or state == "offline_mode" else "unproved"
