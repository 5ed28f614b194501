"""Two machines and a cable: the test in a network namespace, the box in another, a veth pair between them."""

from __future__ import annotations

import contextlib
import ctypes
import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence

from tests.support.requirements import need

LAPTOP, BOX = "10.213.0.1", "10.213.0.2"
_NEW_NETWORK = 0x40000000
_libc = ctypes.CDLL(None, use_errno=True)


class Wire:
    """`laptop` and `box` run a command on either side; the ends of the cable are called `laptop0` and `box0`."""

    def __init__(self, pid: int) -> None:
        self.inside: Sequence[str] = ("nsenter", f"--net=/proc/{pid}/ns/net", "--")

    def laptop(self, *words: str) -> str:
        return _output(*words)

    def box(self, *words: str) -> str:
        return _output(*self.inside, *words)


def _output(*words: str) -> str:
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


@contextlib.contextmanager
def wired() -> Iterator[Wire]:
    """A cable that is plugged in. What this thread and its children open meanwhile is on the laptop's side.

    Nothing is left of it: both namespaces end with the processes that are in them.
    """
    missing = [tool for tool in ("ip", "tc", "nsenter", "unshare") if shutil.which(tool) is None]
    need("netns", os.geteuid() == 0, "only root makes network namespaces")
    need("netns", not missing, f"not installed: {', '.join(missing)} (iproute2, util-linux)")
    before = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
    need("netns", _libc.unshare(_NEW_NETWORK) == 0, "this kernel or container makes no network namespaces")
    holder = subprocess.Popen(["unshare", "--net", "sh", "-c", "echo; exec sleep 3600"], stdout=subprocess.PIPE)
    try:
        assert holder.stdout is not None
        holder.stdout.readline()
        wire = Wire(holder.pid)
        try:
            _lay(wire, holder.pid)
        except subprocess.CalledProcessError as error:
            need("netns", False, f"this kernel or container has no veth: {error.stderr.strip()}")
        yield wire
    finally:
        holder.kill()
        holder.communicate()
        _libc.setns(before, _NEW_NETWORK)
        os.close(before)


def _lay(wire: Wire, box_pid: int) -> None:
    wire.laptop("ip", "link", "add", "laptop0", "type", "veth", "peer", "name", "box0", "netns", str(box_pid))
    for side, device, address in ((wire.laptop, "laptop0", LAPTOP), (wire.box, "box0", BOX)):
        side("ip", "address", "add", f"{address}/24", "dev", device)
        for name in ("lo", device):
            side("ip", "link", "set", name, "up")
