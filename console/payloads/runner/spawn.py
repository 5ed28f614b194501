"""The main process: a session of its own, exactly the argument list, environment and input that were asked for."""

from __future__ import annotations

import base64
import errno
import json
import os
import signal
from typing import Any, NamedTuple, NoReturn


class Spawned(NamedTuple):
    """A child that waits at its gate: it runs the program when `go` is called, and ends when we die before."""

    pid: int
    gate: int
    errors: int

    def go(self) -> dict[str, Any] | None:
        """Let it run. None when the program runs, else {code, reason}."""
        os.write(self.gate, b"g")
        os.close(self.gate)
        with os.fdopen(self.errors, "rb") as stream:
            text = stream.read()  # until the program is there (close on exec), or could not be
        return json.loads(text) if text else None

    def abandon(self) -> None:
        os.close(self.gate)
        os.close(self.errors)
        os.waitpid(self.pid, 0)


def spawn(spec: dict[str, Any], directory: str, env: dict[str, str], log_fd: int) -> Spawned:
    gate_out, gate_in = os.pipe()
    errors_out, errors_in = os.pipe()
    source = _input(spec, directory)
    pid = os.fork()
    if pid == 0:
        os.close(gate_in)
        _child(spec, env, (source, log_fd), gate_out, errors_in)
    for descriptor in (gate_out, errors_in, source):
        os.close(descriptor)
    return Spawned(pid, gate_in, errors_out)


def _input(spec: dict[str, Any], directory: str) -> int:
    """The job's standard input: a file without a name, or nothing."""
    if not spec.get("stdin"):
        return os.open(os.devnull, os.O_RDONLY)
    path = os.path.join(directory, ".stdin")
    handle = os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600)
    os.unlink(path)
    data = base64.b64decode(spec["stdin"])
    while data:
        data = data[os.write(handle, data) :]
    os.lseek(handle, 0, os.SEEK_SET)
    return handle


def _child(spec: dict[str, Any], env: dict[str, str], files: Any, gate: int, errors: int) -> NoReturn:
    """Never returns: the program, or a word about why not."""
    try:
        os.setsid()
        for number in set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP}:
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, [])
        os.umask(spec["umask"])
        source, log_fd = files
        os.dup2(source, 0)
        os.dup2(log_fd, 1)
        os.dup2(log_fd, 2)
        if os.read(gate, 1):
            _execute(spec, env, errors)
    finally:
        os._exit(127)


def _execute(spec: dict[str, Any], env: dict[str, str], errors: int) -> None:
    subject = spec["cwd"]
    try:
        os.chdir(subject)
        subject = spec["argv"][0]
        os.execvpe(subject, spec["argv"], env)
    except (OSError, ValueError) as error:
        number = getattr(error, "errno", None)
        reason = f"{subject}: {os.strerror(number) if number else error}"
        code = 127 if number == errno.ENOENT else 126
        os.write(errors, json.dumps({"code": code, "reason": reason}).encode("ascii"))
