"""Host keys against a real OpenSSH server: it connects where the key is proved, and nowhere else."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from console.remote import errors
from console.remote.known_hosts import accept_host_key, own_file
from tests.support.laptop import Laptop
from tests.support.sshd import Sshd, fingerprint, keygen


def authorized(laptop: Laptop, server: Sshd, alias: str = "box", *options: str) -> str:
    """A host that would let us in, and whose host key nobody knows."""
    key = laptop.key(f"id_{alias}")
    server.authorize(Path(f"{key}.pub"))
    return laptop.host(alias, server.port, key, "root", *options)


async def reaches(laptop: Laptop, alias: str, expect: str | None = None) -> str:
    """Connects, closes, and gives the fingerprint of the proved host key."""
    connection = await laptop.connect(alias, expect=expect)
    await connection.close()
    return connection.host_key


async def unknown_key(laptop: Laptop, alias: str) -> errors.HostKeyUnknown:
    with pytest.raises(errors.HostKeyUnknown) as unknown:
        await laptop.connect(alias)
    return unknown.value


async def changed_key(laptop: Laptop, alias: str) -> errors.HostKeyChanged:
    with pytest.raises(errors.HostKeyChanged) as changed:
        await laptop.connect(alias)
    assert (changed.value.exit_code, changed.value.retryable) == (6, False)
    assert "HOST KEY CHANGED" in str(changed.value)
    return changed.value


def keygen_tool(*words: str) -> None:
    subprocess.run(["ssh-keygen", "-q", *words], check=True, capture_output=True)


def strange_key(laptop: Laptop, kind: str = "ed25519") -> Path:
    return keygen(laptop.directory / f"strange_{kind}", kind=kind)


def line_of(public: Path, name: str) -> str:
    return f"{name} {' '.join(public.read_text().split()[:2])}\n"


async def test_an_unknown_key_is_told_with_the_fingerprint_that_ssh_keygen_shows(laptop: Laptop, server: Sshd) -> None:
    server.start()
    unknown = await unknown_key(laptop, authorized(laptop, server))
    assert unknown.fingerprint == fingerprint(Path(f"{server.host_key}.pub"))
    assert (unknown.host, unknown.port, unknown.algorithm) == ("127.0.0.1", server.port, "ssh-ed25519")
    assert (unknown.exit_code, unknown.retryable) == (6, False)
    assert unknown.fingerprint in str(unknown)
    assert "Accepted" not in server.log.read_text()


async def test_an_accepted_key_is_kept_in_our_own_private_file(laptop: Laptop, plain_server: Sshd) -> None:
    alias = authorized(laptop, plain_server)
    accept_host_key(await unknown_key(laptop, alias))
    assert own_file().stat().st_mode & 0o777 == 0o600
    assert laptop.known_hosts.read_text() == ""
    assert await reaches(laptop, alias) == fingerprint(Path(f"{plain_server.host_key}.pub"))


async def test_the_expected_fingerprint_is_accepted_and_no_other(laptop: Laptop, plain_server: Sshd) -> None:
    alias = authorized(laptop, plain_server)
    right, wrong = fingerprint(Path(f"{plain_server.host_key}.pub")), fingerprint(strange_key(laptop))
    with pytest.raises(errors.HostKeyUnexpected, match=re.escape(wrong)) as unexpected:
        await reaches(laptop, alias, expect=wrong)
    assert unexpected.value.exit_code == 6
    assert not own_file().exists()
    assert await reaches(laptop, alias, expect=right) == right
    assert await reaches(laptop, alias) == right
    with pytest.raises(errors.HostKeyUnexpected):
        await reaches(laptop, alias, expect=wrong)


async def test_a_changed_key_names_both_keys_the_file_and_the_line(laptop: Laptop, plain_server: Sshd) -> None:
    alias = authorized(laptop, plain_server)
    known = strange_key(laptop)
    laptop.trust("# a comment\n", line_of(known, f"[127.0.0.1]:{plain_server.port}"))
    changed = await changed_key(laptop, alias)
    assert fingerprint(known) in changed.known
    assert fingerprint(Path(f"{plain_server.host_key}.pub")) in changed.presented
    assert (changed.file, changed.line) == (str(laptop.known_hosts), 2)
    with pytest.raises(errors.HostKeyChanged):
        await reaches(laptop, alias, expect=fingerprint(Path(f"{plain_server.host_key}.pub")))


async def test_a_key_of_another_type_is_a_change_too(laptop: Laptop, plain_server: Sshd) -> None:
    laptop.trust(line_of(strange_key(laptop, "rsa"), f"[127.0.0.1]:{plain_server.port}"))
    changed = await changed_key(laptop, authorized(laptop, plain_server))
    assert "ssh-rsa" in changed.known
    assert "ssh-ed25519" in changed.presented


async def test_a_key_that_changes_between_two_connections_is_seen(laptop: Laptop, server: Sshd) -> None:
    server.start()
    alias = authorized(laptop, server)
    accept_host_key(await unknown_key(laptop, alias))
    await reaches(laptop, alias)
    server.stop()
    server.host_key.unlink()
    keygen(server.host_key)
    server.start()
    assert (await changed_key(laptop, alias)).file == str(own_file())


async def test_hashed_names_and_broken_lines(laptop: Laptop, plain_server: Sshd) -> None:
    laptop.trust(plain_server.known_hosts_line())
    keygen_tool("-H", "-f", str(laptop.known_hosts))
    assert laptop.known_hosts.read_text().startswith("|1|")
    laptop.trust("broken\n", "@nonsense a b c\n", "|1|x|y ssh-ed25519 AAAA\n")
    await reaches(laptop, authorized(laptop, plain_server))


async def test_a_changed_key_under_a_hashed_name(laptop: Laptop, plain_server: Sshd) -> None:
    laptop.trust(line_of(strange_key(laptop), f"[127.0.0.1]:{plain_server.port}"))
    keygen_tool("-H", "-f", str(laptop.known_hosts))
    changed = await changed_key(laptop, authorized(laptop, plain_server))
    assert changed.line == 1
    assert f"ssh-keygen -f {laptop.known_hosts} -R '[127.0.0.1]:{plain_server.port}'" in str(changed)


async def test_the_alias_of_a_host_key_stands_for_the_name(laptop: Laptop, plain_server: Sshd) -> None:
    laptop.trust(plain_server.known_hosts_line("the-box"))
    await reaches(laptop, authorized(laptop, plain_server, "aliased", "HostKeyAlias the-box"))
    other = authorized(laptop, plain_server, "other", "HostKeyAlias another-box")
    accept_host_key(await unknown_key(laptop, other))
    assert own_file().read_text().startswith("another-box ssh-ed25519 ")
    await reaches(laptop, other)


async def test_a_revoked_key_is_refused_even_when_another_line_knows_it(laptop: Laptop, plain_server: Sshd) -> None:
    laptop.trust(plain_server.known_hosts_line(), "@revoked " + plain_server.known_hosts_line("*"))
    with pytest.raises(errors.HostKeyRevoked) as revoked:
        await reaches(laptop, authorized(laptop, plain_server))
    assert revoked.value.exit_code == 6


async def test_a_host_certificate_of_a_known_authority_is_enough(laptop: Laptop, server: Sshd) -> None:
    authority = laptop.key("host_ca")
    keygen_tool("-s", str(authority), "-I", "box", "-h", "-n", "127.0.0.1", f"{server.host_key}.pub")
    server.start(f"HostCertificate {server.host_key}-cert.pub")
    alias = authorized(laptop, server)
    laptop.trust("@cert-authority * " + Path(f"{authority}.pub").read_text())
    await reaches(laptop, alias)


async def test_a_host_certificate_for_another_name_does_not_hold(laptop: Laptop, server: Sshd) -> None:
    authority = laptop.key("host_ca")
    keygen_tool("-s", str(authority), "-I", "box", "-h", "-n", "elsewhere", f"{server.host_key}.pub")
    server.start(f"HostCertificate {server.host_key}-cert.pub")
    laptop.trust("@cert-authority * " + Path(f"{authority}.pub").read_text())
    with pytest.raises(errors.HostKeyUnverifiable, match="does not hold") as refused:
        await reaches(laptop, authorized(laptop, server))
    assert refused.value.exit_code == 6


async def test_a_configuration_that_would_trust_blindly_is_not_obeyed(laptop: Laptop, plain_server: Sshd) -> None:
    alias = authorized(laptop, plain_server, "careless", "StrictHostKeyChecking no")
    accept_host_key(await unknown_key(laptop, alias))
    connection = await laptop.connect(alias)
    assert ["StrictHostKeyChecking" in note for note in connection.notes] == [True]
    await connection.close()
    for nowhere in ("none", "/dev/null"):
        blind = authorized(laptop, plain_server, f"blind{len(nowhere)}", f"UserKnownHostsFile {nowhere}")
        with pytest.raises(errors.HostKeyUnverifiable, match=f"UserKnownHostsFile {nowhere}") as refused:
            await laptop.connect(blind)
        assert refused.value.exit_code == 6


async def test_each_hop_is_checked_for_itself(laptop: Laptop, plain_server: Sshd, server: Sshd) -> None:
    server.start()
    authorized(laptop, server, "hop")
    alias = authorized(laptop, plain_server, "inner", "ProxyJump hop")
    laptop.trust(plain_server.known_hosts_line())
    assert (await unknown_key(laptop, alias)).port == server.port
    laptop.known_hosts.write_text(server.known_hosts_line())
    assert (await unknown_key(laptop, alias)).port == plain_server.port
