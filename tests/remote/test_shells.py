"""What stands behind a login: five shells, noisy scripts, forced commands, no python, one session."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from console.remote import errors, start
from console.remote.agent import Agent
from console.remote.connection import Connection
from console.remote.programs import run_source
from tests.support.laptop import Laptop
from tests.support.sshd import Sshd, User, need_users, user

REGEX_PROGRAM = b"""\
import re, sys
src = '''attention = "flash_infer" if x else Backend'''
print(re.findall(r"['\\"]([a-z_]+)['\\"].*(?:backend|Backend)", src))
sys.stdout.write(sys.argv[1])
sys.stderr.write("apart\\xff")
sys.exit(7)
"""
ARGUMENT = '\'; "$(touch x)"\n`touch y` !! %h \\ \u00e9'

RC_FILES = {
    "bash": ".bashrc",
    "zsh": ".zshenv",
    "fish": ".config/fish/config.fish",
    "tcsh": ".tcshrc",
}


async def opened(laptop: Laptop, alias: str, python: str | None = None) -> tuple[Connection, Agent]:
    connection = await laptop.connect(alias, python=python)
    try:
        return connection, await connection.open_agent()
    except BaseException:
        await connection.close()
        raise


async def closed(connection: Connection, agent: Agent) -> None:
    await agent.close()
    await connection.close()


async def agent_refused(laptop: Laptop, alias: str, python: str | None = None) -> errors.AgentNotStarted:
    connection = await laptop.connect(alias, python=python)
    with pytest.raises(errors.AgentNotStarted) as refused:
        await connection.open_agent()
    await connection.close()
    assert refused.value.exit_code == 1
    return refused.value


def login(laptop: Laptop, server: Sshd, someone: User) -> str:
    return laptop.ready(server, someone.name, someone.name)


@pytest.mark.parametrize("shell", ["bash", "dash", "zsh", "fish", "tcsh"])
async def test_programs_and_arguments_arrive_byte_for_byte(laptop: Laptop, plain_server: Sshd, shell: str) -> None:
    need_users()
    with user(shell) as someone:
        if shell in RC_FILES:
            someone.write(RC_FILES[shell], "echo 'noise of a login script'\nprintf 'glued {'\n")
        connection, agent = await opened(laptop, login(laptop, plain_server, someone))
        printed = {1: b"", 2: b""}

        def keep(fd: int, data: bytes) -> None:
            printed[fd] += data

        end = await run_source(agent, REGEX_PROGRAM, ["story.py", ARGUMENT], keep)
        assert agent.hello["user"] == someone.name
        assert agent.noise == (("noise of a login script", "glued {") if shell in RC_FILES else ())
        assert printed[1] == b"['flash_infer']\n" + ARGUMENT.encode()
        assert printed[2] == "apart\xff".encode()
        assert (end.exit_code, end.signal) == (7, None)
        assert not [path.name for path in someone.home.iterdir() if path.name in "xy"]
        await closed(connection, agent)


async def test_an_uncaught_error_shows_the_programs_own_frames(laptop: Laptop, plain_server: Sshd) -> None:
    connection, agent = await opened(laptop, laptop.ready(plain_server))
    said = bytearray()
    end = await run_source(agent, b"def f():\n    1 / 0\n\nf()\n", ["a.py"], lambda fd, data: said.extend(data))
    assert end.exit_code == 1
    assert said.decode().startswith('Traceback (most recent call last):\n  File "a.py", line 4, in <module>\n    f()\n')
    assert "gpudeck" not in said.decode()
    await closed(connection, agent)


async def test_a_program_that_is_killed_has_a_signal_and_no_exit_code(laptop: Laptop, plain_server: Sshd) -> None:
    connection, agent = await opened(laptop, laptop.ready(plain_server))
    end = await run_source(agent, b"import os; os.kill(os.getpid(), 15)", ["a.py"], lambda *_: None)
    assert (end.exit_code, end.signal) == (None, "SIGTERM")
    await closed(connection, agent)


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("echo 'Only backups \x1b[31mhere'", "Only backups here"),
        ("gpudeck-no-such-wrapper", "gpudeck-no-such-wrapper"),
        ("exit 3", "exit code 3"),
    ],
)
async def test_a_forced_command_is_told_with_its_words(laptop: Laptop, server: Sshd, command: str, words: str) -> None:
    server.start(f"ForceCommand {command}")
    refused = await agent_refused(laptop, laptop.ready(server))
    assert isinstance(refused, errors.ForcedCommand)
    assert words in str(refused)


async def test_a_forced_shell_reads_no_commands_from_us(
    laptop: Laptop, server: Sshd, monkeypatch: pytest.MonkeyPatch
) -> None:
    need_users()
    monkeypatch.setattr(start, "HELLO_LIMIT_S", 1.0)
    with user("bash") as someone:
        server.start("ForceCommand bash")
        refused = await agent_refused(laptop, login(laptop, server, someone))
        assert isinstance(refused, errors.ForcedCommand)
        assert list(someone.home.iterdir()) == []


@pytest.mark.parametrize("command", ["internal-sftp", "/usr/lib/openssh/sftp-server"])
async def test_an_account_for_file_transfer_alone_is_named(laptop: Laptop, server: Sshd, command: str) -> None:
    server.start(f"ForceCommand {command}")
    assert isinstance(await agent_refused(laptop, laptop.ready(server)), errors.SftpOnly)


async def test_an_account_without_a_shell_is_named(laptop: Laptop, plain_server: Sshd) -> None:
    need_users()
    with user("/usr/sbin/nologin") as someone:
        assert isinstance(await agent_refused(laptop, login(laptop, plain_server, someone)), errors.NoShell)


@pytest.mark.parametrize("shell", ["bash", "dash", "zsh", "fish", "tcsh"])
async def test_a_box_without_python_is_named_under_each_shell(laptop: Laptop, server: Sshd, shell: str) -> None:
    need_users()
    with user(shell) as someone:
        server.start("SetEnv PATH=/nowhere")
        refused = await agent_refused(laptop, login(laptop, server, someone), python="/opt/venv/bin/python")
        assert isinstance(refused, errors.NoPython)
        assert "/opt/venv/bin/python" in str(refused)
        assert "python3" in str(refused)


async def test_a_python_that_is_too_old_is_named(laptop: Laptop, plain_server: Sshd) -> None:
    old = laptop.directory / "python3.6"
    old.write_text("#!/bin/sh\nexit 96\n")
    old.chmod(0o755)
    refused = await agent_refused(laptop, laptop.ready(plain_server), python=str(old))
    assert isinstance(refused, errors.PythonTooOld)
    assert "older than 3.8" in str(refused)


async def test_the_next_interpreter_is_taken_when_the_configured_one_is_missing(
    laptop: Laptop, plain_server: Sshd
) -> None:
    connection, agent = await opened(laptop, laptop.ready(plain_server), python="/opt/venv/bin/python")
    assert agent.hello["python_version"].startswith("3.")
    await closed(connection, agent)


async def test_an_interpreter_path_that_a_shell_would_change_is_refused(laptop: Laptop, plain_server: Sshd) -> None:
    connection = await laptop.connect(laptop.ready(plain_server), python="/opt/$(reboot)/python")
    with pytest.raises(errors.SshConfigError, match="characters"):
        await connection.open_agent()
    await connection.close()


async def test_one_session_is_enough_even_after_the_agent_was_killed(laptop: Laptop, server: Sshd) -> None:
    server.start("MaxSessions 1")
    connection, agent = await opened(laptop, laptop.ready(server))
    with pytest.raises(errors.ChannelRefused, match="MaxSessions"):
        await connection.open_agent()
    os.kill(agent.hello["pid"], signal.SIGKILL)
    with pytest.raises(errors.AgentEnded, match="KILL"):
        async for _ in agent.frames():
            pass
    await agent.close()
    assert not connection.is_closed()
    again = await connection.open_agent()
    assert again.hello["pid"] != agent.hello["pid"]
    forward = await connection.forward(server.port)
    assert forward.port
    await forward.close()
    await closed(connection, again)


async def test_the_banner_is_cleaned(laptop: Laptop, server: Sshd) -> None:
    banner = laptop.directory / "banner"
    banner.write_bytes(b"\x1b[2JAuthorised use only\n\xff\n")
    server.start(f"Banner {banner}")
    connection = await laptop.connect(laptop.ready(server))
    assert connection.banner[0] == "Authorised use only"
    assert "\x1b" not in "".join(connection.banner)
    await connection.close()


async def test_nothing_is_left_on_the_box(laptop: Laptop, plain_server: Sshd) -> None:
    need_users()
    with user("dash") as someone:
        connection, agent = await opened(laptop, login(laptop, plain_server, someone))
        pid = agent.hello["pid"]
        words = Path(f"/proc/{pid}/cmdline").read_bytes()
        await closed(connection, agent)
        assert not Path(f"/proc/{pid}").exists()
        assert list(someone.home.iterdir()) == []
        assert words.count(b"\0") == 6
