"""The command line inside the test's own process: the same entry, without the start of an interpreter."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from console.cli.main import run

Deck = Callable[..., tuple[int, str, str]]


def in_process(capsys: pytest.CaptureFixture[str]) -> Deck:
    """Runs a command line: (exit code, standard output, standard error)."""

    def call(*arguments: str) -> tuple[int, str, str]:
        capsys.readouterr()
        code = run(list(arguments))
        out, err = capsys.readouterr()
        return code, out, err

    return call
