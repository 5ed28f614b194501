"""The disk gate under a real quota: what the kernel leaves a user, to the block where writing really ends."""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from console.agent.limits import parse_quota
from console.gates.disk import Device, Need, Place, disk_gate
from console.remote.bundle import STAGE0, bundle, frame
from tests.support.quotas import GROUP, PROJECT, USER, Quotas, quotas
from tests.support.requirements import need

pytestmark = pytest.mark.slow
OWNER, MIB = 12345, 1 << 20
KEPT = 16 * 4096  # what the file system itself needs for a file is charged, too
WRITE = """
import os, sys
written, block = 0, bytes(4096)
with open(sys.argv[1], "wb", buffering=0) as file:
    try:
        while True:
            written += file.write(block)
    except OSError as error:
        print(written, error.errno)
"""


@pytest.fixture(scope="module")
def disk() -> Iterator[Quotas]:
    with quotas() as mounted:
        yield mounted


def folder(disk: Quotas, name: str) -> Path:
    made = disk.directory / name
    made.mkdir()
    made.chmod(0o777)
    return made


def python(*words: str, owner: int = OWNER, stdin: bytes = b"") -> str:
    """A program under an account of its own: root has no quota."""
    prefix = ["setpriv", f"--reuid={owner}", f"--regid={owner}", "--clear-groups"]
    done = subprocess.run([*prefix, "/usr/bin/python3", "-I", "-c", *words], input=stdin, capture_output=True, cwd="/")
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode()


def facts(path: Path, owner: int = OWNER) -> Any:
    """What the Hub helper says of the disk, asked as that user."""
    program = frame(bundle("console.payloads.hub", {"ops": [{"op": "disk", "paths": [str(path)]}]}))
    return json.loads(python(STAGE0, owner=owner, stdin=program))["answers"][0]["ok"][0]


def gate(told: Any, need_bytes: int) -> Any:
    device = Device(
        mount=told["mount"], fstype=told["fstype"], available_bytes=told["available_bytes"],
        quota_free_bytes=told["quota_free_bytes"],
    )  # fmt: skip
    return disk_gate(Place(names=("org/model",), need=Need(sizes=(need_bytes,), missing_files=1), device=device))


def fill(path: Path, owner: int = OWNER) -> int:
    """Write until the kernel says no; the bytes that went in."""
    written, number = map(int, python(WRITE, str(path / "file"), owner=owner).split())
    assert number in (errno.EDQUOT, errno.ENOSPC)
    return written


@pytest.mark.parametrize(("kind", "owner"), [(USER, OWNER), (GROUP, OWNER + 1)])
def test_the_rest_of_a_quota_is_where_writing_ends(disk: Quotas, kind: int, owner: int) -> None:
    mine = folder(disk, f"kind{kind}")
    disk.limit(kind, owner, 20 * MIB, 10 * MIB)
    told = facts(mine, owner)
    assert told["available_bytes"] > 100 * MIB  # statvfs knows nothing of it
    assert told["quota_free_bytes"] == 20 * MIB
    assert (gate(told, 20 * MIB).state, gate(told, 20 * MIB + 1).state) == ("tight", "no")
    assert "the quota's rest" in gate(told, 20 * MIB + 1).sentence
    python(f"open({str(mine / 'first')!r}, 'wb').write(bytes({5 * MIB}))", owner=owner)
    left = facts(mine, owner)["quota_free_bytes"]
    assert left == 15 * MIB
    assert 0 <= left - fill(mine, owner) <= KEPT
    assert facts(mine, owner)["quota_free_bytes"] < KEPT


def test_a_project_quota_is_what_statvfs_says_inside_it(disk: Quotas) -> None:
    mine = folder(disk, "project")
    disk.project(mine, 7)
    disk.limit(PROJECT, 7, 30 * MIB)
    told = facts(mine, OWNER + 2)
    assert told["quota_free_bytes"] is None
    assert 30 * MIB - KEPT <= told["available_bytes"] <= 30 * MIB
    assert gate(told, 31 * MIB).state == "no"
    assert 0 <= told["available_bytes"] - fill(mine, OWNER + 2) <= KEPT


def test_the_agent_reads_the_same_rest_from_the_quota_program(disk: Quotas) -> None:
    need("quota", shutil.which("quota") is not None, "quota is not installed")
    disk.limit(USER, OWNER + 4, 20 * MIB)
    mine = folder(disk, "agent")
    python(f"open({str(mine / 'first')!r}, 'wb').write(bytes({5 * MIB}))", owner=OWNER + 4)
    asked = ["setpriv", f"--reuid={OWNER + 4}", f"--regid={OWNER + 4}", "--clear-groups", "quota", "-w"]
    said = subprocess.run(asked, capture_output=True, text=True, cwd="/", env=os.environ | {"LC_ALL": "C"}).stdout
    assert parse_quota(said)[disk.device] == facts(mine, OWNER + 4)["quota_free_bytes"] == 15 * MIB


def test_without_a_limit_there_is_no_quota(disk: Quotas) -> None:
    assert facts(disk.directory, OWNER + 3)["quota_free_bytes"] is None
