"""The operator's side of SSH in a test: keys, an SSH config, known_hosts, and the answers to prompts."""

from __future__ import annotations

from pathlib import Path

from console.remote import connection
from tests.support.sshd import Sshd, keygen


class Laptop:
    """Everything lies in `directory`; `config` grows by `host`."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.config = directory / "ssh_config"
        self.config.write_text("")
        self.known_hosts = directory / "known_hosts"
        self.known_hosts.write_text("")
        self.remembered: dict[str, str] = {}

    def key(self, name: str = "id_test", *, kind: str = "ed25519", passphrase: str = "") -> Path:
        """A new private key; its public half lies beside it."""
        path = self.directory / name
        keygen(path, kind=kind, passphrase=passphrase)
        return path

    def host(self, alias: str, port: int, key: Path | None = None, user: str = "root", *options: str) -> str:
        """An alias of the SSH config; the first of two equal `options` counts, before our own."""
        lines = ["HostName 127.0.0.1", f"Port {port}", f"User {user}", f"UserKnownHostsFile {self.known_hosts}",
                 "GlobalKnownHostsFile /dev/null"]  # fmt: skip
        lines += [f"IdentityFile {key}" if key else "IdentityFile none"]
        with self.config.open("a") as config:
            config.write(f"Host {alias}\n" + "".join(f"  {line}\n" for line in [*options, *lines]))
        return alias

    def trust(self, *lines: str) -> None:
        with self.known_hosts.open("a") as file:
            file.writelines(lines)

    def ready(self, server: Sshd, alias: str = "box", user: str = "root", *options: str) -> str:
        """An alias of a server that lets us in with a key and whose host key we know."""
        key = self.key(f"id_{alias}")
        server.authorize(Path(f"{key}.pub"), user)
        self.trust(server.known_hosts_line())
        return self.host(alias, server.port, key, user, *options)

    async def connect(
        self, alias: str, asker: Answers | None = None, *, python: str | None = None, expect: str | None = None
    ) -> connection.Connection:
        return await connection.connect(
            alias, python=python, ssh_config=self.config, asker=asker, expect_fingerprint=expect,
            remembered=self.remembered,
        )  # fmt: skip


class Answers:
    """Answers prompts from a list and keeps what was asked; None once the list is empty."""

    def __init__(self, *answers: str) -> None:
        self._answers = list(answers)
        self.asked: list[str] = []
        self.secret: list[bool] = []

    async def ask(self, prompt: str, secret: bool = True) -> str | None:
        self.asked.append(prompt)
        self.secret.append(secret)
        return self._answers.pop(0) if self._answers else None
