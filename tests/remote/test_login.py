"""Logging in to a real OpenSSH server: what works, what is asked, and what a refusal says."""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from console.remote import errors
from tests.support.laptop import Answers, Laptop
from tests.support.sshd import Sshd, fingerprint, keygen, need_users, user


@contextlib.contextmanager
def ssh_agent(laptop: Laptop, *keys: Path) -> Iterator[str]:
    """A real ssh-agent that holds the keys."""
    path = laptop.directory / "agent.sock"
    process = subprocess.Popen(["ssh-agent", "-D", "-a", str(path)], stdout=subprocess.PIPE)
    assert process.stdout is not None
    try:
        process.stdout.readline()  # it prints its environment once the socket is there
        for key in keys:
            environment = {**os.environ, "SSH_AUTH_SOCK": str(path)}
            subprocess.run(["ssh-add", "-q", str(key)], env=environment, check=True, stdin=subprocess.DEVNULL)
        yield str(path)
    finally:
        process.terminate()
        process.wait()
        process.stdout.close()


def run(*command: str) -> None:
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


async def log_in(laptop: Laptop, alias: str, asker: Answers | None = None) -> tuple[str, ...]:
    """Connects and closes; gives the hops on the way."""
    connection = await laptop.connect(alias, asker)
    await connection.close()
    assert connection.is_closed()
    return connection.via


async def told(laptop: Laptop, alias: str) -> None:
    """Connects until the server's own words are heard: its reset can overtake them, and a link tries again."""
    while True:
        with contextlib.suppress(errors.ConnectDropped):
            await log_in(laptop, alias)
            return


def locked_host(laptop: Laptop, server: Sshd) -> str:
    key = laptop.key("locked", passphrase="open sesame")
    server.authorize(Path(f"{key}.pub"))
    laptop.trust(server.known_hosts_line())
    return laptop.host("locked-box", server.port, key)


async def test_a_plain_key_gives_an_agent_that_answers(laptop: Laptop, plain_server: Sshd) -> None:
    connection = await laptop.connect(laptop.ready(plain_server))
    agent = await connection.open_agent()
    assert agent.hello["uid"] == 0
    assert await agent.request("ping") == {}
    await agent.close()
    await connection.close()


async def test_a_passphrase_is_asked_until_it_fits_and_then_remembered(laptop: Laptop, plain_server: Sshd) -> None:
    alias = locked_host(laptop, plain_server)
    person = Answers("wrong", "open sesame")
    await log_in(laptop, alias, person)
    assert [str(laptop.directory / "locked") in question for question in person.asked] == [True, True]
    assert person.secret == [True, True]
    silent = Answers()
    await log_in(laptop, alias, silent)
    assert silent.asked == []


async def test_without_a_person_a_locked_key_is_named_in_the_refusal(laptop: Laptop, plain_server: Sshd) -> None:
    alias = locked_host(laptop, plain_server)
    with pytest.raises(errors.PermissionDenied) as denied:
        await log_in(laptop, alias)
    assert denied.value.offered == ("publickey",)
    assert denied.value.tried == ()
    assert denied.value.skipped == (f"{laptop.directory / 'locked'} (needs a passphrase)",)
    assert (denied.value.exit_code, denied.value.retryable) == (5, False)


async def test_a_person_who_declines_ends_the_login(laptop: Laptop, plain_server: Sshd) -> None:
    with pytest.raises(errors.PermissionDenied):
        await log_in(laptop, locked_host(laptop, plain_server), Answers())


async def test_a_wrong_key_says_which_key_was_tried(laptop: Laptop, plain_server: Sshd) -> None:
    key = laptop.key("stranger")
    laptop.trust(plain_server.known_hosts_line())
    with pytest.raises(errors.PermissionDenied) as denied:
        await log_in(laptop, laptop.host("stranger", plain_server.port, key))
    assert fingerprint(Path(f"{key}.pub")) in denied.value.tried[0]
    assert "root@127.0.0.1" in str(denied.value)


async def test_keys_that_cannot_be_used_are_named(laptop: Laptop, plain_server: Sshd) -> None:
    open_key, garbage = laptop.key("open"), laptop.directory / "garbage"
    open_key.chmod(0o644)
    garbage.write_text("-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA\n")
    garbage.chmod(0o600)
    laptop.trust(plain_server.known_hosts_line())
    options = (f"IdentityFile {garbage}", f"IdentityFile {laptop.directory}/absent", "IdentityAgent /nowhere.sock")
    with pytest.raises(errors.PermissionDenied) as denied:
        await log_in(laptop, laptop.host("odd", plain_server.port, open_key, "root", *options))
    skipped = "\n".join(denied.value.skipped)
    assert f"{open_key} (others can read it, mode 0644" in skipped
    assert f"{garbage} (" in skipped
    assert "absent (does not exist)" in skipped
    assert "ssh agent /nowhere.sock (does not answer)" in skipped


