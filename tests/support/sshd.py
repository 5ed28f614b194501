"""A private, real OpenSSH server on loopback: its own host key, port, users and configuration."""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.support.patience import PATIENCE_S
from tests.support.ports import free_port
from tests.support.requirements import need

SSHD = "/usr/sbin/sshd"
USER_PREFIX = "gpudeck"


def need_sshd() -> None:
    need("sshd", os.access(SSHD, os.X_OK), f"{SSHD} is not installed")
    need("sshd", os.geteuid() == 0, "a login through a private sshd was only ever verified as root")


def keygen(path: Path, *options: str, kind: str = "ed25519", passphrase: str = "") -> Path:
    """Makes a key pair at `path`; gives the public file."""
    command = ["ssh-keygen", "-q", "-t", kind, "-N", passphrase, "-C", path.name, "-f", str(path), *options]
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL)
    return path.with_name(path.name + ".pub")


def fingerprint(public: Path) -> str:
    output = subprocess.run(["ssh-keygen", "-lf", str(public)], check=True, capture_output=True, text=True).stdout
    return output.split()[1]


class Sshd:
    """`directory` is readable by every user, so that sshd can read a user's authorized keys as that user."""

    def __init__(self, directory: Path, port: int = 0) -> None:
        self.directory = directory
        self.address, self.port = "127.0.0.1", port or free_port()
        self.log = directory / "log"
        self._process: subprocess.Popen[bytes] | None = None
        (directory / "authorized").mkdir(exist_ok=True)
        self.host_key = directory / "host_key"
        if not self.host_key.exists():
            keygen(self.host_key)

    def authorize(self, public: Path, user: str = "root", options: str = "") -> None:
        """Lets a key in; `options` stand in front of it, as in authorized_keys."""
        file = self.directory / "authorized" / user
        with file.open("a") as lines:
            lines.write(f"{options} {public.read_text()}".lstrip())
        file.chmod(0o644)

    def known_hosts_line(self, name: str = "") -> str:
        kind, data = Path(f"{self.host_key}.pub").read_text().split()[:2]
        return f"{name or f'[{self.address}]:{self.port}'} {kind} {data}\n"

    def start(self, *lines: str, inside: Sequence[str] = ()) -> Sshd:
        """`lines` of configuration win over the defaults below; `inside` is a command line to run it with."""
        config = self.directory / "sshd_config"
        defaults = [
            f"Port {self.port}", f"ListenAddress {self.address}", f"HostKey {self.host_key}", "PidFile none",
            "UsePAM no", "StrictModes no", f"AuthorizedKeysFile {self.directory}/authorized/%u", "PermitRootLogin yes",
            "PasswordAuthentication no", "KbdInteractiveAuthentication no", "LogLevel VERBOSE", "UseDNS no",
            "PrintMotd no", "Subsystem sftp internal-sftp",
        ]  # fmt: skip
        config.write_text("\n".join([*lines, *defaults]) + "\n")
        os.makedirs("/run/sshd", mode=0o755, exist_ok=True)
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [*inside, SSHD, "-D", "-e", "-f", str(config)], stdin=subprocess.DEVNULL, stderr=log
            )
        self._wait_until_it_listens()
        return self

    def _wait_until_it_listens(self) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            assert self._process is not None
            if self._process.poll() is not None:
                break
            with contextlib.suppress(OSError), socket.create_connection((self.address, self.port), 1):
                return
            time.sleep(0.02)
        raise AssertionError(f"sshd did not start: {self.log.read_text(errors='replace')}")

    def sessions(self) -> list[int]:
        """The processes of the sessions, the listening one not among them."""
        assert self._process is not None
        return _descendants(self._process.pid)

    def signal_sessions(self, number: signal.Signals) -> None:
        """Freezes, thaws or kills what serves the open connections. Their programs are not touched."""
        for pid in self.sessions():
            with contextlib.suppress(OSError):
                if b"sshd" in Path(f"/proc/{pid}/comm").read_bytes():
                    os.kill(pid, number)

    def stop(self) -> None:
        """Ends the listener and every session with their programs."""
        if self._process is None:
            return
        for pid in [*self.sessions(), self._process.pid]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self._process.wait()
        self._process = None


def _descendants(pid: int) -> list[int]:
    found: list[int] = []
    with contextlib.suppress(OSError):
        for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
            found += [int(child), *_descendants(int(child))]
    return found


@contextlib.contextmanager
def sshd(port: int = 0) -> Iterator[Sshd]:
    """A server that is not started yet, in a directory of its own. Skips where none can run."""
    need_sshd()
    directory = Path(tempfile.mkdtemp(prefix="gpudeck-sshd-"))
    directory.chmod(0o755)
    server = Sshd(directory, port)
    try:
        yield server
    finally:
        server.stop()
        shutil.rmtree(directory, ignore_errors=True)


class User:
    """A user of this machine that exists for the tests alone."""

    def __init__(self, name: str, home: Path) -> None:
        self.name, self.home = name, home

    def write(self, relative: str, text: str) -> None:
        """A file in the home directory, owned by the user."""
        path = self.home / relative
        found = pwd.getpwnam(self.name)
        for folder in reversed(path.relative_to(self.home).parents[:-1]):
            (self.home / folder).mkdir(exist_ok=True)
            os.chown(self.home / folder, found.pw_uid, found.pw_gid)
        path.write_text(text)
        os.chown(path, found.pw_uid, found.pw_gid)


def need_users() -> None:
    need("shells", os.geteuid() == 0 and shutil.which("useradd") is not None, "only root can add users")


@contextlib.contextmanager
def user(shell: str, password: str = "") -> Iterator[User]:
    """A user with the login shell; needs root. The name holds our process id, so that runs do not meet."""
    path = shutil.which(shell)
    need("shells", path is not None, f"{shell} is not installed")
    name = f"{USER_PREFIX}{os.getpid()}{os.path.basename(shell)}"[:31]
    home = Path(tempfile.mkdtemp(prefix="gpudeck-home-"))
    hashed = _hash(password) if password else "*"
    options = ["--no-create-home", "--home-dir", str(home), "--shell", str(path), "--password", hashed]
    subprocess.run(["useradd", *options, name], check=True, capture_output=True)
    try:
        found = pwd.getpwnam(name)
        os.chown(home, found.pw_uid, found.pw_gid)
        yield User(name, home)
    finally:
        subprocess.run(["userdel", "--force", name], check=False, capture_output=True)
        shutil.rmtree(home, ignore_errors=True)


def _hash(password: str) -> str:
    command = ["openssl", "passwd", "-6", "-stdin"]
    return subprocess.run(command, input=password, check=True, capture_output=True, text=True).stdout.strip()
