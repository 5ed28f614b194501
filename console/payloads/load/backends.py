"""The two ways to ask SGLang: the native `/generate` and the OpenAI chat endpoint.

Each has a builder of the request and a reader of the streamed events. Tokens come from the server's cumulative
usage, never from the text and never from the requested length. An event without usage counts one token when it
carries text; the mismatch with the final usage then shows.
"""

from __future__ import annotations

import hashlib
import json
import os
from typing import Any

try:
    from orjson import loads  # type: ignore[import-not-found, unused-ignore]
except ImportError:
    loads = json.loads

COUNT = b'"completion_tokens":'
RUNNING = b'"finish_reason":null'


def speculation(meta: dict[str, Any]) -> list[Any] | None:
    """[verify steps, drafts accepted, drafts proposed, histogram] under the names of any version, else None."""
    verify = meta.get("spec_verify_ct")
    if not isinstance(verify, int) or verify <= 0:
        return None
    correct = meta.get("spec_num_correct_drafts", meta.get("spec_accepted_drafts"))
    if not isinstance(correct, int):
        return None
    proposed = meta.get("spec_num_proposed_drafts", meta.get("spec_proposed_drafts")) or 0
    hist = meta.get("spec_correct_drafts_histogram", meta.get("spec_accept_histogram")) or []
    return [verify, correct, proposed, list(hist)]


class Reader:
    """What one streamed answer has said so far. `said`: the hash of a whole native answer."""

    def __init__(self) -> None:
        self.count = 0
        self.kind = ""
        self.finish = ""
        self.error = ""
        self.usage: int | None = None
        self.prompt_tokens: int | None = None
        self.cached_tokens: int | None = None
        self.spec: list[Any] | None = None
        self.said: str | None = None

    def read(self, payload: bytes) -> int:
        """New tokens of one event. Sets `kind` to content, reasoning, tool or raw."""
        raise NotImplementedError

    def _advance(self, total: int) -> int:
        new, self.count = total - self.count, max(total, self.count)
        return max(new, 0)

    def _fail(self, body: dict[str, Any]) -> None:
        error = body.get("error")
        text = error.get("message", "") if isinstance(error, dict) else error
        self.error = "server_error: " + str(text)[:200]


class NativeReader(Reader):
    """`/generate`: `text` is cumulative, so the number is taken by position; first and last event are parsed, and
    whatever is not spelled in SGLang's compact way.

    A quote inside the text is escaped, so that the searched keys cannot occur in it.
    """

    def read(self, payload: bytes) -> int:
        at = payload.rfind(COUNT)
        if self.count and at > 0 and payload.rfind(RUNNING, 0, at) > 0:
            digits = payload[at + len(COUNT) : payload.find(b",", at)]
            if digits.isdigit():
                new = int(digits) - self.count
                if new <= 0:
                    return 0
                self.count += new
                return new
        return 0 if payload == b"[DONE]" else self._read_whole(payload)

    def _read_whole(self, payload: bytes) -> int:
        body = loads(payload)
        if "error" in body:
            self._fail(body)
            return 0
        meta = body.get("meta_info") or {}
        reason = meta.get("finish_reason")
        if reason:
            self.finish = reason.get("type", "") if isinstance(reason, dict) else str(reason)
            self.usage = meta.get("completion_tokens")
            self.spec = speculation(meta)
            self.said = hashlib.sha256(str(body.get("text")).encode()).hexdigest()
        self.prompt_tokens = meta.get("prompt_tokens")
        self.cached_tokens = meta.get("cached_tokens")
        self.kind = "raw"
        return self._advance(meta.get("completion_tokens") or 0)


class ChatReader(Reader):
    """`/v1/chat/completions` with continuous usage."""

    def read(self, payload: bytes) -> int:
        if payload == b"[DONE]":
            return 0
        body = loads(payload)
        if "error" in body and "choices" not in body:
            self._fail(body)
            return 0
        usage = body.get("usage")
        if usage:
            self._read_usage(usage)
        extra = body.get("sglext")
        if extra and extra.get("spec_tokens_details"):
            self.spec = speculation(extra["spec_tokens_details"])
        choices = body.get("choices")
        if not choices:
            return 0
        if choices[0].get("finish_reason"):
            self.finish = choices[0]["finish_reason"]
        kind = self._kind(choices[0].get("delta") or {})
        self.kind = kind or self.kind or "content"
        if usage:
            return self._advance(usage.get("completion_tokens") or 0)
        return self._advance(self.count + 1) if kind else 0

    @staticmethod
    def _kind(delta: dict[str, Any]) -> str:
        if delta.get("content"):
            return "content"
        if delta.get("reasoning_content"):
            return "reasoning"
        return "tool" if delta.get("tool_calls") else ""

    def _read_usage(self, usage: dict[str, Any]) -> None:
        self.usage = usage.get("completion_tokens")
        self.prompt_tokens = usage.get("prompt_tokens")
        details = usage.get("prompt_tokens_details") or {}
        self.cached_tokens = details.get("cached_tokens")


class Backend:
    """Builds request bytes for one server. `sampling` holds the parameters exactly as they are sent."""

    def __init__(self, config: dict[str, Any]) -> None:
        self.host, self.port = str(config["host"]), int(config["port"])
        self.native = config.get("backend", "generate") == "generate"
        self.model = config.get("model", "")
        self.key = os.environ.get("GPUDECK_API_KEY", "")
        self.sampling = dict(config.get("sampling") or {"temperature": 0})
        self.ignore_eos = bool(config.get("ignore_eos", True))

    def reader(self) -> Reader:
        return NativeReader() if self.native else ChatReader()

    def request(self, prompt: Any, max_tokens: int) -> bytes:
        """`prompt` is a text, or a list of token ids (native only)."""
        path, body = self._native(prompt, max_tokens) if self.native else self._chat(prompt, max_tokens)
        return self.frame("POST", path, json.dumps(body, separators=(",", ":")).encode())

    def frame(self, method: str, path: str, body: bytes = b"") -> bytes:
        head = f"{method} {path} HTTP/1.1\r\nHost: {self.host}:{self.port}\r\nAccept: */*\r\n"
        if self.key:
            head += f"Authorization: Bearer {self.key}\r\n"
        if body or method == "POST":
            head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n"
        return (head + "\r\n").encode() + body

    def _native(self, prompt: Any, max_tokens: int) -> tuple[str, dict[str, Any]]:
        sampling = dict(self.sampling, max_new_tokens=max_tokens, ignore_eos=self.ignore_eos)
        key = "text" if isinstance(prompt, str) else "input_ids"
        return "/generate", {key: prompt, "sampling_params": sampling, "stream": True}

    def _chat(self, prompt: Any, max_tokens: int) -> tuple[str, dict[str, Any]]:
        body = dict(self.sampling)
        body.update(
            model=self.model,
            messages=[{"role": "user", "content": prompt}],
            max_tokens=max_tokens,
            ignore_eos=self.ignore_eos,
            stream=True,
            stream_options={"include_usage": True, "continuous_usage_stats": True},
        )
        return "/v1/chat/completions", body
