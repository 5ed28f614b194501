"""The remote code gate: Python of the repository would run on the box; it is asked for once per content."""

from __future__ import annotations

import hashlib
from collections.abc import Collection

from console.events.hub import CodeFile
from console.gates.gate import Gate
from console.values import known


def fingerprint(repo: str, commit: str, code: tuple[CodeFile, ...]) -> str:
    """What an acceptance is remembered by: repository, commit and the hash of every Python file; empty when a hash
    is not known, so that nothing unseen can be accepted for good."""
    digest = hashlib.sha256(f"{repo}\0{commit}".encode())
    for file in sorted(code, key=lambda file: file.path):
        if not known(file.sha256):
            return ""
        digest.update(f"\0{file.path}\0{file.sha256}".encode())
    return digest.hexdigest()


def remote_code_gate(
    repo: str,
    commit: str,
    code: tuple[CodeFile, ...],
    needed: tuple[str, ...],
    trusted: bool,
    accepted: Collection[str],
) -> Gate:
    """`needed`: the files that the configuration's `auto_map` names; `trusted`: the recipe sets `trust-remote-code`;
    `accepted`: fingerprints that were accepted before; `commit` is empty for a directory that has none. State: none,
    trusted, ask or refused."""
    names = ", ".join(needed)
    at = f" at {commit[:7]}" if commit else ""
    if not needed:
        said = f"{repo} runs no code of its own" + (f" ({len(code)} Python files lie beside)." if code else ".")
        return Gate(name="remote_code", verdict="pass", state="none", subject=repo, sentence=said)
    mark = fingerprint(repo, commit, code)
    hashes = {file.path: file.sha256 if known(file.sha256) else None for file in code}
    numbers = {"commit": commit, "fingerprint": mark, "sha256": hashes}
    if not trusted:
        sentence = f"{repo} needs its own code ({names}), and the recipe does not set trust-remote-code."
        ways = ("Set trust-remote-code = true in the recipe.", f"Read the code{at} first.")
        return Gate(name="remote_code", verdict="block", state="refused", subject=repo, sentence=sentence,
                    way_out=ways, numbers=numbers)  # fmt: skip
    if mark and mark in accepted:
        said = f"{repo}: its code ({names}){at} was accepted before."
        return Gate(name="remote_code", verdict="pass", state="trusted", subject=repo, sentence=said, numbers=numbers)
    said = f"{repo}: its code ({names}){at} would run on the box, sha256 {mark[:12] or 'not known'}."
    return Gate(
        name="remote_code",
        verdict="block",
        state="ask",
        subject=repo,
        sentence=said,
        way_out=("Read it, then accept it with --accept remote-code: it is asked once for this content.",),
        numbers=numbers,
    )
