"""Which keys known_hosts files give a host, by name, port and type."""

from __future__ import annotations

from pathlib import Path

import asyncssh
import pytest

from console.remote.trust import KnownHosts

ED, OTHER_ED = (asyncssh.generate_private_key("ssh-ed25519").convert_to_public() for _ in range(2))
EC = asyncssh.generate_private_key("ecdsa-sha2-nistp256").convert_to_public()


def files(tmp_path: Path, *lines: tuple[str, asyncssh.SSHKey]) -> KnownHosts:
    """One line a file, so that a place is a file."""
    names = []
    for number, (hosts, key) in enumerate(lines):
        file = tmp_path / f"known_{number}"
        file.write_text(f"{hosts} {key.export_public_key().decode()}")
        names.append(str(file))
    return KnownHosts([*names, str(tmp_path / "none")])


@pytest.mark.parametrize(("port", "expected"), [(22, [ED]), (2201, [OTHER_ED]), (2202, [ED])])
def test_a_port_of_its_own_counts_before_the_bare_name(tmp_path: Path, port: int, expected: list[object]) -> None:
    known = files(tmp_path, ("box", ED), ("[box]:2201", OTHER_ED))
    assert list(known.match("box", port).keys) == expected


def test_a_key_of_another_port_is_none_of_port_22(tmp_path: Path) -> None:
    known = files(tmp_path, ("[box]:2201", ED), ("[box]:22", OTHER_ED))
    assert known.match("box", 22).keys == ()
    assert known.match("other", 2201).keys == ()


def test_the_line_that_is_named_is_the_one_of_the_same_type(tmp_path: Path) -> None:
    known = files(tmp_path, ("box", ED), ("elsewhere", EC), ("box", EC))
    for key, file in ((EC, "known_2"), (ED, "known_0")):
        found = known.locate("box", 22, key.algorithm)
        assert found is not None
        assert (Path(found[0].file).name, found[1]) == (file, key)
    other = known.locate("box", 22, b"ssh-rsa")
    assert other is not None
    assert Path(other[0].file).name == "known_0"
    assert known.locate("nobody", 22, b"ssh-rsa") is None
