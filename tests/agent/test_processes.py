"""Who holds a GPU: processes in sight, out of sight, dead, scrambled."""

from __future__ import annotations

import asyncio
import getpass
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from console.events.host import GpuProcess, GpuProcessesSampled
from console.values import Unknown, known
from console.views.gpus import process_text
from tests.support.agent import watched
from tests.support.fakes import MIB, Fleet

GONE = int(Path("/proc/sys/kernel/pid_max").read_text()) - 1  # a pid that nobody has


def listed(fact: GpuProcessesSampled, at: int = 0) -> tuple[GpuProcess, ...]:
    assert known(fact.gpus)
    processes = fact.gpus[at].processes
    assert known(processes)
    return processes


async def test_a_process_has_user_and_command_without_secrets(tmp_path: Path) -> None:
    code = "import sys; sys.stdin.read()"
    words = [code, "--api-key", "abc123", "--hf-token=hf_abcdefghijklmnopqrst", "--max-tokens", "9"]
    child = await asyncio.create_subprocess_exec(sys.executable, "-c", *words, stdin=asyncio.subprocess.PIPE)
    fleet = Fleet(tmp_path, 1, proc=f"{child.pid} {700 * MIB}", used=700 * MIB)
    async with watched(fleet.env(), nvml=True) as box:
        process = listed(await box.until(GpuProcessesSampled))[0]
    await child.communicate(b"")
    assert (process.pid, process.memory_bytes) == (child.pid, 700 * MIB)
    assert process.user == getpass.getuser()
    assert process.command == f"{sys.executable} -c {code} --api-key *** --hf-token=*** --max-tokens 9"


async def test_a_process_of_another_namespace_keeps_its_row(tmp_path: Path) -> None:
    fleet = Fleet(tmp_path, 1, proc=[f"{GONE} none", f"{os.getpid()} {5 * MIB}"])
    async with watched(fleet.env(), nvml=True) as box:
        mine, hidden = listed(await box.until(GpuProcessesSampled))
    assert mine.pid == os.getpid()
    assert isinstance(hidden.user, Unknown)
    assert isinstance(hidden.command, Unknown)
    assert "not visible here" in hidden.user.reason
    assert not known(hidden.memory_bytes)


async def test_what_a_job_of_ours_started_names_the_job(tmp_path: Path) -> None:
    """The mark of the runner is in the environment of all below a job; one that names no job is none."""
    (tmp_path / "gpudeck" / "jobs" / "bench-1").mkdir(parents=True)
    below = "import subprocess, sys; child = subprocess.Popen([sys.executable, '-c', 'input()'])"
    code = f"{below}; print(child.pid, flush=True); child.wait()"
    started = []
    for name in ("bench-1", "bench-2", "../bench-1"):
        env = os.environ | {"GPUDECK_JOB": name}
        pipe = asyncio.subprocess.PIPE
        started.append(
            await asyncio.create_subprocess_exec(sys.executable, "-c", code, env=env, stdin=pipe, stdout=pipe)
        )
    lines = [await child.stdout.readline() for child in started if child.stdout]
    pids = [int(line) for line in lines]
    fleet = Fleet(tmp_path, 1, proc=[f"{pid} {MIB}" for pid in pids])
    async with watched({**fleet.env(), "XDG_STATE_HOME": str(tmp_path)}, nvml=True) as box:
        found = {process.pid: process.job for process in listed(await box.until(GpuProcessesSampled))}
    for child in started:
        await child.communicate(b"\n")
    assert [found[pid] for pid in pids] == ["bench-1", "", ""]


async def test_what_exec_started_says_whose_it_is(tmp_path: Path) -> None:
    env = os.environ | {"GPUDECK_EXEC": "julia@laptop"}
    child = await asyncio.create_subprocess_exec("sleep", "60", env=env)
    fleet = Fleet(tmp_path, 1, proc=[f"{child.pid} {MIB}"])
    async with watched({**fleet.env(), "XDG_STATE_HOME": str(tmp_path)}, nvml=True) as box:
        found = listed(await box.until(GpuProcessesSampled))
    child.kill()
    await child.wait()
    assert [process.job for process in found] == ["exec of julia@laptop"]
    assert process_text(found[0]).endswith(":sleep, exec of julia@laptop")


@pytest.fixture
def zombie() -> Iterator[int]:
    """A process that has ended and that nobody has waited for."""
    child = subprocess.Popen([sys.executable, "-c", ""])
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    yield child.pid
    child.wait()


async def test_a_dead_owner_is_called_defunct(tmp_path: Path, zombie: int) -> None:
    fleet = Fleet(tmp_path, 1, proc=f"{zombie} {MIB}")
    async with watched(fleet.env(), nvml=True) as box:
        process = listed(await box.until(GpuProcessesSampled))[0]
    assert known(process.command)
    assert process.command.endswith("<defunct>")


async def test_scrambled_lists_are_refused(tmp_path: Path) -> None:
    fleet = Fleet(tmp_path, 2)
    fleet.set(0, proc=f"4194400000 {MIB}")
    fleet.set(1, proc=f"12 {200_000 * MIB}")
    async with watched(fleet.env(), nvml=True) as box:
        fact = await box.until(GpuProcessesSampled)
    assert known(fact.gpus)
    for gpu in fact.gpus:
        assert isinstance(gpu.processes, Unknown)
        assert "do not match" in gpu.processes.reason


async def test_a_newcomer_is_seen_at_once_and_an_unchanged_list_is_not_repeated(tmp_path: Path) -> None:
    fleet = Fleet(tmp_path, 2, proc=f"{os.getpid()} {MIB}")
    async with watched(fleet.env(), nvml=True) as box:
        await box.until(GpuProcessesSampled)
        fleet.set(0, proc=[f"{os.getpid()} {MIB}", f"{GONE} {900 * MIB}"], used=901 * MIB)
        await box.until(GpuProcessesSampled, lambda fact: len(listed(fact)) == 2)
        assert len(box.of(GpuProcessesSampled)) == 2
