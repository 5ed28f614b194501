"""The invented scheduler: requests wait, run together step by step, and get one or several tokens a step."""

from __future__ import annotations

import asyncio
import random
import time
from collections import deque
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field

from .log import say

STEP_S = 0.012  # of one decode step, and more per running request
STEP_MORE_S = 0.00025
PREFILL_S = 0.00004  # per prompt token
CHUNK = 8192
BLOCK = 8
_TEXT = "The box serves this answer from a stand in so that every number can be seen moving without one GPU ."
_WORDS = _TEXT.split()
_CAPITAL = ["The", " capital", " of", " France", " is", " Paris", "."]


@dataclass
class Request:
    """One request. `steps` are the new tokens of each decode step, None at the end."""

    prompt_tokens: int
    max_tokens: int
    answer: list[str] | None
    began: float = field(default_factory=time.monotonic)
    tokens: int = 0
    verified: int = 0
    accepted: int = 0
    finish: str = "length"
    steps: asyncio.Queue[int | None] = field(default_factory=asyncio.Queue)
    aborted: bool = False

    def text(self, start: int, end: int) -> str:
        """The tokens from `start` to `end`."""
        if self.answer is not None:
            return "".join(self.answer[start:end])
        return "".join(f" {_WORDS[at % len(_WORDS)]}" for at in range(start, end))


def request(prompt: str, prompt_tokens: int, max_tokens: int, ignore_eos: bool) -> Request:
    """A request for this prompt; one question has a real answer."""
    answer = _CAPITAL if "capital of France" in prompt and not ignore_eos else None
    if answer and len(answer) <= max_tokens:
        return Request(prompt_tokens, len(answer), answer, finish="stop")
    return Request(prompt_tokens, max_tokens, answer)


class Engine:
    """Counters and gauges are what `/metrics` and `/v1/loads` tell."""

    def __init__(self, max_running: int, tokens: int, speculative: bool, log_interval: int) -> None:
        self.max_running, self.pool, self.speculative = max_running, tokens, speculative
        self.running: list[Request] = []
        self.waiting: deque[Request] = deque()
        self.decoded = self.prefilled = self.finished = 0
        self.verified = self.accepted = 0
        self.throughput = 0.0
        self._log_interval = max(1, log_interval)
        self._news = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()
        self._random = random.Random(7)

    @property
    def used(self) -> int:
        return sum(one.prompt_tokens + one.tokens for one in self.running)

    @property
    def accept_length(self) -> float:
        return 1 + self.accepted / self.verified if self.verified else 0.0

    async def stream(self, asked: Request) -> AsyncGenerator[int, None]:
        """New tokens of each step; leaving early aborts the request."""
        self.waiting.append(asked)
        self._news.set()
        self._idle.clear()
        try:
            while (new := await asked.steps.get()) is not None:
                yield new
        finally:
            asked.aborted = True

    async def drained(self) -> None:
        """Wait until no request is left."""
        await self._idle.wait()

    async def run(self) -> None:
        """Until cancelled."""
        steps, since, decoded = 0, time.monotonic(), 0
        while True:
            if not self.running and not self.waiting:
                self._idle.set()
                self._news.clear()
                await self._news.wait()
                since, decoded = time.monotonic(), self.decoded
            await self._admit()
            await asyncio.sleep(STEP_S + STEP_MORE_S * len(self.running))
            self._step()
            steps += 1
            if steps % self._log_interval == 0:
                now = time.monotonic()
                self.throughput = (self.decoded - decoded) / max(now - since, 1e-6)
                since, decoded = now, self.decoded
                self._say_decode()

    async def _admit(self) -> None:
        """One chunk of waiting prompts."""
        new = tokens = 0
        while self.waiting and len(self.running) < self.max_running and tokens < CHUNK:
            one = self.waiting.popleft()
            if one.aborted:
                continue
            new, tokens = new + 1, tokens + one.prompt_tokens
            self.running.append(one)
        if new:
            self.prefilled += tokens
            await asyncio.sleep(tokens * PREFILL_S)
            running, queued = len(self.running) - new, len(self.waiting)
            say(f"Prefill batch, #new-seq: {new}, #new-token: {tokens}, #cached-token: 0, token usage: "
                f"{self.used / self.pool:.2f}, #running-req: {running}, #queue-req: {queued}, #pending-token: 0, "
                f"cuda graph: False, input throughput (token/s): {tokens / 0.05:.2f}")  # fmt: skip

    def _step(self) -> None:
        for one in list(self.running):
            drafts = sum(self._random.random() < 0.62 for _ in range(BLOCK - 1)) // 2 if self.speculative else 0
            new = min(1 + drafts, one.max_tokens - one.tokens)
            if one.tokens and self.speculative:  # the first token is the prefill's
                one.verified, one.accepted = one.verified + 1, one.accepted + new - 1
                self.verified, self.accepted = self.verified + 1, self.accepted + new - 1
            elif one.tokens == 0:
                new = 1
            one.tokens += new
            self.decoded += new
            one.steps.put_nowait(new)
            if one.tokens >= one.max_tokens or one.aborted:
                one.steps.put_nowait(None)
                self.running.remove(one)
                self.finished += 1

    def _say_decode(self) -> None:
        accept = ""
        if self.speculative:
            length = self.accept_length
            accept = f"accept len: {length:.2f}, accept rate: {(length - 1) / (BLOCK - 1):.2f}, "
        say(f"Decode batch, #running-req: {len(self.running)}, #token: {self.used}, token usage: "
            f"{self.used / self.pool:.2f}, {accept}cuda graph: True, gen throughput (token/s): {self.throughput:.2f}, "
            f"#queue-req: {len(self.waiting)}")  # fmt: skip
