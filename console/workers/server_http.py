"""What a running server answers over HTTP, asked on the box: is it ready, how loaded is it."""

from __future__ import annotations

import asyncio
import base64
from dataclasses import dataclass, field
from typing import Any, Literal

from console.events.serve import Server
from console.remote.agent import Agent
from console.remote.errors import AgentError
from console.serve.gauges import Gauges, read_get_load, read_loads, read_metrics
from console.values import Unknown, known, strict_json

READY_TIMEOUT_S = 5.0
HEALTH_TIMEOUT_S = 25.0  # SGLang itself gives up after 20 s
LOAD_TIMEOUT_S = 5.0
_LOOPBACK = {"0.0.0.0": "127.0.0.1", "localhost": "127.0.0.1", "::": "::1"}

Proof = Literal["/ready", "/health", "token"]
WARMUP_TOKENS = 64  # its own warm-up decodes 8
BETWEEN_COUNTS_S = 1.0
_SOURCES = ("loads", "metrics", "get_load")
_PATHS = {"loads": "/v1/loads", "metrics": "/metrics", "get_load": "/get_load"}


def reached(server: Server) -> str:
    """The address at which the box reaches its server: its loopback, else the one that it listens on."""
    return _LOOPBACK.get(server.address, server.address)


def base_url(server: Server) -> str:
    """The same as the beginning of a URL."""
    address = reached(server)
    return f"http://{f'[{address}]' if ':' in address else address}:{server.port}"


@dataclass
class ServerHttp:
    """One server's HTTP side. Sources that failed once are not asked again: a 500 floods the server's log.

    Without a `key` of the laptop's the box uses the one that the server was started with; it does not leave the box.
    """

    agent: Agent
    server: Server
    key: str | None = None
    has_ready: bool = True
    sources: list[str] = field(default_factory=lambda: list(_SOURCES))
    _decoded: int | Unknown = Unknown("not asked yet")

    async def get(self, path: str, timeout_s: float) -> tuple[int, bytes] | None:
        """Status and body with secrets masked; None when nobody answers."""
        return await self._ask("GET", path, None, timeout_s)

    async def post(self, path: str, body: bytes, timeout_s: float) -> tuple[int, bytes] | None:
        return await self._ask("POST", path, body, timeout_s)

    async def _ask(self, method: str, path: str, body: bytes | None, timeout_s: float) -> tuple[int, bytes] | None:
        headers = {"Content-Type": "application/json"} if body is not None else {}
        if self.key:
            headers["Authorization"] = f"Bearer {self.key}"
        packed = base64.b64encode(body).decode() if body is not None else None
        try:
            answer = await self.agent.request(
                "http",
                method=method,
                url=base_url(self.server) + path,
                process=[self.server.pid, self.server.start],
                headers=headers,
                body=packed,
                timeout_s=timeout_s,
                strip_keys=True,
            )
        except AgentError:
            return None
        return int(answer["status"]), base64.b64decode(answer["body"])

    async def proof(self, quiet: bool = False) -> Proof | None:
        """What proves that the server is ready now. `/health` costs the server a request: while `quiet`, tokens do."""
        if self.has_ready:
            answer = await self.get("/ready", READY_TIMEOUT_S)
            if answer is None or answer[0] not in (200, 404):
                return None
            if answer[0] == 200:
                return "/ready"
            self.has_ready = False
        if quiet:
            return "token" if await self._decodes() else None
        answer = await self.get("/health", HEALTH_TIMEOUT_S)
        return "/health" if answer is not None and answer[0] == 200 else None

    async def _decodes(self) -> bool:
        """More tokens than a warm-up has, counted since the last look (the first one is two): somebody is served."""
        if not known(self._decoded):
            self._decoded = await self._count()
            await asyncio.sleep(BETWEEN_COUNTS_S)
        before, now = self._decoded, await self._count()
        self._decoded = now
        return known(before) and known(now) and now - before > WARMUP_TOKENS

    async def _count(self) -> int | Unknown:
        gauges = await self.gauges(quiet=True)
        return gauges.tokens_decoded if gauges else Unknown("no count")

    async def gauges(self, quiet: bool = False) -> Gauges | None:
        """The load from the first source that has it; only `/metrics` while `quiet`."""
        for source in ["metrics"] if quiet else list(self.sources):
            if source not in self.sources:
                continue
            answer = await self.get(_PATHS[source], LOAD_TIMEOUT_S)
            if answer is None:
                return None  # not this source's fault
            gauges = _read(source, *answer)
            if gauges is not None:
                self.sources = [source, *(one for one in self.sources if one == "metrics" and one != source)]
                return gauges
            self.sources.remove(source)
        return None


def _read(source: str, status: int, body: bytes) -> Gauges | None:
    if status != 200:
        return None
    if source == "metrics":
        return read_metrics(body.decode("utf-8", "replace"))
    try:
        data: Any = strict_json(body)
    except ValueError:
        return None
    return read_loads(data) if source == "loads" else read_get_load(data)
