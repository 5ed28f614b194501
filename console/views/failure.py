"""The bundle of a server's failure: what it was started as, on what, what it said last, what the GPUs said."""

from __future__ import annotations

from typing import Any

from console import __version__
from console.serve.argv import interpreter
from console.state import HostState
from console.state.serve import ServerState
from console.state.xid_meaning import xid_meaning
from console.values import CleanText, Unknown, known
from console.views.serve import argv_of, job_of, server_object
from console.views.server_log import log_lines

SCHEMA = "gpudeck.failure/1"
LAST_LINES = 500


def failure_bundle(host: HostState, server: ServerState, now: float) -> dict[str, Any]:
    """The object without `ts`. Secrets are masked in argv and log on the box; the writer redacts once more."""
    job = job_of(host, server)
    return {
        "schema": SCHEMA,
        "host": host.name,
        "server": server_object(host, server, now),
        "job": {"created_s": job.created_s, "state": job.state, "reason": job.reason or None} if job else None,
        "versions": _versions(host, server),
        "xids": [
            {"xid": one.fact.xid, "gpu": one.fact.uuid, "at_s": one.fact.at, "source": one.fact.source,
             "detail": one.fact.detail, "sentence": xid_meaning(one.fact.xid).sentence}
            for one in host.hardware.xids
        ],
        "log": log_lines(server, LAST_LINES),
    }  # fmt: skip


def _versions(host: HostState, server: ServerState) -> dict[str, Any]:
    python, identity = interpreter(argv_of(host, server)), host.hardware.identity
    not_asked = Unknown("its interpreter was not asked")
    engine, packages = host.plan.engines.get(python), host.plan.packages.get(python, not_asked)
    installed = packages if known(packages) else {}
    not_there = Unknown("it is not installed there") if known(packages) else packages
    return {
        "gpudeck": __version__,
        "sglang": installed.get(CleanText("sglang"), not_there),
        "torch": installed.get(CleanText("torch"), not_there),
        "packages": packages,
        "cuda": engine.cuda if engine else not_asked,
        "driver": host.hardware.driver_version,
        "kernel": identity.kernel if identity else Unknown("not sampled yet"),
        "os": identity.os if identity else Unknown("not sampled yet"),
        "python": identity.python_version if identity else Unknown("not sampled yet"),
    }
