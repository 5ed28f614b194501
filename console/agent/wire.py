"""Frames out: ASCII JSON lines of at most 256 KiB, written by one thread from a bounded queue.

A slow link must not grow the agent: the oldest samples are dropped (and counted), replies never are, and whoever
streams parts waits until there is room. An answer that is too long for one frame goes out as frames of kind
`part` with d={"chunk": text}, pieces of its JSON text in order, and a last frame of its own kind with
d={"chunks": count}.
"""

from __future__ import annotations

import collections
import json
import os
import threading
import time
from typing import Any

FRAME_BYTES = 256 * 1024
CHUNK_CHARS = 96 * 1024  # escaping can double a chunk
SAMPLES = 256
PARTS_BYTES = 1024 * 1024
WRITE_BYTES = 32 * 1024
GATHER_S = 0.006  # the samples of one beat leave together: each write is a packet, and wakes the console


def unknown(reason: Any) -> dict[str, str]:
    """The JSON form of a value that is not known."""
    return {"unknown": str(reason)}


def is_unknown(value: Any) -> bool:
    return isinstance(value, dict) and "unknown" in value


def _json(data: Any) -> str:
    return json.dumps(data, separators=(",", ":"), allow_nan=False)


class Outlet:
    """The one way out. `sample`, `reply` and `part` may be called from every thread."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._seq = 0
        self._dropped = 0
        self._queued_bytes = 0
        self._samples = 0
        self._queue: collections.deque[tuple[bool, bytes]] = collections.deque()
        self._changed = threading.Condition()
        self.broken = threading.Event()

    def start(self) -> None:
        threading.Thread(target=self._write, name="outlet", daemon=True).start()

    def hello(self, data: dict[str, Any]) -> None:
        """The first frame; never dropped."""
        with self._changed:
            self._put(False, "hello", _json(data), None)

    def sample(self, kind: str, data: dict[str, Any]) -> None:
        """A fact; the oldest one is dropped when the link does not keep up."""
        body = _json(data)
        if len(body) > FRAME_BYTES - 256:
            body = _json({"probe": kind, "reason": f"sample of {len(body)} bytes is too long for a frame"})
            kind = "ProbeFailed"
        with self._changed:
            if self._samples >= SAMPLES:
                self._drop_oldest_sample()
            self._put(True, kind, body, None)

    def reply(self, request: int, kind: str, data: dict[str, Any]) -> None:
        """The final answer (`reply` or `error`) to a request; never dropped."""
        body = _json(data)
        with self._changed:
            if len(body) > FRAME_BYTES - 256:
                chunks = [body[at : at + CHUNK_CHARS] for at in range(0, len(body), CHUNK_CHARS)]
                for chunk in chunks:
                    self._put(False, "part", _json({"chunk": chunk}), request)
                body = _json({"chunks": len(chunks)})
            self._put(False, kind, body, request)

    def part(self, request: int, data: dict[str, Any]) -> None:
        """A piece of a stream; waits while more than a MiB is queued."""
        body = _json(data)
        with self._changed:
            while self._queued_bytes > PARTS_BYTES and not self.broken.is_set():
                self._changed.wait(1.0)
            self._put(False, "part", body, request)

    def _put(self, is_sample: bool, kind: str, body: str, request: int | None) -> None:
        self._seq += 1
        head = f'{{"v":1,"n":{self._seq},"k":"{kind}","t":{time.time():.3f},"m":{time.monotonic():.3f}'
        if request is not None:
            head += f',"id":{request}'
        if is_sample and self._dropped:
            head += f',"dropped":{self._dropped}'
        frame = (f'{head},"d":{body}}}\n').encode("ascii")
        self._queue.append((is_sample, frame))
        self._queued_bytes += len(frame)
        self._samples += is_sample
        self._changed.notify_all()

    def _drop_oldest_sample(self) -> None:
        for at, (is_sample, frame) in enumerate(self._queue):
            if is_sample:
                del self._queue[at]
                self._queued_bytes -= len(frame)
                self._samples -= 1
                self._dropped += 1
                return

    def _write(self) -> None:
        try:
            while True:
                frames = self._next_frames()
                view = memoryview(frames)
                while view:
                    view = view[os.write(self._fd, view) :]
                with self._changed:
                    self._queued_bytes -= len(frames)
                    self._changed.notify_all()
        except OSError:
            self.broken.set()
            with self._changed:
                self._changed.notify_all()

    def _next_frames(self) -> bytes:
        """What is written next: at least one frame, and as many more as are there."""
        with self._changed:
            while not self._queue:
                self._changed.wait()
            self._changed.wait_for(lambda: self._samples < len(self._queue), GATHER_S)  # an answer waits for nobody
            frames = b""
            while self._queue and len(frames) < WRITE_BYTES:
                is_sample, frame = self._queue.popleft()
                self._samples -= is_sample
                frames += frame
        return frames
