"""`exec`: a program in a process group of its own, its outputs as parts, killed as a group."""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import threading
import time
from typing import Any

from . import children
from .calls import Call, OpError, decode, encode
from .server_key import key_of

PART_BYTES = 64 * 1024
TERM_S = 2.0  # between SIGTERM and SIGKILL
LINGER_S = 0.5  # a daemon that the program left behind may hold its outputs open


def execute(call: Call, a: dict[str, Any]) -> dict[str, Any]:
    """Run `argv` with `env` added to the agent's own, in `cwd`.

    `server_keys`: further variables, each the API key of a running server (pid, start), which so never leaves the box.
    Its input is `stdin`, then the end of file; with `feed` it stays open for `stdin` requests. `max_bytes`
    bounds the output, the rest is dropped and counted.
    """
    argv = a["argv"]
    if not argv or not all(isinstance(word, str) and "\0" not in word for word in argv):
        raise OpError("bad_request", "argv must be a list of words")
    run = _Run(call, a)
    try:
        return run.result()
    finally:
        run.close()


def _server_keys(a: dict[str, Any]) -> dict[str, str]:
    found = {name: key_of(pid, start) for name, (pid, start) in (a.get("server_keys") or {}).items()}
    return {name: key for name, key in found.items() if key}


class _Run:
    def __init__(self, call: Call, a: dict[str, Any]) -> None:
        self._call = call
        timeout_s = a.get("timeout_s")
        self._deadline = None if timeout_s is None else time.monotonic() + timeout_s
        self._left: int | None = a.get("max_bytes")
        self._dropped = 0
        self._timed_out = False
        self._kill_at: float | None = None
        self._input = decode(a.get("stdin"))
        self._input_ended = not a.get("feed")
        with children.lock:
            self._process = subprocess.Popen(
                a["argv"],
                env={**os.environ, **_server_keys(a), **(a.get("env") or {})},
                cwd=a.get("cwd"),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                start_new_session=True,
            )
            children.add(self._process.pid)
        self._wake_out, self._wake_in = os.pipe()
        self._selector = selectors.DefaultSelector()
        self._register()
        self._wake_lock = threading.Lock()
        self._closed = False
        self._reaper = threading.Thread(target=self._reap, name="reap", daemon=True)
        self._reaper.start()
        call.wake = self._wake

    def _register(self) -> None:
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        for stream in (process.stdin, process.stdout, process.stderr):
            os.set_blocking(stream.fileno(), False)
        os.set_blocking(self._wake_in, False)
        self._selector.register(process.stdout, selectors.EVENT_READ, 1)
        self._selector.register(process.stderr, selectors.EVENT_READ, 2)
        self._selector.register(self._wake_out, selectors.EVENT_READ, 0)

    def _wake(self) -> None:
        with self._wake_lock:  # after `close` the number belongs to some other file
            if not self._closed:
                with contextlib.suppress(BlockingIOError):
                    os.write(self._wake_in, b"x")

    def _reap(self) -> None:
        self._process.wait()
        self._wake()

    def result(self) -> dict[str, Any]:
        ended: float | None = None
        outputs = 2
        while outputs and (ended is None or time.monotonic() < ended + LINGER_S):
            self._feed()
            for key, _ in self._selector.select(self._pause(ended)):
                if key.data == 0:
                    os.read(self._wake_out, 4096)
                elif key.data in (1, 2) and not self._output(key):
                    outputs -= 1
            if ended is None and self._process.returncode is not None:
                ended = time.monotonic()
            self._enforce()
        code = self._process.wait()
        return {
            "exit_code": code if code >= 0 else None,
            "signal": -code if code < 0 else None,
            "timed_out": self._timed_out,
            "dropped_bytes": self._dropped,
        }

    def _pause(self, ended: float | None) -> float | None:
        """How long to wait for output: up to the next deadline."""
        ends = [self._kill_at, None if self._timed_out else self._deadline]
        ends.append(None if ended is None else ended + LINGER_S)
        known = [end for end in ends if end is not None]
        return max(0.0, min(known) - time.monotonic()) if known else None

    def _output(self, key: selectors.SelectorKey) -> bool:
        """Send what one stream has; False at its end."""
        try:
            data = os.read(key.fd, PART_BYTES)
        except BlockingIOError:
            return True
        if not data:
            self._selector.unregister(key.fileobj)
            return False
        if self._left is not None:
            self._dropped += max(0, len(data) - self._left)
            data = data[: self._left]
            self._left -= len(data)
        if data:
            self._call.part({"fd": key.data, "data": encode(data)})
        return True

    def _feed(self) -> None:
        """Write as much input as the program takes; close it at the end."""
        stream = self._process.stdin
        if stream is None or stream.closed:
            self._call.feed.clear()
            return
        while self._call.feed:
            data, eof = self._call.feed.popleft()
            self._input += data
            self._input_ended = self._input_ended or eof
        try:
            while self._input:
                self._input = self._input[os.write(stream.fileno(), self._input[:PART_BYTES]) :]
        except BlockingIOError:
            self._want_write(True)
            return
        except OSError:
            self._input, self._input_ended = b"", True
        self._want_write(False)
        if self._input_ended:
            stream.close()

    def _want_write(self, wanted: bool) -> None:
        stream = self._process.stdin
        assert stream is not None
        registered = stream.fileno() in self._selector.get_map()
        if wanted and not registered:
            self._selector.register(stream, selectors.EVENT_WRITE, 3)
        elif registered and not wanted:
            self._selector.unregister(stream)

    def _enforce(self) -> None:
        """Cancel and timeout: SIGTERM to the group, SIGKILL two seconds later."""
        now = time.monotonic()
        late = self._deadline is not None and now >= self._deadline and self._process.returncode is None
        if self._kill_at is None and (late or self._call.cancelled.is_set()):
            self._timed_out = late
            children.send(self._process.pid, signal.SIGTERM)
            self._kill_at = now + TERM_S
        elif self._kill_at is not None and now >= self._kill_at:
            children.send(self._process.pid, signal.SIGKILL)
            self._kill_at = now + TERM_S

    def close(self) -> None:
        if self._process.returncode is None:
            children.send(self._process.pid, signal.SIGKILL)
        self._reaper.join()
        children.discard(self._process.pid)
        with self._wake_lock:
            self._closed = True
        self._selector.close()
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            if stream is not None and not stream.closed:
                stream.close()
        os.close(self._wake_out)
        os.close(self._wake_in)
