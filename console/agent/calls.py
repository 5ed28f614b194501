"""Requests in: each one a Call with a thread of its own; `cancel` and `stdin` reach into a running one."""

from __future__ import annotations

import base64
import binascii
import collections
import errno
import threading
from typing import Any, Callable

from .wire import Outlet

CODES = {
    errno.ENOENT: "not_found",
    errno.EACCES: "permission",
    errno.EPERM: "permission",
    errno.EEXIST: "exists",
    errno.ENOTDIR: "not_a_directory",
    errno.ETIMEDOUT: "timeout",
    errno.ECONNREFUSED: "refused",
}


class OpError(Exception):
    """A refusal with one of the protocol's codes."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class Call:
    """A running request. `feed` holds (bytes, end of file) pairs for `exec`; `wake` tells its thread to look."""

    def __init__(self, number: int, outlet: Outlet) -> None:
        self.number = number
        self.cancelled = threading.Event()
        self.feed: collections.deque[tuple[bytes, bool]] = collections.deque()
        self.wake: Callable[[], None] = _nothing
        self._outlet = outlet

    def part(self, data: dict[str, Any]) -> None:
        if self._outlet.broken.is_set():
            self.cancelled.set()
        self._outlet.part(self.number, data)

    def cancel(self) -> None:
        self.cancelled.set()
        self.wake()


def _nothing() -> None:
    return None


class Calls:
    """All running requests of this connection."""

    def __init__(self, outlet: Outlet, ops: dict[str, Callable[[Call, dict[str, Any]], dict[str, Any]]]) -> None:
        self._outlet = outlet
        self._ops = ops
        self._running: dict[int, Call] = {}
        self._lock = threading.Lock()

    def accept(self, request: dict[str, Any]) -> None:
        """Start one request. Never blocks: the reader calls it."""
        number, name, arguments = request.get("id"), request.get("op"), request.get("a") or {}
        if not isinstance(number, int) or not isinstance(name, str) or not isinstance(arguments, dict):
            return
        if name in ("cancel", "stdin"):
            self._answer(Call(number, self._outlet), getattr(self, "_" + name), arguments)
            return
        op = self._ops.get(name)
        if op is None:
            self._refuse(number, "unknown_op", f"this agent knows no request {name!r}")
            return
        call = Call(number, self._outlet)
        with self._lock:
            self._running[number] = call
        threading.Thread(target=self._answer, args=(call, op, arguments), name=name, daemon=True).start()

    def cancel_all(self) -> None:
        with self._lock:
            running = list(self._running.values())
        for call in running:
            call.cancel()

    def _answer(self, call: Call, op: Callable[..., dict[str, Any]], arguments: dict[str, Any]) -> None:
        try:
            self._outlet.reply(call.number, "reply", op(call, arguments))
        except OpError as error:
            self._refuse(call.number, error.code, str(error))
        except OSError as error:
            code = "timeout" if isinstance(error, TimeoutError) else CODES.get(error.errno or 0, "io")
            self._refuse(call.number, code, _words(error))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            self._refuse(call.number, "bad_request", f"{type(error).__name__}: {error}")
        except Exception as error:
            self._refuse(call.number, "io", f"{type(error).__name__}: {error}")
        finally:
            with self._lock:
                self._running.pop(call.number, None)

    def _refuse(self, number: int, code: str, message: str) -> None:
        self._outlet.reply(number, "error", {"error": code, "message": message[:4000]})

    def _target(self, arguments: dict[str, Any]) -> Call | None:
        with self._lock:
            return self._running.get(arguments["target"])

    def _cancel(self, call: Call, arguments: dict[str, Any]) -> dict[str, Any]:
        target = self._target(arguments)
        if target is not None:
            target.cancel()
        return {}

    def _stdin(self, call: Call, arguments: dict[str, Any]) -> dict[str, Any]:
        target = self._target(arguments)
        if target is None:
            raise OpError("not_found", "request {!r} does not run".format(arguments["target"]))
        target.feed.append((decode(arguments.get("data")), bool(arguments.get("eof"))))
        target.wake()
        return {}


def decode(text: str | None) -> bytes:
    """Bytes of a base64 field; None and "" are empty."""
    try:
        return base64.b64decode(text or "", validate=True)
    except (binascii.Error, ValueError) as error:
        raise OpError("bad_request", f"not base64: {error}") from None


def encode(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def _words(error: OSError) -> str:
    if not error.strerror:
        return str(error) or type(error).__name__
    return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
