"""What the agent can do: one table of requests, one of probes.

A further module plugs in with two lines here:

- a request: `OPS["name"] = module.function` with `function(call, a)`. `a` is the request's `a` object; the returned
  dict is the reply. `call.part(dict)` streams, `call.cancelled.wait(s)` sleeps until cancelled, `call.feed` is
  what `stdin` requests brought (see `calls.Call`). Each runs in a thread of its own. Raise `calls.OpError(code,
  message)` for a refusal; OSError, KeyError and TypeError become fitting codes by themselves.
- a probe: `PROBES["name"] = module.Class` with `__init__(agent)` (`agent.probes` holds those above it), `period_s`
  and `sample()`, which sends its facts by `agent.outlet.sample(kind, data)`. It runs in a thread of its own every
  `period_s` seconds, and at once after `agent.poke("name")`, which calls its `refresh()` first if it has one, to
  drop what it remembers. A `sample` that does not come back is reported as ProbeStuck, one that raises as ProbeFailed.
"""

from __future__ import annotations

from typing import Any, Callable

from . import adopt, execute, files, http, log_lines, server_stop, tail
from .disks import Disks
from .gpus import Gpus
from .jobs import Jobs
from .machine import Machine
from .servers import Servers
from .topology import Topology
from .xids import Xids

OPS: dict[str, Callable[..., dict[str, Any]]] = {
    "exec": execute.execute,
    "read": files.read,
    "write": files.write,
    "stat": files.stat,
    "list": files.list_directory,
    "remove": files.remove,
    "tail": tail.tail,
    "http": http.http,
    "log_follow": log_lines.log_follow,
    "log_read": log_lines.log_read,
    "adopt": adopt.adopt,
    "release": adopt.release,
    "server_stop": server_stop.server_stop,
}

PROBES: dict[str, Callable[..., Any]] = {
    "machine": Machine,
    "disks": Disks,
    "gpus": Gpus,
    "jobs": Jobs,
    "servers": Servers,
    "topology": Topology,
    "xids": Xids,
}
