"""What gpudeck costs, each measure against its budget: `python -m tests.perf [NAME ...]`, or `make perf`.

python -m tests.perf                 all of them, some minutes
python -m tests.perf start replay    these
python -m tests.perf --markdown      writes docs/performance.md, too
"""

from __future__ import annotations

import argparse
import compileall
import sys
from collections.abc import Iterator, Sequence
from importlib import import_module

import pytest

from tests.perf.document import document
from tests.perf.process import ROOT
from tests.perf.table import Row, text

MEASURES = ("version", "start", "agent_cost", "latency", "beside_nvitop", "events_cost", "replay", "log_parser_cost",
            "adoption", "console_cost", "log_keys", "widgets_cost", "hub_cost", "runs_cost", "load_cost",
            "load_beside_sglang")  # fmt: skip
DOCUMENT = ROOT / "docs" / "performance.md"


def measured(name: str) -> Iterator[Row]:
    """The rows of one measure; a part that is missing here is a row, too."""
    try:
        yield from import_module(f"tests.perf.{name}").rows()
    except pytest.skip.Exception as missing:
        yield Row(measure=name, value=str(missing).removeprefix("needs "))


def main(arguments: Sequence[str]) -> None:
    """Measure and print; nothing here is a test, a row over its budget is for a person to judge."""
    parser = argparse.ArgumentParser(prog="python -m tests.perf", description="What gpudeck costs.")
    parser.add_argument("names", nargs="*", metavar="NAME", choices=[[], *MEASURES], help=", ".join(MEASURES))
    parser.add_argument("--markdown", action="store_true", help=f"write {DOCUMENT.relative_to(ROOT)}, too")
    chosen = parser.parse_args(arguments)
    for room in ("console", "widgets", "tests/perf", "tests/support"):
        compileall.compile_dir(str(ROOT / room), quiet=1)
    rows: list[Row] = []
    for name in chosen.names or MEASURES:
        sys.stderr.write(f"{name} …\n")
        rows += measured(name)
    sys.stdout.write(text(rows) + "\n")
    if chosen.markdown:
        DOCUMENT.write_text(document(rows))


if __name__ == "__main__":
    main(sys.argv[1:])
