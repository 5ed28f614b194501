"""The runner's entry: one request, one line of JSON."""

from __future__ import annotations

import json
import sys
from typing import Any, Callable

from . import folder, prune, requests, start
from .serve import serve

_OPS: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "start": start.start,
    "stop": requests.stop,
    "pause": requests.pause,
    "resume": requests.resume,
    "prune": prune.prune,
}


def main(config: dict[str, Any]) -> int:
    """`config`: `{"op": name, …}`. Prints the answer, or `{"error": sentence, "errno": int or null}`.

    `{"op": "serve", "id", "unit"}` is what the runner's unit runs.
    """
    if config["op"] == "serve":
        directory = folder.path_of(config["id"])
        folder.remove(directory, "runner.json")
        serve(directory, config["unit"])
        return 0
    try:
        answer = _OPS[config["op"]](config)
    except OSError as error:
        where = f": {error.filename}" if error.filename else ""
        answer = {"error": f"{error.strerror or error}{where}", "errno": error.errno}
    except (ValueError, KeyError, TypeError) as error:
        answer = {"error": str(error), "errno": None}
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()
    return 0
