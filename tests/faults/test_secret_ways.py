"""Secrets where a report or a program could carry them: a passphrase, a crash, the environment of what we start."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.faults.test_nothing_leaks import KEY, TOKEN, holders
from tests.support import served
from tests.support.fault_log import tell
from tests.support.gpudeck import Gpudeck
from tests.support.hostile import typed
from tests.support.laptop import Laptop
from tests.support.pty_app import foreign
from tests.support.sshd import Sshd, need_sshd, sshd

PASSPHRASE = "canary open sesame 0123"
WRONG = "canary shut sesame 4567"
ASKED = b"Passphrase"
CRASH = f"""
import sys
from console.cli.main import run
from console.values.secrets import Secret
SECRET = Secret("{KEY}").reveal()
"""
IN_A_WORKER = """
from console.session import live
async def broken(self):
    raise ValueError(f"Bearer {SECRET} and {TOKEN} \\x1b]52;c;aGFja2Vk\\x07")
live.LinkWorker.run = broken
sys.exit(run(sys.argv[1:]))
"""
UNHEARD = """
import asyncio, gc, logging, threading, warnings
from console.cli.main import main
from console.session import live
TEXT = f"Bearer {SECRET} and {TOKEN} \x1b]52;c;aGFja2Vk\x07"
def broken():
    raise ValueError(TEXT)
async def broken_task():
    broken()
class Grave:
    def __del__(self):
        broken()
async def worker(self):
    loop = asyncio.get_running_loop()
    asyncio.create_task(broken_task())
    loop.create_future().set_exception(ValueError(TEXT))
    await asyncio.sleep(0.05)
    gc.collect()
    loop.call_soon(broken)
    loop.call_exception_handler({"message": TEXT})
    thread = threading.Thread(target=broken)
    thread.start()
    thread.join()
    Grave()
    logging.getLogger("somebody").warning("it says %s", TEXT)
    warnings.warn(TEXT)
    await asyncio.sleep(0.05)
    self.grave = Grave()
    raise ValueError("the end")
live.LinkWorker.run = worker
main()
"""
ON_SCREEN = """
from console.app import ConsoleApp
def broken(self):
    local = [SECRET, TOKEN]
    raise ValueError(f"Bearer {SECRET} and {TOKEN}")
ConsoleApp.tick = broken
sys.exit(run(sys.argv[1:]))
"""
LOOK = """
import os, pathlib
pids = [os.getpid(), os.getppid()]
for pid in pids:
    for name in ("environ", "cmdline"):
        print(pathlib.Path(f"/proc/{pid}/{name}").read_bytes().replace(b"\\0", b"\\n").decode())
"""


@pytest.fixture
def gpudeck(tmp_path: Path) -> Gpudeck:
    need_sshd()
    return Gpudeck(Laptop(tmp_path))


def crashed(gpudeck: Gpudeck, code: str, *words: str) -> list[str]:
    return [sys.executable, "-c", CRASH + f'TOKEN = "{TOKEN}"\n' + code, *words]


def harmless(said: bytes) -> None:
    assert not foreign(said)
    assert KEY.encode() not in said
    assert TOKEN.encode() not in said


@pytest.mark.slow
@pytest.mark.parametrize("words", [("status", "local"), ("status", "local", "--json"), ("-v", "jobs", "local", "list")])
def test_a_worker_that_breaks_tells_no_secret(gpudeck: Gpudeck, tmp_path: Path, words: tuple[str, ...]) -> None:
    said = b"".join(typed(crashed(gpudeck, IN_A_WORKER, *words), gpudeck.env, tmp_path))
    assert b"ValueError: Bearer *** and hf_***" in said
    harmless(said)


@pytest.mark.slow
def test_what_nobody_hears_tells_no_secret(gpudeck: Gpudeck, tmp_path: Path) -> None:
    """A lost task, a lost future, a callback, a thread, finalisers, a library's log, a warning, the last breath."""
    said = b"".join(typed(crashed(gpudeck, UNHEARD, "status", "local"), gpudeck.env, tmp_path))
    for words in (b"Task exception was never retrieved", b"Future exception was never retrieved", b"A thread broke",
                  b"it says Bearer ***", b"UserWarning: Bearer ***"):  # fmt: skip
        assert words in said
    assert said.count(b"ValueError: Bearer *** and hf_***") >= 5
    assert b"the end" in said
    harmless(said)


@pytest.mark.slow
def test_a_console_that_breaks_tells_no_secret(gpudeck: Gpudeck, tmp_path: Path) -> None:
    said = b"".join(typed(crashed(gpudeck, ON_SCREEN, "local"), gpudeck.env, tmp_path))
    assert b"ValueError: Bearer *** and hf_***" in said
    harmless(said)
    assert not {name for secret in (KEY, TOKEN) for name in holders(gpudeck.home, secret)}
    tell("crash", "a worker and a screen that raise with secrets in their text", None, None, "none", "nothing")