async def test_the_ssh_agent_opens_what_is_locked_on_disk(laptop: Laptop, plain_server: Sshd) -> None:
    key = laptop.key("held")
    plain_server.authorize(Path(f"{key}.pub"))
    laptop.trust(plain_server.known_hosts_line())
    with ssh_agent(laptop, key) as socket:
        run("ssh-keygen", "-q", "-p", "-N", "later", "-f", str(key))
        person = Answers()
        await log_in(laptop, laptop.host("held", plain_server.port, key, "root", f"IdentityAgent {socket}"), person)
        assert person.asked == []


async def test_identities_only_keeps_the_other_keys_of_the_agent_back(laptop: Laptop, plain_server: Sshd) -> None:
    listed, other = laptop.key("listed"), laptop.key("other")
    plain_server.authorize(Path(f"{other}.pub"))
    laptop.trust(plain_server.known_hosts_line())
    with ssh_agent(laptop, other, listed) as socket:
        agent_line = f"IdentityAgent {socket}"
        public_only = laptop.host(
            "only", plain_server.port, Path(f"{listed}.pub"), "root", agent_line, "IdentitiesOnly yes"
        )
        listed.unlink()
        with pytest.raises(errors.PermissionDenied) as denied:
            await log_in(laptop, public_only)
        assert [fingerprint(Path(f"{listed}.pub")) in key for key in denied.value.tried] == [True]
        await log_in(laptop, laptop.host("any", plain_server.port, None, "root", agent_line))


async def test_a_user_certificate_beside_the_key_or_named_lets_in(laptop: Laptop, server: Sshd) -> None:
    authority, key = laptop.key("ca"), laptop.key("certified")
    run("ssh-keygen", "-q", "-s", str(authority), "-I", "someone", "-n", "root", f"{key}.pub")
    server.start(f"TrustedUserCAKeys {authority}.pub")
    laptop.trust(server.known_hosts_line())
    await log_in(laptop, laptop.host("beside", server.port, key))
    certificate = Path(f"{key}-cert.pub").rename(laptop.directory / "elsewhere.pub")
    named = f"CertificateFile {certificate}"
    await log_in(laptop, laptop.host("named", server.port, key, "root", named))
    with ssh_agent(laptop, key) as socket:
        key.unlink()
        await log_in(laptop, laptop.host("agent", server.port, key, "root", named, f"IdentityAgent {socket}"))


async def test_a_password_is_asked_again_when_it_is_wrong(laptop: Laptop, server: Sshd) -> None:
    need_users()
    with user("bash", password="s3cret") as someone:
        server.start("PasswordAuthentication yes", "PubkeyAuthentication no")
        laptop.trust(server.known_hosts_line())
        alias = laptop.host("password", server.port, None, someone.name)
        with pytest.raises(errors.PermissionDenied) as denied:
            await log_in(laptop, alias)
        assert denied.value.offered == ("password",)
        person = Answers("guess", "s3cret")
        await log_in(laptop, alias, person)
        assert person.asked == [f"Password for {someone.name}@127.0.0.1:{server.port}: "] * 2
        assert "s3cret" not in server.log.read_text()


@pytest.mark.slow
async def test_keyboard_interactive_asks_the_servers_own_question(laptop: Laptop, server: Sshd) -> None:
    need_users()
    with user("bash", password="s3cret") as someone:
        server.start("UsePAM yes", "KbdInteractiveAuthentication yes", "PubkeyAuthentication no")
        laptop.trust(server.known_hosts_line())
        alias = laptop.host("kbd", server.port, None, someone.name)
        person = Answers("guess", "s3cret")
        await log_in(laptop, alias, person)
        assert all("Password" in question for question in person.asked)
        assert person.secret == [True, True]


async def test_a_key_and_a_password_together(laptop: Laptop, server: Sshd) -> None:
    need_users()
    with user("bash", password="s3cret") as someone:
        server.start("PasswordAuthentication yes", "AuthenticationMethods publickey,password")
        alias = laptop.ready(server, "both", someone.name)
        person = Answers("s3cret")
        await log_in(laptop, alias, person)
        assert len(person.asked) == 1


