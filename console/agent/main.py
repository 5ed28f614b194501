"""The agent's life: hello, probes, requests, and an end that nothing can hold up.

It dies with its connection: at the end of its input, at a hang-up or SIGTERM, and when no request has come for
`idle_s` seconds (the console pings), which is how a half-open link ends. `os._exit` ends it even with a thread that
hangs inside the driver.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from typing import Any

from . import children, probes
from .calls import Call, Calls
from .machine import hello
from .registry import OPS, PROBES
from .wire import FRAME_BYTES, Outlet

IDLE_S = 45


class Agent:
    """What probes and requests may use: the outlet, the configuration, `poke`, and each other by name."""

    def __init__(self, outlet: Outlet, config: dict[str, Any]) -> None:
        self.outlet = outlet
        self.config = config
        self.probes: dict[str, Any] = {}
        for name, make in PROBES.items():
            self.probes[name] = make(self)
        self._runners = {name: probes.Runner(name, probe, outlet) for name, probe in self.probes.items()}

    def start(self) -> None:
        for runner in self._runners.values():
            runner.start()
        threading.Thread(target=self._heartbeat, name="heartbeat", daemon=True).start()

    def poke(self, name: str) -> None:
        """Ask a probe for a sample now, a whole one if it has `refresh`. Raises KeyError for an unknown name."""
        refresh = getattr(self.probes[name], "refresh", None)
        if refresh is not None:
            refresh()
        self._runners[name].poke()

    def _heartbeat(self) -> None:
        due = time.monotonic()
        while True:
            self.outlet.sample("heartbeat", {})
            for runner in self._runners.values():
                runner.watch(time.monotonic())
            due = max(due + 1.0, time.monotonic())
            time.sleep(due - time.monotonic())

    def ops(self) -> dict[str, Any]:
        return dict(OPS, ping=_ping, probe=self._probe, nvml=self._nvml)

    def _probe(self, call: Call, a: dict[str, Any]) -> dict[str, Any]:
        self.poke(a["name"])
        return {}

    def _nvml(self, call: Call, a: dict[str, Any]) -> dict[str, Any]:
        self.probes["gpus"].load(a["module"], a["source"])
        self.poke("gpus")
        return {}


def _ping(call: Call, a: dict[str, Any]) -> dict[str, Any]:
    return {}


def main(config: dict[str, Any]) -> None:
    """Serve one connection on fds 0 and 1. `config`: nonce, idle_s, env (added to the environment)."""
    children.guard()
    requests, answers = os.dup(0), os.dup(1)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.dup2(2, 1)  # a stray print must not land between two frames
    os.environ.update(config.get("env") or {})
    threading.stack_size(512 * 1024)
    outlet = Outlet(answers)
    agent = Agent(outlet, config)
    calls = Calls(outlet, agent.ops())
    idle_s = int(config.get("idle_s") or IDLE_S)
    for number in (signal.SIGALRM, signal.SIGHUP, signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _end)
    signal.alarm(idle_s)
    outlet.start()
    outlet.hello(hello(str(config.get("nonce") or "")))
    agent.start()
    _serve(requests, calls, idle_s)
    calls.cancel_all()
    _end()


def _serve(fd: int, calls: Calls, idle_s: int) -> None:
    """Read requests until the input ends. A line that is no request is skipped, one without end closes the link."""
    rest = b""
    while len(rest) <= FRAME_BYTES:
        data = os.read(fd, 65536)
        if not data:
            return
        lines = (rest + data).split(b"\n")
        rest = lines.pop()
        for line in lines:
            try:
                request = json.loads(line.decode("utf-8"))
            except ValueError:
                sys.stderr.write("gpudeck agent: skipped a line that is no JSON\n")
                continue
            signal.alarm(idle_s)
            if isinstance(request, dict):
                calls.accept(request)


def _end(*_: Any) -> None:
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(3)  # should even this hang
    children.kill_all()
    os._exit(0)
