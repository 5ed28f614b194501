"""Work in a forked child: what may hang, and what imports the library, never runs in a job's own process."""

from __future__ import annotations

import ctypes
import errno
import json
import os
import select
import signal
import time
from typing import Any, Callable

_PR_SET_PDEATHSIG = 1


def answered(function: Callable[[], Any], seconds: float) -> tuple[Any, str]:
    """What the function returns, computed in a child, and ""; or None and `hang`, `stale` or an errno's name."""
    pid, pipe = start(function)
    data, complete = _drain(pipe, seconds)
    os.close(pipe)
    if not complete:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, os.WNOHANG)  # a child in uninterruptible sleep stays, and must not hold us
        return None, "hang"
    os.waitpid(pid, 0)
    result = json.loads(data) if data else {"error": "EIO"}
    return result.get("ok"), result.get("error", "")


def start(function: Callable[[], Any]) -> tuple[int, int]:
    """Forks; the child writes `{"ok": result}` or `{"error": errno name}` and ends. Returns its pid and the pipe.

    The child dies with its parent, takes the default way with SIGINT and SIGTERM, and never returns.
    """
    read_end, write_end = os.pipe()
    parent, child = os.getpid(), os.fork()
    if child:
        os.close(write_end)
        return child, read_end
    code = 1
    try:
        os.close(read_end)
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() == parent:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            signal.signal(signal.SIGINT, signal.default_int_handler)
            _write_all(write_end, json.dumps(_result(function)).encode())
            code = 0
    finally:
        os._exit(code)


def _result(function: Callable[[], Any]) -> dict[str, Any]:
    try:
        return {"ok": function()}
    except OSError as error:
        return {"error": "stale" if error.errno == errno.ESTALE else errno.errorcode.get(error.errno or 0, "EIO")}


def _write_all(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]


def _drain(descriptor: int, seconds: float) -> tuple[bytes, bool]:
    """Everything up to the end, and True; or what came within the time, and False."""
    data, end = b"", time.monotonic() + seconds
    while True:
        ready, _, _ = select.select([descriptor], [], [], max(0.0, end - time.monotonic()))
        if not ready:
            return data, False
        chunk = os.read(descriptor, 1 << 20)
        if not chunk:
            return data, True
        data += chunk
