"""`http`: one request to a server on this box, by its loopback or by an address of its own, over a plain socket.

The standard library's client would load ssl with it, 7 MB for nothing: loopback servers speak plain HTTP.
"""

from __future__ import annotations

import json
import socket
import time
from types import MappingProxyType
from typing import Any, Mapping
from urllib.parse import urlsplit

from .calls import Call, OpError, decode, encode
from .masking import MASK, mask_json
from .server_key import key_of

HOSTS = {"localhost": "127.0.0.1", "127.0.0.1": "127.0.0.1", "::1": "::1"}
MAX_BYTES = 16 * 1024 * 1024
TIMEOUT_S = 10.0
SHORTEST_KEY = 6  # a shorter one is a part of common words


def http(call: Call, a: dict[str, Any]) -> dict[str, Any]:
    """The answer of a loopback server; with `strip_keys` secret-looking values of its JSON are masked.

    `process` (pid, start): the server itself; the API key that it was started with is used here, and stays here.
    """
    timeout_s, given = a.get("timeout_s") or TIMEOUT_S, dict(a.get("headers") or {})
    key = key_of(*a["process"]) if a.get("process") and "Authorization" not in given else ""
    if key:
        given["Authorization"] = f"Bearer {key}"
    status, headers, body = fetch(a["url"], a.get("method") or "GET", given, decode(a.get("body")), timeout_s)
    if len(key) >= SHORTEST_KEY:
        body = body.replace(key.encode(), MASK.encode())
    if a.get("strip_keys"):
        body = strip(body)
    return {"status": status, "headers": headers, "body": encode(body)}


def _own_address(host: str) -> str | None:
    """The host, when it is an address of this box: a server may be bound to that one alone."""
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        socket.inet_pton(family, host)
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            probe.bind((host, 0))
    except OSError:
        return None
    return host


def strip(body: bytes) -> bytes:
    try:
        return json.dumps(mask_json(json.loads(body.decode("utf-8")))).encode("ascii")
    except ValueError:
        return body


def fetch(
    url: str,
    method: str = "GET",
    headers: Mapping[str, str] = MappingProxyType({}),
    body: bytes = b"",
    timeout_s: float = TIMEOUT_S,
) -> tuple[int, dict[str, str], bytes]:
    """(status, headers with lower-case names, body). Raises OpError with refused, timeout, io or bad_request."""
    parts = urlsplit(url)
    host = HOSTS.get(parts.hostname or "") or _own_address(parts.hostname or "")
    if parts.scheme != "http" or host is None:
        raise OpError("bad_request", f"only http:// on this box itself is asked, not {url}")
    target = (parts.path or "/") + ("?" + parts.query if parts.query else "")
    lines = [f"{method} {target} HTTP/1.1", f"Host: {parts.netloc}", "Connection: close"]
    lines += ["{}: {}".format(*item) for item in headers.items()]
    if body or method not in ("GET", "HEAD"):
        lines.append(f"Content-Length: {len(body)}")
    if any("\r" in line or "\n" in line for line in lines):
        raise OpError("bad_request", "a line break in the request's head")
    request = "\r\n".join(lines).encode("utf-8") + b"\r\n\r\n" + body
    try:
        return _parse(_exchange(host, parts.port or 80, request, time.monotonic() + timeout_s))
    except socket.timeout:
        raise OpError("timeout", f"no whole answer from {parts.netloc} within {timeout_s:.1f} s") from None
    except ConnectionRefusedError:
        raise OpError("refused", f"nobody listens on {parts.netloc}") from None


def _exchange(host: str, port: int, request: bytes, deadline: float) -> bytes:
    """Everything the server says until it closes."""
    answer = bytearray()
    with socket.create_connection((host, port), timeout=max(0.01, deadline - time.monotonic())) as link:
        link.sendall(request)
        while len(answer) <= MAX_BYTES:
            left = deadline - time.monotonic()
            if left <= 0:
                raise socket.timeout()
            link.settimeout(left)
            data = link.recv(65536)
            if not data or _complete(answer, data):
                return bytes(answer)
    raise OpError("io", f"the answer is longer than {MAX_BYTES} bytes")


def _complete(answer: bytearray, data: bytes) -> bool:
    """Add `data`; true once the announced length is there (a server may keep the link open all the same)."""
    answer += data
    end = answer.find(b"\r\n\r\n")
    if end < 0:
        return False
    head = bytes(answer[:end]).lower()
    mark = b"\ncontent-length:"
    at = head.find(mark)
    if at < 0:
        return False
    return len(answer) - end - 4 >= int(head[at + len(mark) :].split(b"\r", 1)[0])


def _parse(answer: bytes) -> tuple[int, dict[str, str], bytes]:
    head, separator, body = answer.partition(b"\r\n\r\n")
    lines = head.decode("latin-1").split("\r\n")
    words = lines[0].split(" ", 2)
    if not separator or len(words) < 2 or not words[0].startswith("HTTP/") or not words[1].isdigit():
        raise OpError("io", f"no HTTP answer: {answer[:80]!r}")
    pairs = [line.partition(":") for line in lines[1:]]
    headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
    if headers.get("transfer-encoding", "").lower() == "chunked":
        body = _unchunk(body)
    elif len(body) < int(headers.get("content-length", "0")):
        raise OpError("io", f"the answer ended after {len(body)} of {headers['content-length']} bytes")
    return int(words[1]), headers, body


def _unchunk(body: bytes) -> bytes:
    whole = bytearray()
    at = 0
    while True:
        end = body.find(b"\r\n", at)
        if end < 0:
            raise OpError("io", "the chunked answer ended early")
        size = int(body[at:end].split(b";", 1)[0], 16)
        if size == 0:
            return bytes(whole)
        whole += body[end + 2 : end + 2 + size]
        at = end + 2 + size + 2
