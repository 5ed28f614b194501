"""A deploy, a measurement and their reports: no secret lies anywhere but where it must, no socket leaves loopback."""

from __future__ import annotations

import gzip
import ipaddress
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.test_killed import Victim
from tests.support.fakes import library
from tests.support.fault_log import tell
from tests.support.scene import marked

KEY = "sk-canary-0123456789abcdef"
TOKEN = "hf_CanaryEverywhereDoNotPrint01"


@pytest.fixture
def victim(tmp_path: Path, interpreter: Path) -> Iterator[Victim]:
    one = Victim(tmp_path, interpreter)
    one.recipe("slow", "8")
    one.env |= {"STANDIN_KEY": KEY, "HF_HOME": str(tmp_path / "hf"), "HF_ENDPOINT": "http://127.0.0.1:9"}
    yield one
    one.jobs.clear()


def said(victim: Victim, *words: str, code: int = 0, stdin: str = "") -> str:
    done = victim.gpudeck.run(*words, stdin=stdin, **victim.env)
    assert done.returncode == code, done.stderr + done.stdout
    return done.stdout + done.stderr


@pytest.mark.slow
def test_no_secret_and_no_stranger(victim: Victim, tmp_path: Path) -> None:
    log = tmp_path / "net.log"
    victim.env |= {"LD_PRELOAD": str(library("net")), "FAKE_NET_LOG": str(log)}
    done = victim.gpudeck.run("token", "local", "set", stdin=TOKEN + "\n", **victim.env)
    text = done.stdout + done.stderr  # there is no Hub to prove it: only that it is not printed counts here
    text += said(victim, "-v", "deploy", "local", "slow", "--json")
    lines = list(marked(victim.mark).values())
    assert lines, "the server runs"
    assert not [line for line in lines if KEY in line or TOKEN in line]
    for words in (("bench", "local", "--preset", "smoke", "--window", "1", "--concurrency", "1", "--isl", "16", "--osl",
                   "16", "--recipe", "slow"), ("serve", "local", "status", "--json"), ("serve", "local", "logs"),
                  ("status", "local", "--json"), ("jobs", "local", "list", "--json")):  # fmt: skip
        text += said(victim, *words)
    said(victim, "doctor", "local", "--bundle", str(tmp_path / "bundle.tgz"), "--json", code=_doctor(victim, tmp_path))
    for recording in (victim.gpudeck.home / "data/gpudeck/recordings").glob("*.jsonl"):
        victim.gpudeck.run("--replay", str(recording), "--svg", str(tmp_path / "svg"), **victim.env)
    assert KEY not in text
    assert TOKEN not in text
    assert holders(tmp_path, KEY) <= {"log", "secrets.yaml"}, "SGLang's own log, and the file that it reads"
    assert holders(tmp_path, TOKEN) <= {"token", "stored_tokens"}, "the library's own file"
    addresses = {line.split()[1] for line in log.read_text().splitlines()}
    assert addresses
    assert all(ipaddress.ip_address(address).is_loopback for address in addresses), addresses
    tell(
        "secrets", "canaries as API key and token, all files and command lines searched", None, None, "none", "nothing"
    )
    tell("network", f"every connect and listen of {len(lines)} processes watched", None, None, "none", "nothing")


def _doctor(victim: Victim, tmp_path: Path) -> int:
    """What it finds on this machine is its own business."""
    return victim.gpudeck.run("doctor", "local", **victim.env).returncode


def holders(place: Path, secret: str) -> set[str]:
    """The names of the files that hold it, also inside of gzip."""
    found = set()
    for path in place.rglob("*"):
        if path.is_file() and not path.is_symlink() and os.access(path, os.R_OK):
            data = path.read_bytes()
            if data[:2] == b"\x1f\x8b":
                data += gzip.decompress(data)
            if secret.encode() in data:
                found.add(path.name)
    return found
