"""The API key that a server was started with: read where the server itself has it, used here, told to nobody."""

from __future__ import annotations

import json
import os
import re
from typing import Any

from . import processes
from .machine import text_of

_LINE = re.compile(r"^[ \t]*api[-_]key[ \t]*:[ \t]*(.*?)[ \t]*$", re.MULTILINE)


def key_of(pid: int, start: int) -> str:
    """The value of `--api-key`, or of the file behind `--config`; empty when there is none, or it is not readable."""
    argv = processes.words_of(pid, "cmdline") if processes.alive(pid, start) else None
    if not argv:
        return ""
    config = flag(argv, "config")
    return flag(argv, "api-key") or (_in_file(pid, config) if config else "")


def flag(argv: list[str], name: str) -> str:
    """The value of `--name` in both spellings, or nothing; the last one counts, as in argparse."""
    value = ""
    for at, word in enumerate(argv):
        option, equals, joined = word.partition("=")
        if option.replace("_", "-") == "--" + name:
            value = joined if equals else "".join(argv[at + 1 : at + 2])
    return value


def _in_file(pid: int, path: str) -> str:
    """`api-key: "…"` of a YAML file; a relative path is one of the server's own directory."""
    text = text_of(os.path.join(f"/proc/{pid}/cwd", os.path.expanduser(path)))
    found = _LINE.search((text or "").replace("\r\n", "\n"))
    return _scalar(found.group(1)) if found else ""


def _scalar(text: str) -> str:
    """A YAML scalar on one line: double quotes as in JSON, single quotes, or plain."""
    if text.startswith('"'):
        try:
            value: Any = json.loads(text)
        except ValueError:
            return ""
        return value if isinstance(value, str) else ""
    if text.startswith("'"):
        return text[1:].partition("'")[0]
    return text.partition(" #")[0].strip()
