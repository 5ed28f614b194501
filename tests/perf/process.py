"""What processes cost, by the kernel's own count."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

ROOT = Path(__file__).parents[2]
# Runs Python code whose last words on standard error are its own peak: the one that wait4 tells counts the parent's.
_PEAK = """
import atexit, sys
def tell():
    with open("/proc/self/status") as file:
        sys.stderr.write("\\npeak " + next(line for line in file if line.startswith("VmHWM")).split()[1])
atexit.register(tell)
"""


class Spent(msgspec.Struct, frozen=True):
    """CPU seconds (user and system) and the highest resident size of a process that has ended."""

    cpu_s: float
    peak_bytes: int = 0


def cpu_s(pid: int) -> float:
    """CPU seconds of a running process so far, in steps of 10 ms; ended children not among them."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def ran_s(pid: int) -> float:
    """The same to the nanosecond: the kernel's ticks miss bursts that are shorter than a tick, as painting is."""
    tasks = Path(f"/proc/{pid}/task").glob("*/schedstat")
    return sum(int(task.read_text().split()[0]) for task in tasks) / 1e9


def run(argv: Sequence[str], env: Mapping[str, str] | None = None) -> float:
    """CPU seconds of a program from its start to its end, which must be exit 0."""
    process = subprocess.Popen(
        argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, env={**os.environ, **(env or {})}, cwd=ROOT
    )
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise RuntimeError(f"{list(argv)} ended with {process.returncode}")
    return usage.ru_utime + usage.ru_stime


def run_code(code: str, *arguments: str) -> Spent:
    """What Python code costs in a process of its own."""
    argv = [sys.executable, "-c", _PEAK + code, *arguments]
    process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                               text=True, cwd=ROOT)  # fmt: skip
    assert process.stderr is not None
    said = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise RuntimeError(said)
    return Spent(usage.ru_utime + usage.ru_stime, int(said.rpartition("peak ")[2]) * 1024)
