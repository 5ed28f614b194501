"""What a value must be besides its type. Pure: each check yields the place inside the table and a sentence."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from console.config.lines import Path

Problem = tuple[Path, str]

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,95}")
_FLAG = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_REPO_PART = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,95}")
_SECRET_FLAG = re.compile(r"(^|-)(api-key|password|passphrase|secret|(auth|access|hf|api|bearer)-token)$|^token$")
_SECRET_VARIABLE = re.compile(r"(^|_)(API_?KEY|PASSWORD|PASSPHRASE|SECRET|SECRET_ACCESS_KEY|TOKEN)$", re.IGNORECASE)
_SECRET_VALUE = re.compile(r"\b(hf_[A-Za-z0-9]{20,}|sk-[A-Za-z0-9_-]{20,})|://[^/@\s:]*:[^/@\s]+@")
_SECRET_SOURCE = re.compile(r"env:[A-Za-z_][A-Za-z0-9_]*|file:.+|ask", re.DOTALL)

_OWN_KEYS = {
    "model": "model", "model-path": "model", "port": "port", "revision": "revision",
    "speculative-draft-model-path": "draft", "speculative-draft-model": "draft",
    "speculative-draft-model-revision": "draft_revision", "config": "secrets",
}  # fmt: skip
_PATHS = ("dir", "path", "draft_dir", "draft_path", "python")
_PROGRAMS = ("python",)  # reaches a login shell as it is


def name_problem(name: str) -> str | None:
    """Why `name` cannot name a recipe or a host: it becomes part of file names and job ids."""
    if _NAME.fullmatch(name):
        return None
    return f'"{name}" is no name: letters, digits, and . _ - after the first, at most 96'


def model_problem(text: str) -> str | None:
    """Why `text` is neither a repository id nor an absolute path on the box."""
    if text.startswith("/"):
        return "a path cannot hold a NUL" if "\0" in text else None
    if "://" in text:
        return f'"{text}" is a web address; write the repository id, like "org/name"'
    parts = text.split("/")
    fine = len(parts) <= 2 and all(_REPO_PART.fullmatch(part) and part.strip(".") for part in parts)
    if fine and "--" not in text and ".." not in text:
        return None
    return f'"{text}" is no repository id ("org/name") and no absolute path'


def host_problems(values: Mapping[str, Any]) -> Iterator[Problem]:
    """What is wrong with the values of a `[hosts.NAME]`."""
    yield from _path_problems(values)
    yield from _env_problems(values.get("env", {}), "keep it in the box's own environment or token file")
    if "ssh" in values and not re.fullmatch(r"[^\s-]\S*", values["ssh"]):
        yield ("ssh",), "ssh must be an alias or user@host[:port]"


def recipe_problems(values: Mapping[str, Any]) -> Iterator[Problem]:
    """What is wrong with the values of a `[recipes.NAME]`, each table for itself."""
    for key in ("model", "draft"):
        problem = model_problem(values[key]) if key in values else None
        if problem:
            yield (key,), f"{key}: {problem}"
    yield from _path_problems(values)
    yield from _env_problems(values.get("env", {}), "put it under secrets as env:NAME, file:PATH or ask")
    for index, gpu in enumerate(values.get("gpus") or ()):
        if isinstance(gpu, int) and gpu < 0:
            yield ("gpus", index), "gpus: an index is 0 or more"
    if values.get("gpus") == () or len(set(values.get("gpus") or ())) < len(values.get("gpus") or ()):
        yield ("gpus",), "gpus: name at least one, each once"
    for flag, value in values.get("args", {}).items():
        yield from ((("args", flag), sentence) for sentence in flag_problems(flag, value))
    for key, source in values.get("secrets", {}).items():
        yield from ((("secrets", key), sentence) for sentence in _secret_problems(key, source))


def flag_problems(flag: str, value: Any) -> Iterator[str]:
    """What is wrong with one flag of `args`; whether SGLang knows it is not for here."""
    if not _FLAG.fullmatch(flag):
        plain = flag.lstrip("-").replace("_", "-").lower()
        yield f'args: "{flag}" is no flag name; write it without dashes in front, like "{plain}"'
    elif flag in _OWN_KEYS:
        yield f'args: the flag {flag} has its own key: "{_OWN_KEYS[flag]}"'
    elif isinstance(value, str) and value and (_SECRET_FLAG.search(flag) or _SECRET_VALUE.search(value)):
        yield f"args: {flag} holds a secret; put it under secrets as env:NAME, file:PATH or ask"
    elif value == ():
        yield f"args: {flag} is an empty list; use false to leave a flag out"


def is_variable(secret: str) -> bool:
    """Whether a key of `secrets` is an environment variable (capitals), not a flag."""
    return bool(_VARIABLE.fullmatch(secret)) and secret == secret.upper()


def _secret_problems(key: str, source: str) -> Iterator[str]:
    if not is_variable(key) and not _FLAG.fullmatch(key):
        yield f'secrets: "{key}" is neither a flag without dashes nor a variable in capitals'
    elif not _SECRET_SOURCE.fullmatch(source):
        yield f"secrets: {key} must be env:NAME, file:PATH or ask, never the secret itself"


def _path_problems(values: Mapping[str, Any]) -> Iterator[Problem]:
    for key in _PATHS:
        value, starts = values.get(key), "/" if key in _PROGRAMS else ("/", "~/")
        if value is not None and (not value.startswith(starts) or "\0" in value):
            yield (key,), f"{key} must be an absolute path on the box"


def _env_problems(env: Mapping[str, str], way_out: str) -> Iterator[Problem]:
    for name, value in env.items():
        if not _VARIABLE.fullmatch(name):
            yield ("env", name), f'env: "{name}" is no variable name'
        elif "\0" in value:
            yield ("env", name), f"env: {name} cannot hold a NUL"
        elif value and (_SECRET_VARIABLE.search(name) or _SECRET_VALUE.search(value)):
            yield ("env", name), f"env: {name} holds a secret; {way_out}"