async def test_two_hops_with_users_and_keys_of_their_own(laptop: Laptop, plain_server: Sshd, server: Sshd) -> None:
    need_users()
    with user("dash") as someone:
        server.start()
        laptop.ready(server, "hop", someone.name)
        laptop.ready(plain_server, "inner", "root", "ProxyJump hop")
        connection = await laptop.connect("inner")
        agent = await connection.open_agent()
        assert agent.hello["user"] == "root"
        assert connection.via == (f"{someone.name}@127.0.0.1:{server.port}",)
        await agent.close()
        await connection.close()
        assert f"Accepted publickey for {someone.name}" in server.log.read_text()


async def test_a_hop_that_forbids_forwarding_is_named(laptop: Laptop, plain_server: Sshd, server: Sshd) -> None:
    server.start("AllowTcpForwarding no")
    laptop.ready(server, "hop")
    laptop.ready(plain_server, "inner", "root", "ProxyJump hop")
    with pytest.raises(errors.JumpRefused, match=f"root@127.0.0.1:{server.port} forbids forwarding"):
        await log_in(laptop, "inner")


async def test_a_hop_that_cannot_reach_the_box_says_so(laptop: Laptop, plain_server: Sshd) -> None:
    laptop.ready(plain_server, "hop")
    laptop.host("inner", 1, None, "root", "ProxyJump hop")
    with pytest.raises(errors.JumpRefused, match=r"cannot reach 127\.0\.0\.1 port 1:"):
        await log_in(laptop, "inner")


async def test_a_proxy_command_is_run_by_the_operators_shell(laptop: Laptop, plain_server: Sshd) -> None:
    laptop.ready(plain_server, "hop")
    command = f"ssh -F {laptop.config} -o BatchMode=yes -W '%h':%p hop; echo noise >&2"
    laptop.ready(plain_server, "behind", "root", f"ProxyCommand {command}")
    assert await log_in(laptop, "behind") == ()


@pytest.mark.parametrize("command", ["gpudeck-no-such-proxy %h", "sh -c 'echo no way to %h >&2; exit 3'"])
async def test_a_proxy_command_that_fails_gives_its_last_words(
    laptop: Laptop, plain_server: Sshd, command: str
) -> None:
    alias = laptop.ready(plain_server, "behind", "root", f"ProxyCommand {command}")
    with pytest.raises(errors.ProxyCommandFailed, match=r"not found|no way to 127\.0\.0\.1"):
        await log_in(laptop, alias)


async def test_an_agent_with_too_many_keys_is_explained(laptop: Laptop, server: Sshd) -> None:
    server.start("MaxAuthTries 2")
    keys = [laptop.key(f"k{number}") for number in range(4)]
    laptop.trust(server.known_hosts_line())
    with ssh_agent(laptop, *keys) as socket, pytest.raises(errors.AuthError, match="IdentitiesOnly yes") as refused:
        await log_in(laptop, laptop.host("many", server.port, None, "root", f"IdentityAgent {socket}"))
    assert refused.value.exit_code == 5


async def test_an_old_server_is_reached_only_where_the_configuration_allows_it(laptop: Laptop, server: Sshd) -> None:
    server.start("KexAlgorithms ecdh-sha2-nistp521", "Ciphers aes256-cbc", "MACs hmac-sha1")
    strict = laptop.ready(server)
    with pytest.raises(errors.NoCommonAlgorithm, match="share no algorithm") as refused:
        await told(laptop, strict)
    assert (refused.value.exit_code, refused.value.retryable) == (3, False)
    key = laptop.directory / "id_box"
    await log_in(laptop, laptop.host("old", server.port, key, "root", "Ciphers +aes256-cbc"))
    modern_only = ("Ciphers +aes256-cbc", "KexAlgorithms curve25519-sha256")
    with pytest.raises(errors.NoCommonAlgorithm):
        await told(laptop, laptop.host("modern", server.port, key, "root", *modern_only))


@pytest.mark.slow
async def test_a_key_of_each_kind(laptop: Laptop, plain_server: Sshd) -> None:
    laptop.trust(plain_server.known_hosts_line())
    for kind in ("rsa", "ecdsa", "ed25519"):
        public = keygen(laptop.directory / kind, kind=kind)
        plain_server.authorize(public)
        await log_in(laptop, laptop.host(kind, plain_server.port, laptop.directory / kind))
