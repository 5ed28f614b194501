"""The models that are stored under some directories: size, proof, leftovers, and who has them open."""

from __future__ import annotations

import os
import shutil
from typing import Any, Iterator

from . import claims, disk, local, proof
from .progress import incomplete, on_disk

DEPTH = 3
MODEL_FILES = ("config.json", "params.json", "model_index.json")


def read(roots: list[str]) -> list[dict[str, Any]]:
    """Every model under the roots and in the library's own cache, once each."""
    found: dict[str, dict[str, Any]] = {}
    home = os.environ.get("HF_HOME") or os.path.join("~", ".cache", "huggingface")
    for root in [*roots, os.environ.get("HF_HUB_CACHE") or os.path.join(home, "hub")]:
        for path in _models(os.path.realpath(os.path.expanduser(root)), DEPTH):
            found.setdefault(path, {})
    holders = open_by(list(found))
    return [dict(stored(path), open_by=holders[path]) for path in sorted(found)]


def _models(root: str, depth: int) -> Iterator[str]:
    """Directories that hold a model; nothing inside one is looked at."""
    try:
        entries = list(os.scandir(root))
    except OSError:
        return
    names = {entry.name for entry in entries}
    if names.intersection(MODEL_FILES) or os.path.isfile(proof.path_of(root)) or _cached_model(root, names):
        yield root
    elif depth:
        for entry in entries:
            hidden = entry.name.startswith(".") and entry.name != ".cache"
            if entry.is_dir(follow_symlinks=False) and not hidden:
                yield from _models(entry.path, depth - 1)


def _cached_model(root: str, names: set[str]) -> bool:
    return os.path.basename(root).startswith("models--") and "blobs" in names


def stored(path: str) -> dict[str, Any]:
    """One directory: what is there, whose it is, and what is proved of it, from stat alone."""
    root = os.path.realpath(os.path.expanduser(path))
    size, leftovers = _sizes(root)
    kept = proof.read(root)
    model: dict[str, Any] = {"path": root, "asked": path, "exists": os.path.isdir(root), "size_bytes": size}
    model.update({"orphan_bytes": leftovers["bytes"], "orphans": leftovers["count"], "repo": None, "commit": None})
    model.update({"proof": "none", "bad": [], "device": disk.facts(root)["device"], "verified": None})
    if kept:
        model.update({key: kept.get(key) for key in ("repo", "commit", "verified", "bad")})
        summary = proof.summary(root, kept)
        model.update(summary, proof=_of_selection(root, kept, summary))
    elif os.path.basename(root).startswith("models--"):
        model["repo"] = os.path.basename(root)[len("models--") :].replace("--", "/")
        model.update(_snapshot(root))
    elif model["exists"]:
        model.update(_by_headers(root))
    return model


def _by_headers(root: str) -> dict[str, Any]:
    checked = local.check(root)
    return {"files": checked["files"], "local_bad": checked["bad"], "proof": local.proof(root, checked)}


def _of_selection(root: str, kept: dict[str, Any], summary: dict[str, Any]) -> str:
    """Files that were selected prove no more than what they make of the directory."""
    state = str(summary["state"])
    if not summary["filtered"] or state not in ("sha256", "names_sizes"):
        return state
    alone = local.proof(root, local.check(root))
    if alone == "names_sizes" and not set(local.shards_of(root)) <= set(kept["files"]):
        return alone
    return alone if alone in ("dummy", "partial") else state


def _snapshot(root: str) -> dict[str, Any]:
    """The commit of `main` in the library's cache, else the youngest, judged like a directory of one's own."""
    folder = os.path.join(root, "snapshots")
    try:
        commits = sorted(os.listdir(folder), key=lambda name: os.stat(os.path.join(folder, name)).st_mtime)
        with open(os.path.join(root, "refs", "main"), encoding="utf-8") as file:
            main = file.read().strip()
    except OSError:
        main = ""
    if not os.path.isdir(folder) or not commits:
        return {}
    commit = main if main in commits else commits[-1]
    return dict(_by_headers(os.path.join(folder, commit)), commit=commit)


