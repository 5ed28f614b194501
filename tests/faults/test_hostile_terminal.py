"""Hostile text through every way in, to a real terminal: nothing but our own sequences comes out."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.fakes import library
from tests.support.fault_log import tell
from tests.support.gpudeck import Gpudeck
from tests.support.hostile import CORPUS, EVIL, LINES, LONG, MARK, SHORT, poisoned, typed
from tests.support.laptop import Laptop
from tests.support.pty_app import foreign, strays
from tests.support.scene import BoxSide, box_side
from tests.support.sshd import need_sshd

RECORDING = Path(__file__).parents[1] / "recordings/demo_deploy.jsonl.gz"


def harmless(written: bytes) -> None:
    assert not foreign(written)
    assert not strays(written)


@pytest.mark.slow
def test_a_hostile_recording_on_every_screen(tmp_path: Path) -> None:
    """Each text of a whole night, deploy and measurement, is hostile."""
    gpudeck = Gpudeck(Laptop(tmp_path))
    path = poisoned(RECORDING, tmp_path / "evil.jsonl")
    with path.open("ab") as file:
        file.write(b'[999999,999,"NoteWritten",{"text":"' + LONG + b'"}]\n' + EVIL + b"\n")
    argv = gpudeck.argv("--replay", str(path), "--until", "150")
    shown = list(typed(argv, gpudeck.env, tmp_path, [*"12345678?", "\x1b", "q"], first=b"REPLAY"))
    harmless(b"".join(shown))
    seen = [MARK.encode() in screen for screen in shown[1:9]]
    assert sum(seen) >= 6, seen
    for words in ((), ("--headless",), ("--headless", "--json")):
        if words:
            (text, *_) = typed(gpudeck.argv("--replay", str(path), *words), gpudeck.env, tmp_path, first=MARK.encode())
            harmless(text)
    words = f"{len(CORPUS)} kinds of hostile text in every free text of a night"
    tell("hostile recording", words, None, None, "none", "nothing")


@pytest.fixture
def box() -> Iterator[BoxSide]:
    need_sshd()
    with box_side(prepare=hostile_box) as one:
        yield one


def hostile_box(box: BoxSide) -> None:
    """Banner, login script, mount points, a process on a GPU, and a server with its log."""
    banner = box.place / "banner"
    banner.write_bytes(b"\n".join(LINES) + b"\n")
    box.options.append(f"Banner {banner}")
    (box.place / ".bashrc").write_bytes(b"cat <<'END'\n" + b"\n".join(LINES).replace(b"\x00", b"") + b"\nEND\n")
    mounts = box.place / "mountinfo"
    names = ["/" + "".join(rf"\{byte:03o}" for byte in data[:200]) for data in (SHORT, *LINES)]
    lines = [f"{at} 1 8:{at} / {name} rw shared:1 - ext4 /dev/{name[1:]} rw" for at, name in enumerate(names, 20)]
    mounts.write_text("\n".join(lines) + "\n")
    box.variables |= {"LD_PRELOAD": str(library("statvfs")), "FAKE_MOUNTINFO": str(mounts)}


@pytest.fixture
def server(box: BoxSide) -> Iterator[subprocess.Popen[bytes]]:
    """Something that looks like a server of a hostile model, with a hostile log, and holds GPU 0."""
    folder = box.place / "sglang"
    folder.mkdir()
    (folder / "__init__.py").touch()
    (folder / "launch_server.py").write_text("import time\ntime.sleep(600)\n")
    log = box.place / "server.log"
    log.write_bytes(b"\n".join([*LINES, LONG[:300_000], *LINES]) + b"\n")
    words = [
        b"--model-path",
        b"/models/" + SHORT,
        b"--served-model-name",
        SHORT,
        *(line.replace(b"\0", b"") for line in LINES),
    ]
    with log.open("ab") as file:
        one = subprocess.Popen(
            [sys.executable, "-m", "sglang.launch_server", *words, b"--port", b"31999"], cwd=box.place, stdout=file,
            stderr=file, env={**os.environ, "PYTHONPATH": str(box.place)},
        )  # fmt: skip
    assert box.fleet is not None
    box.fleet.set(0, proc=f"{one.pid} {1 << 30}")
    yield one
    one.kill()
    one.wait()


@pytest.mark.slow
def test_a_hostile_box_on_every_screen(tmp_path: Path, box: BoxSide, server: subprocess.Popen[bytes]) -> None:
    gpudeck = Gpudeck(Laptop(tmp_path))
    gpudeck.laptop.ready(box.server)
    assert box.fleet is not None
    gpudeck.host("box", **box.fleet.env())
    shown = list(typed(gpudeck.argv("box"), gpudeck.env, tmp_path, [*"1234578", "q"], first=MARK.encode()))
    harmless(b"".join(shown))
    assert sum(MARK.encode() in screen for screen in shown[1:8]) >= 4
    for words in (("status", "box"), ("serve", "box", "list"), ("serve", "box", "logs", "31999"), ("doctor", "box")):
        text = b"".join(typed(gpudeck.argv(*words), gpudeck.env, tmp_path, first=MARK.encode()))
        harmless(text)
    (recording,) = (gpudeck.home / "data/gpudeck/recordings").glob("*.jsonl")
    harmless(recording.read_bytes())
    words = "banner, login script, mount points, process names, a server's model and log"
    tell("hostile box", f"{len(CORPUS)} kinds of hostile text as {words}", None, None, "none", "nothing")


def test_the_corpus_is_what_it_says() -> None:
    assert len(CORPUS) == len(LINES)
    assert all(foreign(CORPUS[name]) for name in ("clipboard", "link", "title", "device control"))
