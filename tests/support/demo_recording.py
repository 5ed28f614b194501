"""Record a deploy and a benchmark on the demo box, as a user at a terminal does it.

`python -m tests.support.demo_recording` in a place where nothing else listens on port 30000.

What tells of this machine (its name, kernel, folders) becomes neutral; the result replays for ever.
"""

from __future__ import annotations

import gzip
import os
import platform
import re
import sys
import tempfile
from pathlib import Path

from console.demo.shelf import READER_TOKEN
from tests.support import terminal
from tests.support.terminal import Terminal

ROOT = Path(__file__).parents[2]
RECORDING = ROOT / "tests" / "recordings" / "demo_deploy.jsonl.gz"
BENCH_S = 300.0


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="gpudeck-tour-") as directory:
        place = Path(directory)
        raw = place / "tour.jsonl"
        home = {f"XDG_{kind}_HOME": str(place / kind) for kind in ("CONFIG", "DATA", "STATE", "CACHE")}
        env = {"PATH": os.environ["PATH"], "HOME": directory, "LANG": "C.UTF-8", "TERM": "xterm-256color", **home}
        with terminal.terminal(place) as pane:
            argv = [sys.executable, "-P", "-m", "console", "demo", "--record", str(raw)]
            pane.start(argv, env | {"PYTHONPATH": str(ROOT)}, (120, 40))
            _play(pane)
        text = neutral(raw.read_text("utf-8"))
    RECORDING.write_bytes(gzip.compress(text.encode(), mtime=0))
    print(f"{RECORDING}: {RECORDING.stat().st_size} bytes of {len(text)}")  # noqa: T201 - a tool for people


def _play(pane: Terminal) -> None:
    pane.wait("public repositories only")
    _say(pane, "T", READER_TOKEN, "Write")
    pane.wait("demo-reader")
    _say(pane, "D", "demo-dflash", "Ask the gates")
    pane.wait("enter: deploy")
    pane.keys("Enter")
    pane.wait("smoke test: '")
    _say(pane, "B", "smoke", "which preset?")
    terminal.LIMIT_S = BENCH_S
    pane.keys("Escape", "6")
    pane.wait("2 of 2 points")
    pane.wait("stored as")
    pane.keys("q")
    pane.wait("[ended 0]")


def _say(pane: Terminal, key: str, words: str, dialog: str) -> None:
    """Open a dialog, wait for it, fill it in."""
    pane.keys(key)
    pane.wait(dialog)
    pane.keys("-l", words)
    pane.wait(lambda screen: words[:3] in screen or "•" in screen)
    pane.keys("Enter")
    pane.wait(lambda screen: dialog not in screen)


def neutral(text: str) -> str:
    """The text without this machine."""
    names = {platform.node(): "demo-box", platform.release(): "6.12.0-amd64", platform.version(): "#1 SMP"}
    text = re.sub(r"/tmp/gpudeck-(?:demo|tour)-\w+", "/home/demo", text)
    for name, other in names.items():
        text = re.sub(rf"(?<![\w.-]){re.escape(name)}(?![\w.-])", other, text)
    return text.replace(str(ROOT), "/opt/gpudeck").replace(sys.base_prefix, "/usr")


if __name__ == "__main__":
    main()
