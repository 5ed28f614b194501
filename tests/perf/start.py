"""From exec to the first frame, and to the first GPU on screen over a real sshd on loopback."""

from __future__ import annotations

import statistics
import sys
from pathlib import Path

import msgspec

from tests.perf.box import CLOCK_MHZ, Box, box
from tests.perf.screen import Seen, screen
from tests.perf.table import Row

TIMES = 7
# The console with one witness: the moment at which the import of asyncssh is done.
WITNESSED = """
import sys, time
from importlib.machinery import PathFinder
class Witness:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name != "asyncssh":
            return None
        spec = PathFinder.find_spec(name, path)
        run = spec.loader.exec_module
        def witnessed(module):
            run(module)
            with open(mark, "w") as file:
                file.write(str(time.monotonic()))
        spec.loader.exec_module = witnessed
        return spec
mark = sys.argv.pop(1)
sys.meta_path.insert(0, Witness)
from console.cli.main import main
main()
"""


class Start(msgspec.Struct, frozen=True):
    """One start of the console; seconds."""

    frame: Seen
    gpu: Seen
    gpu_after_import_s: float


def once(place: Box) -> Start:
    """Start the console on the box, and wait for its first GPU."""
    directory = place.gpudeck.laptop.directory
    mark = directory / "imported"
    argv = [sys.executable, "-c", WITNESSED, str(mark), place.name, "--no-record"]
    with screen(argv, place.gpudeck.env, directory) as shown:
        frame = shown.wait("gpudeck")
        gpu = shown.wait(str(CLOCK_MHZ))
    imported = float(Path(mark).read_text())
    return Start(frame, gpu, gpu.at - imported)


def rows() -> list[Row]:
    """The best of several starts, because the machine does other things, too; the CPU beside it does not lie."""
    with box() as place:
        starts = [once(place) for _ in range(TIMES)]
    frames, gpus = [start.frame for start in starts], [start.gpu for start in starts]
    after = [start.gpu_after_import_s for start in starts]
    return [
        Row(measure="first frame after exec, in a pty", value=min(seen.after_s for seen in frames), unit="s",
            budget=0.9, base=_note([seen.after_s for seen in frames], [seen.cpu_s for seen in frames])),
        Row(measure="first GPU row over loopback SSH, after exec", value=min(seen.after_s for seen in gpus), unit="s",
            budget=1.8, base=_note([seen.after_s for seen in gpus], [seen.cpu_s for seen in gpus])),
        Row(measure="first GPU row, after asyncssh is imported", value=min(after), unit="s", budget=0.5,
            base=_note(after)),
    ]  # fmt: skip


def _note(walls: list[float], cpus: list[float] | None = None) -> str:
    note = f"best of {TIMES}, median {statistics.median(walls):.2f} s"
    return note + (f", CPU {statistics.median(cpus):.2f} s" if cpus else "")
