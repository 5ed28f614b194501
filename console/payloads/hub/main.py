"""The helper's entry: a list of operations in, one line of JSON out; or one of the two jobs.

Each answer is a result or an error, as data.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any, Callable

from . import claims, disk, inventory, local, manifest
from . import token as tokens
from .client import Client, NoLibraryError
from .download import Download
from .outcome import redact
from .verify import Verify


def main(config: dict[str, Any]) -> int:
    """`config`: `{"env": {…}, "ops": [{"op": name, …}, …]}`; prints `{"answers": […]}`, one an operation.

    With `"job": "download" | "verify"` it is a job (see Download and Verify), and reports into its directory.
    """
    if "job" in config:
        return Download(config).run() if config["job"] == "download" else Verify(config).run()
    client = Client(config.get("env") or {})
    answers = [_answer(client, request) for request in config["ops"]]
    sys.stdout.write(json.dumps({"answers": answers}) + "\n")
    sys.stdout.flush()
    return 0


def _answer(client: Client, request: dict[str, Any]) -> dict[str, Any]:
    try:
        return {"ok": _OPS[request["op"]](client, request)}
    except NoLibraryError:
        return {"error": "no_library", "text": "", "python": sys.executable}
    except OSError as error:
        return {"error": "io", "text": redact(str(error), client.secrets), "errno": error.errno}


def _token_status(client: Client, request: dict[str, Any]) -> dict[str, Any]:
    return client.token_facts()


def _token_set(client: Client, request: dict[str, Any]) -> dict[str, Any]:
    """Writes the token unless the Hub refuses it; says whose it is, and what will be used from now on."""
    client.secrets.append(request["token"].strip())
    shape = tokens.problem(request["token"])
    if shape:
        return {"written": False, "shape": shape, "given": None, "used": None}
    given = client.token_facts(request["token"].strip())
    written = given["state"] not in ("rejected", "malformed")
    if written:
        tokens.write(client.token_path, request["token"])
    client.token = tokens.choose(os.environ, tokens.read(client.token_path))
    return {"written": written, "shape": "", "given": given, "used": client.token_facts()}


def _token_clear(client: Client, request: dict[str, Any]) -> dict[str, Any]:
    removed = tokens.remove(client.token_path)
    client.token = tokens.choose(os.environ, tokens.read(client.token_path))
    return {"removed": removed, "used": client.token_facts()}


_OPS: dict[str, Callable[[Client, dict[str, Any]], Any]] = {
    "token_status": _token_status,
    "token_set": _token_set,
    "token_clear": _token_clear,
    "repo": manifest.read_repo,
    "claims": lambda client, request: claims.read(),
    "disk": lambda client, request: [disk.facts(path) for path in request["paths"]],
    "local": lambda client, request: local.check(request["path"]),
    "inventory": lambda client, request: inventory.read(request["roots"]),
    "stored": lambda client, request: [inventory.stored(path) for path in request["paths"]],
    "remove": lambda client, request: inventory.remove(request["path"], request["dry_run"]),
    "remove_orphans": lambda client, request: inventory.remove_orphans(request["path"]),
}