def _sizes(root: str) -> Any:
    """Bytes of regular files (links and hard links once), and of the temporary files that nobody has open."""
    total, seen = 0, set()
    for folder, _, names in os.walk(root):
        for name in names:
            try:
                stat = os.lstat(os.path.join(folder, name))
            except OSError:
                continue
            if (stat.st_dev, stat.st_ino) not in seen:
                seen.add((stat.st_dev, stat.st_ino))
                total += stat.st_size
    free = _orphans(root)
    return total, {"count": len(free), "bytes": sum(size for _, size in free)}


def _orphans(root: str) -> Any:
    leftovers = list(incomplete(root))
    held = _held() if leftovers else {}
    return [(path, on_disk(stat)) for path, _, stat in leftovers if path not in held]


def remove_orphans(path: str) -> dict[str, Any]:
    """Deletes the temporary files that no process has open."""
    free = _orphans(os.path.realpath(os.path.expanduser(path)))
    for orphan, _ in free:
        os.unlink(orphan)
    return {"count": len(free), "bytes": sum(size for _, size in free)}


def _held() -> dict[str, set[int]]:
    """Files that processes have open or mapped, as far as this user may look."""
    held: dict[str, set[int]] = {}
    for pid in (int(name) for name in os.listdir("/proc") if name.isdigit()):
        for path in [*_descriptors(pid), *_mapped(pid), *_named(pid)]:
            held.setdefault(path, set()).add(pid)
    return held


def _descriptors(pid: int) -> list[str]:
    folder = f"/proc/{pid}/fd"
    try:
        return [os.readlink(os.path.join(folder, name)) for name in os.listdir(folder)]
    except OSError:
        return []


def _mapped(pid: int) -> set[str]:
    try:
        with open(f"/proc/{pid}/maps", encoding="utf-8", errors="surrogateescape") as file:
            return {line[line.index("/") :].rstrip("\n") for line in file if "/" in line}
    except OSError:
        return set()


def _named(pid: int) -> list[str]:
    """Paths among a server's arguments: it may read the model again."""
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            words = file.read().decode("utf-8", "surrogateescape").split("\0")
    except OSError:
        return []
    return [
        words[index + 1]
        for index, word in enumerate(words[:-1])
        if word in ("--model-path", "--speculative-draft-model-path")
    ]


def open_by(roots: list[str]) -> dict[str, list[dict[str, Any]]]:
    """For each directory the processes that have it open: `[{"pid", "command"}]`."""
    users: dict[str, set[int]] = {root: set() for root in roots}
    for path, pids in _held().items():
        for root in roots:
            if path == root or path.startswith(root + os.sep):
                users[root] |= pids
    return {root: [{"pid": pid, "command": _command(pid)} for pid in sorted(pids)] for root, pids in users.items()}


def _command(pid: int) -> str:
    try:
        with open(f"/proc/{pid}/comm", encoding="utf-8", errors="replace") as file:
            return file.read().strip()
    except OSError:
        return ""


def remove(path: str, dry_run: bool) -> dict[str, Any]:
    """Deletes a model, or says what would be deleted. `refused` says why not: it is open, a download writes there, or
    the directory is no model."""
    root = os.path.realpath(os.path.expanduser(path))
    answer: dict[str, Any] = {"path": root, "removed": False, "refused": "", "open_by": [], "size_bytes": 0}
    answer["refused"] = _no_model(path, root)
    if answer["refused"]:
        return answer
    answer["open_by"] = open_by([root])[root]
    downloads = [claim["job"] for claim in claims.read() if os.path.realpath(claim["path"]) == root]
    if answer["open_by"] or downloads:
        return dict(answer, refused="open" if answer["open_by"] else "download", job=(downloads or [""])[0])
    answer["size_bytes"] = _sizes(root)[0]
    if dry_run:
        return answer
    shutil.rmtree(root)
    return dict(answer, removed=True)


def _no_model(path: str, root: str) -> str:
    if not os.path.isdir(root):
        return "missing"
    if os.path.islink(os.path.expanduser(path).rstrip("/")):
        return "link"
    return "" if list(_models(root, 0)) == [root] else "no_model"
