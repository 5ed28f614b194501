"""The box of the measurements: a real sshd on loopback, eight fake GPUs that change each second, a process on each."""

from __future__ import annotations

import contextlib
import itertools
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.support.fakes import MIB, Fleet
from tests.support.gpudeck import Gpudeck
from tests.support.laptop import Laptop
from tests.support.sshd import Sshd, need_sshd, sshd

CLOCK_MHZ = 1777  # stands in no other number on the screen
USED_BYTES = 90000 * MIB
COMMAND = (
    "-m sglang.launch_server --model-path /root/models/Kimi-K2.6 --tp 8 --ep 4 "
    "--served-model-name moonshotai/Kimi-K2.6 --trust-remote-code --mem-fraction-static 0.9 "
    "--speculative-algorithm DFLASH --max-running-requests 256"
)


class Box:
    """`name` logs in from `gpudeck`'s laptop; `library` is what finds the GPUs in any program of this machine."""

    def __init__(self, server: Sshd, directory: Path, holders: Sequence[int]) -> None:
        self.server = server
        self.gpudeck = Gpudeck(Laptop(directory))
        self.name = self.gpudeck.laptop.ready(server)
        self.fleet = fleet(directory, holders)
        self.library = {key: value for key, value in self.fleet.env().items() if key != "FAKE_NVML_LOG"}
        self.gpudeck.host(self.name, **self.library)

    def agents(self) -> list[int]:
        """The agents that run on the box now."""
        pids = self.server.sessions()
        lines = {pid: Path(f"/proc/{pid}/cmdline").read_bytes() for pid in pids if Path(f"/proc/{pid}").exists()}
        return [pid for pid, line in lines.items() if b"\0-I\0-S\0-u\0-c\0" in line]


def fleet(directory: Path, holders: Sequence[int]) -> Fleet:
    """A GPU for each process, all of them busy."""
    gpus = Fleet(directory, len(holders), used=USED_BYTES, memory_util=60, reasons=4, sm_clock=CLOCK_MHZ)
    for gpu, holder in zip(gpus.gpus, holders, strict=True):
        gpu["proc"] = f"{holder} {USED_BYTES}"
    drift(gpus, 0)
    return gpus


def drift(gpus: Fleet, second: int) -> None:
    """Utilisation, power and temperature change each second, as real ones do."""
    for index, gpu in enumerate(gpus.gpus):
        gpu.update(
            util=90 + (second * 3 + index) % 10,
            power=600000 + 997 * (second * 7 + index) % 90000,
            temperature=60 + second % 9,
        )
    gpus.write()


@contextlib.contextmanager
def holding() -> Iterator[list[int]]:
    """Eight processes with a real, long command line, as the ranks of a server."""
    wait = [sys.executable, "-S", "-c", "import sys; sys.stdin.read()"]
    ranks = [subprocess.Popen([*wait, *COMMAND.split()], stdin=subprocess.PIPE) for _ in range(8)]
    try:
        yield [rank.pid for rank in ranks]
    finally:
        for rank in ranks:
            rank.communicate()


@contextlib.contextmanager
def box() -> Iterator[Box]:
    """Everything ends with the block. Skips like a test when there is no sshd or no C compiler."""
    need_sshd()
    ended = threading.Event()

    def drifting(gpus: Fleet) -> None:
        for second in itertools.count():
            if ended.wait(1):
                return
            drift(gpus, second)

    with tempfile.TemporaryDirectory() as place, sshd() as server, holding() as holders:
        # A home of its own: what this machine's rc files cost, and which python3 they find, is not ours.
        one = Box(server.start(f"SetEnv HOME={place}"), Path(place), holders)
        thread = threading.Thread(target=drifting, args=(one.fleet,))
        thread.start()
        try:
            yield one
        finally:
            ended.set()
            thread.join()
