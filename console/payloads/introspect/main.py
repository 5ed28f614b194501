"""The program's entry: one request in, one line of JSON out. Whatever the imports print goes to standard error."""

from __future__ import annotations

import json
import os
import sys
from typing import Any, Callable

from . import code, engine, headers, host, validate


def main(config: dict[str, Any]) -> int:
    """`config`: `{"op": a key of _OPS, "env": {…}, …}`. The answer of an operation that failed is
    `{"error": kind, "message": text}`."""
    answer_fd = os.dup(1)
    os.dup2(2, 1)
    _environment(config.get("env") or {})
    try:
        answer = _OPS[config["op"]](config)
    except OSError as error:
        answer = {"error": "io", "message": str(error)}
    _write(answer_fd, answer)
    return 0


def _environment(env: dict[str, str]) -> None:
    """The recipe's environment; PYTHONPATH counts here as it does for the server that will be started."""
    os.environ.update({str(key): str(value) for key, value in env.items()})
    for place in reversed([p for p in env.get("PYTHONPATH", "").split(os.pathsep) if p]):
        sys.path.insert(0, place)


def _write(descriptor: int, answer: dict[str, Any]) -> None:
    data = (json.dumps(answer) + "\n").encode("ascii")
    while data:
        data = data[os.write(descriptor, data) :]


_OPS: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "version": engine.stamp,
    "engine": engine.describe,
    "validate": validate.run,
    "headers": headers.read,
    "code": code.read,
    "host": host.look,
}
