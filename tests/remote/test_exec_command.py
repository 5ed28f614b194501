"""`gpudeck exec` and `gpudeck shell` as commands, against a real OpenSSH server."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from console.workers.jobs import user_at_laptop
from tests.support.laptop import Laptop
from tests.support.patience import COMMAND_S
from tests.support.sshd import Sshd

ARGUMENT = '\'; "$(touch x)"\nsecond line'


class Command:
    """Runs gpudeck with an SSH config of its own and nothing of the user's."""

    def __init__(self, laptop: Laptop) -> None:
        self._laptop = laptop
        xdg = {f"XDG_{name}_HOME": str(laptop.directory / name.lower()) for name in ("CONFIG", "DATA", "CACHE")}
        self._environment = {**os.environ, **xdg}

    def __call__(self, *words: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
        command = [sys.executable, "-m", "console", "--ssh-config", str(self._laptop.config), *words]
        return subprocess.run(command, input=stdin, capture_output=True, env=self._environment, timeout=COMMAND_S)


@pytest.fixture
def gpudeck(laptop: Laptop) -> Command:
    return Command(laptop)


@pytest.fixture
def box(laptop: Laptop, plain_server: Sshd) -> str:
    return laptop.ready(plain_server)


def program(laptop: Laptop, text: str) -> str:
    path = laptop.directory / "program.py"
    path.write_text(text)
    return str(path)


def report(ended: subprocess.CompletedProcess[bytes]) -> dict[str, Any]:
    value: dict[str, Any] = json.loads(ended.stdout)
    return value


def test_outputs_stay_apart_and_arguments_whole(gpudeck: Command, laptop: Laptop, box: str) -> None:
    path = program(laptop, "import sys\nsys.stdout.write(sys.argv[1])\nsys.stderr.write('to the side')\n")
    ended = gpudeck("exec", box, path, "--", ARGUMENT)
    assert ended.stdout == ARGUMENT.encode()
    assert ended.stderr == b"to the side"
    assert ended.returncode == 0


def test_a_failing_program_is_exit_1_and_its_own_code_in_json(gpudeck: Command, box: str) -> None:
    source = b"import sys; print(sys.argv); sys.exit(7)"
    plain = gpudeck("exec", box, "-", stdin=source)
    assert (plain.returncode, plain.stderr) == (1, b"gpudeck: <stdin> ended with exit code 7.\n")
    ended = gpudeck("exec", box, "-", "--json", "--", "--json", "-x", stdin=source)
    found = report(ended)
    assert ended.returncode == 1
    assert (found["schema"], found["host"], found["exit_code"], found["signal"]) == ("gpudeck.exec/1", box, 7, None)
    assert found["stdout"] == "['<stdin>', '--json', '-x']\n"
    assert found["stderr"] == ""


def test_a_program_knows_who_runs_it_for_those_who_meet_it_on_a_gpu(gpudeck: Command, box: str) -> None:
    ended = gpudeck("exec", box, "-", stdin=b"import os; print(os.environ['GPUDECK_EXEC'])")
    assert ended.stdout.decode().strip() == user_at_laptop()


@pytest.mark.slow
def test_a_program_that_takes_too_long_is_stopped(gpudeck: Command, laptop: Laptop, box: str) -> None:
    path = program(laptop, "import os, time\nprint(os.getpid(), flush=True)\ntime.sleep(60)\n")
    ended = gpudeck("exec", box, path, "--json", "--timeout", "2")
    found = report(ended)
    assert ended.returncode == 124
    assert found["timed_out"] is True
    assert not Path(f"/proc/{int(found['stdout'])}").exists()


@pytest.mark.parametrize(
    ("words", "exit_code", "said"),
    [
        (("exec", "box", "absent.py"), 2, b"absent.py cannot be read"),
        (
            ("exec", "box", "-", "--python", "/no/python"),
            1,
            b"/no/python on box cannot be run: No such file or directory.",
        ),
        (("exec", "box", "-", "--read-only"), 4, b"read-only"),
        (("exec", "root@127.0.0.1:1", "-"), 3, b"refused the connection"),
    ],
)
@pytest.mark.usefixtures("box")
def test_what_cannot_run_has_one_sentence(
    gpudeck: Command, words: tuple[str, ...], exit_code: int, said: bytes
) -> None:
    ended = gpudeck(*words)
    assert ended.returncode == exit_code
    assert said in ended.stderr
    assert len(ended.stderr.splitlines()) == 1


def test_an_unknown_host_key_is_exit_6_with_its_fingerprint(
    gpudeck: Command, laptop: Laptop, plain_server: Sshd, box: str
) -> None:
    laptop.known_hosts.write_text("")
    ended = gpudeck("exec", box, "-", "--json")
    failure = report(ended)
    assert (ended.returncode, failure["schema"], failure["exit"]) == (6, "gpudeck.error/1", 6)
    fingerprint = next(word for word in failure["sentence"].split() if word.startswith("SHA256:")).rstrip(".")
    accepted = gpudeck("exec", box, "-", "--expect-fingerprint", fingerprint, stdin=b"print('in')")
    assert (accepted.returncode, accepted.stdout) == (0, b"in\n")


def test_a_dry_run_connects_nowhere(gpudeck: Command, laptop: Laptop) -> None:
    ended = gpudeck("exec", "me@192.0.2.1", program(laptop, "pass"), "--dry-run", "--json", "--", "a b")
    assert ended.returncode == 0
    assert report(ended)["argv"] == ["program.py", "a b"]
    told = gpudeck("exec", "me@192.0.2.1", program(laptop, "pass"), "--dry-run", "--", "a b")
    assert told.stdout == b"Would run program.py 'a b' (4 bytes of source) with python3 on me@192.0.2.1.\n"


@pytest.mark.parametrize("words", ["box", "root@127.0.0.1:{port}"])
def test_shell_hands_over_to_ssh(gpudeck: Command, laptop: Laptop, plain_server: Sshd, box: str, words: str) -> None:
    with laptop.config.open("a") as config:
        config.write(f"Host *\n  IdentityFile {laptop.directory}/id_{box}\n  UserKnownHostsFile {laptop.known_hosts}\n")
    ended = gpudeck("shell", words.format(port=plain_server.port), stdin=b"echo $((40+2)); exit 5\n")
    assert b"42" in ended.stdout.splitlines()
    assert ended.returncode == 5


def test_a_shell_may_change_the_box(gpudeck: Command, laptop: Laptop, box: str) -> None:
    refused = gpudeck("shell", box, "--read-only", stdin=b"echo never\n")
    assert (refused.returncode, refused.stdout) == (4, b"")
    planned = gpudeck("shell", box, "--read-only", "--dry-run", "--json")
    assert report(planned)["argv"][0] == "ssh"
    assert gpudeck("shell", box, "--dry-run").stdout.decode().split() == report(planned)["argv"]
