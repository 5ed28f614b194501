"""The smoke test: one chat through the template, judged. Pure: the request and the judgement, no call."""

from __future__ import annotations

import json
import re
from typing import Any

import msgspec

from console.values import CleanText, clean, strict_json

PROMPT = "Name the capital of France in one short sentence."
MAX_TOKENS = 32
REPEATS = 16
_RUN = re.compile(rf"(.{{1,24}}?)\1{{{REPEATS - 1}}}", re.DOTALL)
_WHY = {401: "the server wants an API key", 404: "the server has no chat endpoint"}


class Smoke(msgspec.Struct, frozen=True, kw_only=True):
    """The result: every failed rule by its sentence, and the answer to show."""

    ok: bool
    problems: tuple[str, ...]
    answer: CleanText
    finish_reason: CleanText
    tokens: int | None


def request_body(model: str) -> bytes:
    """The body of `POST /v1/chat/completions`: temperature 0, 32 tokens."""
    messages = [{"role": "user", "content": PROMPT}]
    body = {"model": model, "messages": messages, "temperature": 0, "max_tokens": MAX_TOKENS, "stream": False}
    return json.dumps(body).encode()


def curl(url: str, model: str, *, keyed: bool = False) -> list[str]:
    """The same request as a command's words; the key itself is never in them."""
    key = ["-H", "Authorization: Bearer YOUR-KEY"] if keyed else []
    return ["curl", "-sS", f"{url}/v1/chat/completions", "-H", "Content-Type: application/json", *key, "-d",
            request_body(model).decode()]  # fmt: skip


def judge(status: int, body: bytes, *, dummy: bool = False) -> Smoke:
    """Judge the answer: 200, a finish reason, a token, no token 16 times in a row, no U+FFFD.

    `dummy` weights skip the last two: random weights may say anything.
    """
    try:
        answer: Any = strict_json(body)
    except ValueError:
        answer = None
    if status != 200:
        why = _WHY.get(status, "")
        return _failed(f"HTTP status {status}{': ' + why if why else ''}", _error_text(answer, body))
    try:
        choice = answer["choices"][0]
        message = choice["message"]
        text = str(message.get("content") or "") or str(message.get("reasoning_content") or "")
        reason = str(choice.get("finish_reason") or "")
        tokens = (answer.get("usage") or {}).get("completion_tokens")
    except (AttributeError, IndexError, KeyError, TypeError):
        return _failed("the answer is not of a chat completion's form", body.decode("utf-8", "replace"))
    count = tokens if isinstance(tokens, int) else None
    problems = _problems(text, reason, count, dummy)
    return Smoke(ok=not problems, problems=problems, answer=clean(text), finish_reason=clean(reason), tokens=count)


def _problems(text: str, reason: str, tokens: int | None, dummy: bool) -> tuple[str, ...]:
    problems = [] if reason else ["no finish_reason"]
    if tokens == 0 or (tokens is None and not text):
        problems.append("not one token")
    if not dummy:
        if (tokens is None or tokens >= REPEATS) and (run := _RUN.search(text)):
            problems.append(f"{run.group(1)!r} stands {REPEATS} times in a row: broken weights, template or kernel")
        if "\ufffd" in text:
            problems.append("U+FFFD in the text: tokens are not decoded as UTF-8")
    return tuple(problems)


def _failed(problem: str, text: str) -> Smoke:
    return Smoke(ok=False, problems=(problem,), answer=clean(text, 500), finish_reason=clean(""), tokens=None)


def _error_text(answer: Any, body: bytes) -> str:
    if isinstance(answer, dict):
        error = answer.get("error", answer)
        return str(error.get("message", error)) if isinstance(error, dict) else str(error)
    return body.decode("utf-8", "replace")


def unanswered() -> Smoke:
    """Nobody answered the request."""
    return _failed("no answer", "")
