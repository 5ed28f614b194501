"""What the connected console costs, beside nvitop on the same fake library at the same time.

Both run on terminals of their own, both at one sample a second, and their CPU is read over the same window. nvitop
comes from the package index into an environment made for the run.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import time
import venv
from collections.abc import Iterator
from pathlib import Path

from tests.perf.box import CLOCK_MHZ, Box, box
from tests.perf.process import ran_s
from tests.perf.screen import screen
from tests.perf.table import Row

SETTLE_S = 10.0
SECONDS = 40.0


def nvitop(directory: Path) -> Path | None:
    """Its executable in an environment of its own; None when it cannot be installed."""
    venv.EnvBuilder(with_pip=True).create(directory)
    pip = [str(directory / "bin" / "python"), "-m", "pip", "install", "-q", "--disable-pip-version-check", "nvitop"]
    done = subprocess.run(pip, check=False, capture_output=True)
    return directory / "bin" / "nvitop" if done.returncode == 0 else None


def library(place: Box, directory: Path) -> dict[str, str]:
    """The environment in which the driver's library is the fake one."""
    directory.mkdir()
    (directory / "libnvidia-ml.so.1").symlink_to(place.library["GPUDECK_NVML_LIBRARY"])
    return {**os.environ, **place.library, "LD_LIBRARY_PATH": str(directory)}


@contextlib.contextmanager
def beside(place: Box, program: Path | None) -> Iterator[int | None]:
    """nvitop on its terminal once it shows the GPUs, or nothing."""
    if program is None:
        yield None
        return
    directory = place.gpudeck.laptop.directory
    with screen([str(program), "--interval", "1"], library(place, directory / "lib"), directory) as shown:
        shown.wait("H200")
        yield shown.pid


def rows() -> list[Row]:
    with box() as place:
        directory = place.gpudeck.laptop.directory
        program = nvitop(directory / "venv")
        with (
            screen(place.gpudeck.argv(place.name), place.gpudeck.env, directory) as console,
            beside(place, program) as other,
        ):
            console.wait(str(CLOCK_MHZ))
            time.sleep(SETTLE_S)
            pids = [console.pid, place.agents()[0], *([other] if other else [])]
            before = [ran_s(pid) for pid in pids]
            time.sleep(SECONDS)
            spent = [ran_s(pid) - at for pid, at in zip(pids, before, strict=True)]
    return _rows(*(100 * one / SECONDS for one in spent))


def _rows(console: float, agent: float, theirs: float | None = None) -> list[Row]:
    """All in per cent of a core."""
    missing = "nvitop cannot be installed here"
    note = f"nvitop, {theirs:.1f} % of a core; both at 1 Hz in one window" if theirs else ""
    return [
        Row(measure="console, connected to 8 GPUs and nothing else", value=console, unit="% of a core", budget=6),
        Row(measure="the same", value=console / theirs if theirs else missing, budget=0.6, base=note),
        Row(measure="console and agent together", value=(console + agent) / theirs if theirs else missing, base=note),
    ]  # fmt: skip
