"""A box under systemd: a minimal Debian booted in a container of this machine, reached over its own sshd."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from console.demo.sglang import install
from tests.support import served
from tests.support.laptop import Laptop
from tests.support.ports import free_port
from tests.support.requirements import need

PACKAGES = "systemd,systemd-sysv,dbus,dbus-user-session,python3,openssh-server,libpam-systemd,procps,iproute2"
PYTHON = "/opt/sglang/bin/python"
MODEL = "/srv/models/tiny"


def need_systemd() -> None:
    """A booted container takes a minute and root: only where it is asked for."""
    asked = "systemd" in os.environ.get("GPUDECK_REQUIRE", "").split(",")
    need("systemd", asked, "GPUDECK_REQUIRE does not name systemd")
    for tool in ("debootstrap", "systemd-nspawn"):
        need("systemd", shutil.which(tool) is not None, f"{tool} is not installed")
    need("systemd", os.geteuid() == 0, "a container is booted as root")


class Booted:
    """The container's root directory and its sshd on loopback; `laptop` knows it as `box`."""

    def __init__(self, directory: Path, laptop: Laptop) -> None:
        self.root, self.laptop, self.port = directory / "root", laptop, free_port()
        self.boot_log = directory / "boot.log"
        self._container: subprocess.Popen[bytes] | None = None

    def build(self) -> None:
        command = ["debootstrap", "--variant=minbase", f"--include={PACKAGES}", "bookworm", str(self.root)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
        key = self.laptop.key("id_box")
        self._put("root/.ssh/authorized_keys", Path(f"{key}.pub").read_text(), 0o600)
        (self.root / "root/.ssh").chmod(0o700)
        with (self.root / "etc/ssh/sshd_config").open("a") as file:
            file.write(f"Port {self.port}\nListenAddress 127.0.0.1\nPermitRootLogin prohibit-password\n")
        kind, data = (self.root / "etc/ssh/ssh_host_ed25519_key.pub").read_text().split()[:2]
        self.laptop.trust(f"[127.0.0.1]:{self.port} {kind} {data}\n")
        self.laptop.host("box", self.port, key)

    def boot(self) -> None:
        command = ["systemd-nspawn", "-b", "--register=no", "--keep-unit", "-q", "-D", str(self.root)]
        env = {**os.environ, "SYSTEMD_NSPAWN_UNIFIED_HIERARCHY": "1"}
        with self.boot_log.open("wb") as log:
            self._container = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=env)
        deadline = time.monotonic() + 60
        while self.run("systemctl", "is-system-running", check=False) not in ("running", "degraded"):
            assert time.monotonic() < deadline, self.boot_log.read_text(errors="replace")[-2000:]
            assert self._container.poll() is None, self.boot_log.read_text(errors="replace")[-2000:]
            time.sleep(0.2)

    def furnish(self) -> None:
        """An interpreter with the stand-in, and a model."""
        self.run("python3", "-m", "venv", "--without-pip", "/opt/sglang")
        install(next((self.root / "opt/sglang/lib").glob("python*")) / "site-packages")
        served.model(self._folder("srv/models") / "tiny")

    def login(self, user: str) -> None:
        """An account without rights, whose user manager stays after the logout; `laptop` knows it by its name."""
        key = self.laptop.directory / "id_box"
        self.run("useradd", "--create-home", "--shell", "/bin/bash", user)
        self._put(f"home/{user}/.ssh/authorized_keys", Path(f"{key}.pub").read_text(), 0o600)
        self.run("chown", "-R", f"{user}:", f"/home/{user}/.ssh")
        self.run("loginctl", "enable-linger", user)
        self.laptop.host(user, self.port, key, user)

    def run(self, *words: str, check: bool = True, user: str = "box") -> str:
        """A plain command in the box, past the console."""
        command = ["ssh", "-F", str(self.laptop.config), "-o", "BatchMode=yes", user, *words]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
        assert not check or done.returncode == 0, done.stderr
        return done.stdout.strip()

    def unit(self, name: str, port: int) -> None:
        """Somebody's own unit that serves, and is restarted whatever happens; started."""
        words = f"{PYTHON} -m sglang.launch_server --model-path {MODEL} --port {port} --load-format dummy"
        text = f"[Service]\nExecStart={words} --device cpu\nEnvironment=SGLANG_STANDIN_SPEED={served.SPEED}\n"
        self._put(f"etc/systemd/system/{name}", text + "Restart=always\nRestartSec=1\n", 0o644)
        self.run("systemctl", "daemon-reload")
        self.run("systemctl", "start", name)

    def show(self, name: str, field: str) -> str:
        """A property of a unit."""
        return self.run("systemctl", "show", name, "--property", field, "--value")

    def cut(self) -> None:
        """As if the power had gone."""
        assert self._container is not None
        pid = self._container.pid
        for init in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
            os.kill(int(init), signal.SIGKILL)  # the kernel ends everything of the container with it
        self._container.wait()

    def stop(self) -> None:
        """An orderly shutdown."""
        if self._container is not None:
            self._container.terminate()
            try:
                self._container.wait(30)
            except subprocess.TimeoutExpired:
                self._container.kill()
                self._container.wait()
            self._container = None

    def _folder(self, path: str) -> Path:
        folder = self.root / path
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def _put(self, path: str, text: str, mode: int) -> None:
        file = self._folder(str(Path(path).parent)) / Path(path).name
        file.write_text(text)
        file.chmod(mode)


@contextlib.contextmanager
def booted(laptop: Laptop) -> Iterator[Booted]:
    """Built, booted, and gone afterwards."""
    directory = Path(tempfile.mkdtemp(prefix="gpudeck-booted-"))
    box = Booted(directory, laptop)
    try:
        box.build()
        box.boot()
        box.furnish()
        yield box
    finally:
        box.stop()
        shutil.rmtree(directory, ignore_errors=True)
