"""A real terminal for the whole product: a private tmux server, keys in, the screen as text out."""

from __future__ import annotations

import contextlib
import shlex
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from tests.support.patience import PATIENCE_S
from tests.support.requirements import need

LIMIT_S = PATIENCE_S


class Terminal:
    """One pane. `wait` polls the screen until it is as wanted, and gives the screen."""

    def __init__(self, socket: Path) -> None:
        self._socket = socket

    def tmux(self, *arguments: str) -> str:
        command = ["tmux", "-S", str(self._socket), "-f", "/dev/null", *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    def start(self, argv: Sequence[str], env: dict[str, str], size: tuple[int, int]) -> None:
        """Run a program; its exit code is shown when it ends, and whether the terminal echoes; the pane stays."""
        settings = " ".join(f"{key}={shlex.quote(value)}" for key, value in env.items())
        program = (
            f"env -i {settings} {shlex.join(argv)}; code=$?; "
            "echo \"[ended $code]$(stty -a | grep -o ' -\\?echo ')\"; exec cat"
        )
        self.tmux("new-session", "-d", "-x", str(size[0]), "-y", str(size[1]), program)
        self.tmux("set-option", "-g", "status", "off")
        self.tmux("resize-window", "-x", str(size[0]), "-y", str(size[1]))

    def screen(self) -> str:
        return self.tmux("capture-pane", "-p")

    def keys(self, *keys: str) -> None:
        self.tmux("send-keys", *keys)

    def pid_of(self, name: str) -> int:
        """The process of the pane whose command line holds `name`."""
        parent = self.tmux("display-message", "-p", "#{pane_pid}").strip()
        found = subprocess.run(["pgrep", "-P", parent, "-f", "--", name], capture_output=True, text=True, check=True)
        return int(found.stdout.split()[0])

    def wait(self, ready: Callable[[str], bool] | str) -> str:
        """The first screen that holds the text, or for which the function is true."""
        wanted = ready if callable(ready) else lambda text: ready in text
        deadline = time.monotonic() + LIMIT_S
        while not wanted(screen := self.screen()):
            assert time.monotonic() < deadline, f"never seen: {ready}\n{screen}"
            time.sleep(0.05)
        return screen


@contextlib.contextmanager
def terminal(directory: Path) -> Iterator[Terminal]:
    """A terminal that ends with everything in it."""
    need("tmux", shutil.which("tmux") is not None, "a real terminal is played by tmux")
    pane = Terminal(directory / "tmux.sock")
    try:
        yield pane
    finally:
        with contextlib.suppress(subprocess.CalledProcessError):
            pane.tmux("kill-server")
