"""The data origin: LFS bytes, and the Xet store."""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING, Any

from console.demo.hub.api import content_answer
from console.demo.hub.content import Content
from console.demo.hub.wire import Answer, HubError, Request, byte_range, json_answer

if TYPE_CHECKING:
    from console.demo.hub import FakeHub

CHUNK = 1 << 16
XORB_CHUNKS = 512
XORB = CHUNK * XORB_CHUNKS
FRAME = CHUNK + 8
_LFS = re.compile(r"/lfs/(?P<sha>[0-9a-f]{64})/.*")
_RECONSTRUCTION = re.compile(r"/v2/reconstructions/(?P<sha>[0-9a-f]{64})")
_XORB = re.compile(r"/xorb/(?P<sha>[0-9a-f]{64})/(?P<number>\d+)")


def respond(hub: FakeHub, request: Request) -> Answer:
    """The answer to one request, or a HubError."""
    if match := _LFS.fullmatch(request.path):
        if hub.faults.ignore_range:
            request.headers.pop("range", None)
        return content_answer(
            request, _content(hub, match["sha"]), {"Accept-Ranges": "bytes", "ETag": f'"{match["sha"]}"'}
        )
    if hub.faults.cas_status and not request.path.startswith("/v1/telemetry"):
        raise HubError(hub.faults.cas_status, "the store is down")
    if match := _RECONSTRUCTION.fullmatch(request.path):
        return _reconstruction(hub, request, match["sha"])
    if match := _XORB.fullmatch(request.path):
        return _xorb(request, _content(hub, match["sha"]), int(match["number"]))
    raise HubError(404, "no such route")


def _content(hub: FakeHub, sha: str) -> Content:
    content = hub.content_by_sha256(sha)
    if content is None:
        raise HubError(404, "no such object")
    return content


def _reconstruction(hub: FakeHub, request: Request, sha: str) -> Answer:
    """Which chunks of which xorbs make the asked range: one xorb is 32 MiB of the file."""
    content = _content(hub, sha)
    start, count = byte_range(request.headers.get("range"), content.size) or (0, content.size)
    terms: list[dict[str, Any]] = []
    xorbs: dict[str, Any] = {}
    first_chunk, last_chunk = start // CHUNK, (start + count - 1) // CHUNK
    chunk = first_chunk
    while chunk <= last_chunk:
        number, low = divmod(chunk, XORB_CHUNKS)
        high = min(XORB_CHUNKS, last_chunk + 1 - number * XORB_CHUNKS)
        name = hashlib.sha256(f"{sha}{number}".encode()).hexdigest()
        length = min(content.size, number * XORB + high * CHUNK) - chunk * CHUNK
        bounds = {"start": low, "end": high}
        terms.append({"hash": name, "unpacked_length": length, "range": bounds})
        end = low * FRAME + length + 8 * (high - low) - 1
        span = {"chunks": bounds, "bytes": {"start": low * FRAME, "end": end}}
        xorbs[name] = [{"url": f"{hub.data_url}/xorb/{sha}/{number}", "ranges": [span]}]
        chunk = number * XORB_CHUNKS + high
    return json_answer({"offset_into_first_range": start - first_chunk * CHUNK, "terms": terms, "xorbs": xorbs})


def _xorb(request: Request, content: Content, number: int) -> Answer:
    """A xorb is made when it is asked for: each chunk a header of version, length, scheme, length, then the bytes."""
    body = bytearray()
    offset, end = number * XORB, min(content.size, (number + 1) * XORB)
    while offset < end:
        data = b""
        while len(data) < min(CHUNK, end - offset):
            data += content.read(offset + len(data), min(CHUNK, end - offset) - len(data))
        size = len(data).to_bytes(3, "little")
        body += b"\0" + size + b"\0" + size + data
        offset += len(data)
    whole = Content(size=len(body), head=bytes(body))
    return content_answer(request, whole, {"Accept-Ranges": "bytes"})