@pytest.fixture
def server() -> Iterator[Sshd]:
    with sshd() as one:
        one.start()
        yield one


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[dict[str, str]]:
    """An ssh agent that holds nothing yet, as the environment that leads to it."""
    socket = tmp_path / "agent"
    with subprocess.Popen(["ssh-agent", "-D", "-a", str(socket)], stdout=subprocess.DEVNULL) as running:
        served.until(socket.exists)
        yield {"SSH_AUTH_SOCK": str(socket)}
        running.kill()


@pytest.fixture
def locked(gpudeck: Gpudeck, server: Sshd) -> Path:
    """A key with a passphrase, which the box takes."""
    key = gpudeck.laptop.key("locked", passphrase=PASSPHRASE)
    server.authorize(Path(f"{key}.pub"))
    gpudeck.laptop.trust(server.known_hosts_line())
    gpudeck.laptop.host("box", server.port, key)
    return key


def exposed(*secrets: str) -> set[str]:
    """The processes of this machine, laptop's and box's, whose command line or environment holds one."""
    found = set()
    for path in [*Path("/proc").glob("[0-9]*/cmdline"), *Path("/proc").glob("[0-9]*/environ")]:
        with contextlib.suppress(OSError):
            data = path.read_bytes()
            found |= {f"{path}: {secret}" for secret in secrets if secret.encode() in data}
    return found


def watched(argv: list[str], env: dict[str, str], cwd: Path, *typing: Any) -> bytes:
    """As `typed`; after each key every process is looked at."""
    said = b""
    for output in typed(argv, env, cwd, *typing):
        said += output
        assert not exposed(PASSPHRASE, WRONG)
    return said


@pytest.mark.slow
@pytest.mark.parametrize("beside", ["no ssh agent", "an ssh agent without the key"])
def test_a_passphrase_is_told_to_nobody(
    gpudeck: Gpudeck, tmp_path: Path, locked: Path, agent: dict[str, str], beside: str
) -> None:
    env = gpudeck.env | (agent if beside != "no ssh agent" else {})
    look = gpudeck.argv("-v", "status", "box")
    refused = watched(look, env, tmp_path, [WRONG + "\n"] * 3, ASKED, ASKED)
    assert b"locked (not unlocked)" in refused
    record = ("--record", str(tmp_path / "record.jsonl"))
    opened = watched([*look, *record], env, tmp_path, [PASSPHRASE + "\n"], ASKED)
    assert b"LinkChanged  up" in opened
    screen = watched(gpudeck.argv("box"), env, tmp_path, [PASSPHRASE, "\r", "2", "q"], ASKED)
    for secret in (PASSPHRASE, WRONG):
        assert secret.encode() not in refused + opened + screen
        assert not holders(tmp_path, secret)
    assert len([*tmp_path.glob("*.jsonl"), *gpudeck.home.rglob("recordings/*.jsonl")]) == 2
    words = "wrong and right, at a terminal and on screen; every process's command line and environment searched"
    tell(f"passphrase, {beside}", words, None, None, "none", "nothing")


@pytest.mark.slow
def test_a_key_that_the_ssh_agent_holds_needs_no_passphrase(
    gpudeck: Gpudeck, tmp_path: Path, locked: Path, agent: dict[str, str]
) -> None:
    env = gpudeck.env | agent
    added = b"".join(typed(["ssh-add", str(locked)], env, tmp_path, [PASSPHRASE + "\n"], b"passphrase"))
    assert b"Identity added" in added
    said = watched(gpudeck.argv("-v", "status", "box"), env, tmp_path)
    assert b"LinkChanged  up" in said
    assert ASKED not in said
    assert not holders(tmp_path, PASSPHRASE)


@pytest.mark.slow
def test_a_program_on_the_box_has_the_environment_of_the_box(gpudeck: Gpudeck, tmp_path: Path, server: Sshd) -> None:
    """Of the laptop and of a recipe nothing; of the host's configuration what it declares."""
    gpudeck.laptop.ready(server)
    gpudeck.host("box", DECLARED="declared here")
    env = {"HF_TOKEN": TOKEN, "STANDIN_KEY": KEY, "SGLANG_API_KEY": KEY}
    (tmp_path / "gpudeck.toml").write_text('[recipes.r]\nmodel = "a/b"\nsecrets = {api-key = "env:STANDIN_KEY"}\n')
    program = tmp_path / "look.py"
    program.write_text(LOOK)
    done = gpudeck.run("exec", "box", str(program), **env)  # type: ignore[arg-type]
    assert done.returncode == 0, done.stderr
    assert "DECLARED=declared here" in done.stdout
    lines = ["cat /proc/$$/environ /proc/$$/cmdline /proc/$PPID/cmdline | tr '\\0' '\\n'; echo en''d\n", "exit\n"]
    shell = b"".join(typed(gpudeck.argv("shell", "box"), gpudeck.env | env, tmp_path, lines, b"# ")).decode()
    assert "end" in shell
    assert "SSH_CONNECTION=" in shell
    for said in (done.stdout + done.stderr, shell):
        assert KEY not in said
        assert TOKEN not in said
        assert "HF_TOKEN" not in said
    tell("environment", "of what exec and shell start on the box", None, None, "none", "nothing")
