"""The SSH configuration: OpenSSH's own answer, and asyncssh's where no ssh is installed, in the same shape."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from console.remote import errors
from console.remote.ssh_config import Destination, Hop, parse_destination, resolve
from tests.support.requirements import need

CONFIG = """\
Host box
  HostName 10.1.2.200
  Port 2222
  User operator
  IdentityFile /keys/%h_%r
  IdentityFile "/with space/key"
  CertificateFile /keys/%n-cert.pub
  IdentitiesOnly yes
  IdentityAgent none
  UserKnownHostsFile /trust/one /trust/two
  GlobalKnownHostsFile /dev/null
  ConnectTimeout 7
  HostKeyAlias alias
Host inner
  ProxyJump me@first:2200,second
Host first second
  User hopper
Host proxied
  ProxyCommand nc -x %r %h %p
  PasswordAuthentication no
  KbdInteractiveAuthentication no
Host loop
  ProxyJump loop
"""


@pytest.fixture(params=["ssh", "asyncssh"])
def config(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The same configuration, read in both ways."""
    if request.param == "asyncssh":
        monkeypatch.setattr(shutil, "which", lambda _: None)
    else:
        need("sshd", shutil.which("ssh") is not None, "there is no ssh")
    path = tmp_path / "config"
    path.write_text(CONFIG)
    return path


def only(config: Path, target: str) -> Hop:
    hops = resolve(target, config)
    assert len(hops) == 1
    return hops[0]


def test_every_setting_of_a_host_is_resolved(config: Path) -> None:
    hop = only(config, "box")
    assert (hop.name, hop.host, hop.port, hop.user) == ("box", "10.1.2.200", 2222, "operator")
    assert hop.identity_files == ("/keys/10.1.2.200_operator", "/with space/key")
    assert hop.certificate_files == ("/keys/box-cert.pub",)
    assert (hop.identities_only, hop.agent_path) == (True, "")
    assert hop.known_hosts_files == ("/trust/one", "/trust/two")
    assert (hop.connect_timeout_s, hop.known_as, hop.known_by_alias) == (7.0, "alias", True)
    assert hop.methods == {"publickey", "password", "keyboard-interactive"}


def test_what_the_command_line_says_wins(config: Path) -> None:
    hop = only(config, "someone@box:99")
    assert (hop.user, hop.port, hop.host) == ("someone", 99, "10.1.2.200")


def test_a_chain_of_jumps_becomes_hops_in_order(config: Path) -> None:
    hops = resolve("inner", config)
    assert [(hop.user, hop.host, hop.port) for hop in hops[:2]] == [("me", "first", 2200), ("hopper", "second", 22)]
    assert hops[2].host == "inner"


def test_a_proxy_command_is_expanded(config: Path) -> None:
    hop = only(config, "me@proxied")
    assert hop.proxy_command == "nc -x me proxied 22"
    assert hop.methods == {"publickey"}


def test_a_jump_through_itself_ends_with_a_sentence(config: Path) -> None:
    with pytest.raises(errors.SshConfigError, match=r"no end|jumphost loop"):
        resolve("loop", config)


def test_a_broken_file_is_named_with_its_line(config: Path) -> None:
    config.write_text("Host x\n  Port nonsense\n")
    with pytest.raises(errors.SshConfigError, match="line 2") as broken:
        resolve("x", config)
    assert str(config) in str(broken.value)
    assert broken.value.exit_code == 2


def test_a_file_that_does_not_exist_is_named(tmp_path: Path) -> None:
    with pytest.raises(errors.SshConfigError, match="does not exist"):
        resolve("x", tmp_path / "absent")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("box", Destination("box")),
        ("me@box", Destination("box", "me")),
        ("me@box:22", Destination("box", "me", 22)),
        ("box:2201", Destination("box", None, 2201)),
        ("me@[::1]:22", Destination("::1", "me", 22)),
        ("::1", Destination("::1")),
        ("ssh://me@box:22/", Destination("box", "me", 22)),
        ("me@corp@box", Destination("box", "me@corp")),
    ],
)
def test_destinations(text: str, expected: Destination) -> None:
    assert parse_destination(text) == expected


@pytest.mark.parametrize("text", ["", "@box", "-oProxyCommand=x", "a b", "$(x)", "box:0", "box:99999", "a;b"])
def test_what_is_no_destination(text: str) -> None:
    with pytest.raises(errors.SshConfigError):
        parse_destination(text)
