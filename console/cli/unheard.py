"""What libraries, threads and finalisers say past every caller: Python prints it as it is, here it is redacted."""

from __future__ import annotations

import sys
import threading
import warnings
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import asyncio


def listen() -> None:
    """For this process: errors of threads and finalisers, and warnings."""
    sys.unraisablehook = lambda said: _tell(said.err_msg or "Exception ignored.", said.exc_value)
    threading.excepthook = lambda said: _tell(
        f"A thread broke{f': {said.thread.name}' if said.thread else ''}.", said.exc_value
    )
    warnings.showwarning = lambda message, category, filename, lineno, *_: _tell(
        warnings.formatwarning(message, category, filename, lineno).rstrip("\n")
    )


def listen_to_loop(loop: asyncio.AbstractEventLoop) -> None:
    """Errors that nobody waited for, and what a library logs where no handler is."""
    import logging

    class Told(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            _tell(self.format(record))

    loop.set_exception_handler(lambda _, context: _tell(context["message"], _error(context)))
    logging.lastResort = Told(logging.WARNING)


def _error(context: dict[str, Any]) -> BaseException | None:
    error: BaseException | None = context.get("exception")
    return error


def _tell(text: str, error: BaseException | None = None) -> None:
    import click

    from console.values import clean_lines
    from console.values.secrets import redact, trace

    lines = [*clean_lines(redact(text)), *([trace(error)] if error is not None else [])]
    click.echo("\n".join(lines), err=True)
