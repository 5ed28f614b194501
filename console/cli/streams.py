"""The three streams of this process, whatever it was started with and wherever they lead."""

from __future__ import annotations

import codecs
import contextlib
import io
import os
import sys
from typing import IO, Any

from console.cli.stop import FAILED


def hold() -> None:
    """A stream that was closed leads to nothing, so that no socket and no file of ours gets its number. What a stream's
    encoding does not have is written as JSON writes it."""
    codecs.register_error("gpudeck", _escaped)
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            null = os.open(os.devnull, os.O_RDWR)
            if null != number:
                os.dup2(null, number)
                os.close(null)
            setattr(sys, name, os.fdopen(number, "w" if number else "r"))
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="gpudeck")


def _escaped(error: UnicodeError) -> tuple[str, int]:
    """`\\u2192`, and two of them for what lies beyond: data stays JSON, and text readable."""
    assert isinstance(error, UnicodeEncodeError)
    units = error.object[error.start : error.end].encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{high:02x}{low:02x}" for high, low in zip(units[::2], units[1::2], strict=True)), error.end


def emptied(exit_code: int) -> int:
    """The exit code once all that was written has left. A broken pipe changes nothing; standard output that takes no
    more makes a failure of a success."""
    if (error := _emptied(sys.stdout)) is not None and exit_code == 0:
        exit_code = FAILED
        with contextlib.suppress(OSError):
            sys.stderr.write(f"gpudeck: Standard output takes no more: {error.strerror}.\n")
    _emptied(sys.stderr)
    return exit_code


def _emptied(stream: IO[Any]) -> OSError | None:
    """Flush; what cannot leave is dropped, so that Python's own last flush finds nothing to complain about."""
    try:
        stream.flush()
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        return None if isinstance(error, BrokenPipeError) else error
    return None
