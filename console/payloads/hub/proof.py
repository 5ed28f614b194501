"""`<path>/.cache/gpudeck/proof.json`: which bytes must be there, which were proved, and what they looked like then.

```
{"schema": 1, "repo", "commit", "revision", "include", "exclude", "verified": wall seconds | null,
 "files": {path: {"size", "sha256"|"git_sha1", "proved": {"size", "mtime_ns", "inode", "how": "hash"} | null}},
 "bad": [{"path", "kind", "expected_bytes", "actual_bytes", "expected_sha256", "actual_sha256",
          "seal": what the file looked like | null}]}
```
A file's proof holds as long as size, modification time and inode are those of the proof.
"""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from typing import Any, Iterable

from . import strangers

MOST_BYTES = 64 << 20
FOLDER = os.path.join(".cache", "gpudeck")
NAME = "proof.json"


def path_of(root: str) -> str:
    """Where the proof of a repository lies."""
    return os.path.join(root, FOLDER, NAME)


def read(root: str) -> dict[str, Any] | None:
    """The proof, or None when there is none that can be read. A repository may bring one of its own: nothing in it
    leads elsewhere."""
    try:
        proof = strangers.read_json(path_of(root), MOST_BYTES)
    except (OSError, ValueError):
        return None
    return proof if isinstance(proof, dict) and _whole(proof) else None


def _whole(proof: dict[str, Any]) -> bool:
    files, bad = proof.get("files"), proof.get("bad")
    return (
        isinstance(files, dict)
        and isinstance(bad, list)
        and all(strangers.inside(path) and _is_entry(entry) for path, entry in files.items())
        and all(isinstance(item, dict) and strangers.inside(item.get("path")) and "kind" in item for item in bad)
    )


def _is_entry(entry: Any) -> bool:
    return (
        isinstance(entry, dict)
        and isinstance(entry.get("size"), int)
        and isinstance(entry.get("proved"), (dict, type(None)))
        and {"sha256", "git_sha1"} <= set(entry)
    )


def write(root: str, proof: dict[str, Any]) -> None:
    """Replaces the proof atomically."""
    folder = os.path.join(root, FOLDER)
    os.makedirs(folder, mode=0o700, exist_ok=True)
    handle, temporary = tempfile.mkstemp(prefix=".proof-", dir=folder)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(proof, file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path_of(root))
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def begin(manifest: dict[str, Any], before: dict[str, Any] | None) -> dict[str, Any]:
    """The proof of a manifest (`repo`, `commit`, `files`…); keeps of `before` what is about the same content."""
    old = (before or {}).get("files", {})
    files: dict[str, Any] = {}
    for file in manifest["files"]:
        entry = {"size": file["size"], "sha256": file["sha256"], "git_sha1": file["git_sha1"], "proved": None}
        known = old.get(file["path"])
        if known and all(known.get(key) == entry[key] for key in ("size", "sha256", "git_sha1")):
            entry["proved"] = known.get("proved")
        files[file["path"]] = entry
    bad = [item for item in (before or {}).get("bad", []) if item["path"] in files]
    proof = {"schema": 1, "verified": None, "files": files, "bad": bad}
    proof.update({key: manifest.get(key) for key in ("repo", "commit", "revision", "include", "exclude")})
    return proof


def seal(root: str, path: str) -> dict[str, int] | None:
    """What a file looks like now: size, mtime_ns, inode; None when it is no regular file."""
    try:
        stat = os.stat(os.path.join(root, path))
    except OSError:
        return None
    return {"size": stat.st_size, "mtime_ns": stat.st_mtime_ns, "inode": stat.st_ino}


def holds(entry: dict[str, Any], now: dict[str, int] | None) -> bool:
    """Whether the file still looks as it did when its hash was right."""
    proved = entry.get("proved")
    return bool(proved and now and all(proved.get(key) == now[key] for key in ("size", "mtime_ns", "inode")))


def summary(root: str, proof: dict[str, Any]) -> dict[str, Any]:
    """`state`, `filtered`, `files`, `files_ok`, `proved`, `changed`, `total_bytes`, `present_bytes`, from stat."""
    counts = {"files": len(proof["files"]), "files_ok": 0, "proved": 0, "changed": 0}
    counts.update({"present_bytes": 0, "proved_bytes": 0})
    sizes: list[int | None] = []
    for path, entry in proof["files"].items():
        now, size = seal(root, path), entry["size"]
        sizes.append(size)
        if now and now["size"] == size:
            counts["files_ok"] += 1
            counts["present_bytes"] += size
        if holds(entry, now):
            counts["proved"] += 1
            counts["proved_bytes"] += size
        counts["changed"] += bool(entry.get("proved")) and not holds(entry, now)
    total = sum_known(sizes)
    filtered = bool(proof.get("include") or proof.get("exclude"))
    return {"state": _state(root, proof, counts), "total_bytes": total, "filtered": filtered, **counts}


def _state(root: str, proof: dict[str, Any], counts: dict[str, int]) -> str:
    bad = [item for item in proof["bad"] if item["kind"] not in ("extra", "missing")]  # what is missing is counted
    if any(seal(root, item["path"]) == item.get("seal") for item in bad):
        return "mismatch"
    if counts["changed"] or bad:
        return "stale"
    if counts["files_ok"] < counts["files"]:
        return "partial"
    return "sha256" if counts["proved"] == counts["files"] else "names_sizes"


def sum_known(sizes: Iterable[int | None]) -> int | None:
    """The sum, or None when one of them is not known."""
    listed = list(sizes)
    return None if None in listed else sum(size for size in listed if size is not None)
