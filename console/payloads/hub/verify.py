"""The verify job: names, sizes and hashes of the manifest, in parallel; the proof file is its result."""

from __future__ import annotations

import os
import threading
import time
from typing import Any, Iterator

from . import child, manifest, proof, strangers
from .client import Client, NoLibraryError
from .hashing import Progress, hash_all, hash_file
from .progress import LIBRARY_FOLDER, Rate, Reporter

MANIFEST_S = 300.0
TICK_S = 1.0


class Verify:
    """One run. `config`: that of a download, and `again`: hash what is proved already, too."""

    def __init__(self, config: dict[str, Any]) -> None:
        self.config, self.root = config, os.path.abspath(os.path.expanduser(config["path"]))
        self.report = Reporter()
        self.proof: dict[str, Any] = {}

    def run(self) -> int:
        """0 ok, 7 mismatch or incomplete, 1 when nothing could be compared."""
        refusal = self._load()
        if refusal:
            self.report.line(phase="end", result="failed", repo=self.config["repo"], path=self.root, **refusal)
            return 1
        bad = self._sizes()
        wrong = {item["path"] for item in bad}
        files = [(path, entry) for path, entry in self.proof["files"].items() if path not in wrong]
        bad += self._hashes([item for item in files if self.config.get("again") or not self._proved(item)])
        if not (self.proof.get("include") or self.proof.get("exclude")):  # a filtered one may stand beside others
            bad += [*index_missing(self.root, {item["path"] for item in bad}), *self._extra()]
        self._write(bad)
        return self._end(bad)

    def _load(self) -> dict[str, Any] | None:
        """The manifest of the pinned commit: the proof file's when it is of that commit, else the Hub's."""
        kept, commit = proof.read(self.root), self.config.get("commit")
        if kept and not commit and not self.config.get("revision"):
            commit = kept["commit"]  # what was downloaded, however far the branch has moved
        if kept and commit and kept["commit"] == commit:
            self.proof = kept
            return None
        request = dict(self.config, facts=False, revision=commit or self.config.get("revision"))
        answer, problem = child.answered(lambda: read_tree(request), MANIFEST_S)
        if problem or answer.get("error"):
            return {"state": problem or answer["error"], "text": (answer or {}).get("text", "")}
        if not answer["files"] or any(file["size"] is None for file in answer["files"]):
            state = answer["access"]["state"] if not answer["files"] else "sizes_unknown"
            return {"state": state, "text": answer["access"]["text"]}
        wanted = dict(answer, **{key: self.config.get(key) for key in ("revision", "include", "exclude")})
        self.proof = proof.begin(wanted, kept)
        return None

    def _proved(self, item: tuple[str, dict[str, Any]]) -> bool:
        return proof.holds(item[1], proof.seal(self.root, item[0]))

    def _sizes(self) -> list[dict[str, Any]]:
        """Files that are absent or have another size."""
        bad = []
        for path, entry in self.proof["files"].items():
            now = proof.seal(self.root, path)
            if now is None:
                bad.append(_item(path, "missing", entry, None))
            elif now["size"] != entry["size"]:
                kind = "truncated" if now["size"] < entry["size"] else "corrupt"
                other = self._other_revision(path, entry, now["size"], None)
                bad.append(_item(path, "wrong_revision" if other else kind, entry, now))
            else:
                continue
            entry["proved"] = None
        return bad

    def _hashes(self, files: list[tuple[str, dict[str, Any]]]) -> list[dict[str, Any]]:
        """Hashes the files; those that differ, as bad items. Reports once a second from a thread."""
        bad, progress, done = [], Progress(), threading.Event()
        total = sum(entry["size"] for _, entry in files)
        reporter = threading.Thread(target=self._tick, args=(progress, total, len(files), done), daemon=True)
        reporter.start()
        entries = dict(files)
        for path, digest in hash_all(self.root, files, progress):
            entry, now = entries[path], proof.seal(self.root, path)
            if now and digest == (entry["sha256"] or entry["git_sha1"]):
                entry["proved"] = dict(now, how="hash")
                continue
            entry["proved"] = None
            other = self._other_revision(path, entry, None, digest)
            item = _item(path, "wrong_revision" if other else "corrupt" if now else "missing", entry, now)
            bad.append(dict(item, actual_sha256=digest if entry["sha256"] else None))
        done.set()
        reporter.join()
        return bad

    def _tick(self, progress: Progress, total: int, files: int, done: threading.Event) -> None:
        rate = Rate()
        while not done.wait(TICK_S):
            rate.update(time.monotonic(), progress.bytes)
            fields = {"rate_bytes_s": rate.bytes_s, "eta_s": rate.eta_s(total - progress.bytes), "files": files}
            self.report.line(phase="verifying", present_bytes=progress.bytes, total_bytes=total, **fields)

    def _other_revision(self, path: str, entry: dict[str, Any], size: int | None, digest: str | None) -> bool:
        """Whether the file is what the library noted for another commit: its `.metadata` holds commit and hash."""
        try:
            with open(os.path.join(self.root, LIBRARY_FOLDER, path + ".metadata"), encoding="utf-8") as file:
                commit, etag = file.read().split("\n")[:2]
        except (OSError, ValueError):
            return False
        if commit == self.proof["commit"] or etag == (entry["sha256"] or entry["git_sha1"]):
            return False
        if digest is None:
            kind = {"sha256": etag if len(etag) == 64 else None}
            digest = hash_file(os.path.join(self.root, path), size or 0, kind, Progress())
        return digest == etag

    def _extra(self) -> Iterator[dict[str, Any]]:
        """Files that the manifest does not know."""
        for path in present_files(self.root):
            if path not in self.proof["files"]:
                yield _item(path, "extra", {"size": None, "sha256": None}, proof.seal(self.root, path))

    def _write(self, bad: list[dict[str, Any]]) -> None:
        kept = [dict(item, seal=proof.seal(self.root, item["path"])) for item in bad if item["kind"] != "extra"]
        self.proof.update({"bad": kept, "verified": time.time()})
        if not os.path.isdir(self.root):
            return  # nothing is there, and nothing is put there
        try:
            proof.write(self.root, self.proof)
        except OSError as error:
            self.report.line(phase="warning", state="proof_not_written", text=str(error))

    def _end(self, bad: list[dict[str, Any]]) -> int:
        kinds = {item["kind"] for item in bad} - {"extra"}
        result = "ok" if not kinds else "incomplete" if kinds <= {"missing"} else "mismatch"
        state = proof.summary(self.root, self.proof)
        self.report.line(
            phase="end",
            result=result,
            repo=self.proof["repo"],
            commit=self.proof["commit"],
            path=self.root,
            bad=bad[:200],
            files=state["files"],
            ok=state["proved"],
            total_bytes=state["total_bytes"],
            present_bytes=state["present_bytes"],
        )
        return 0 if result == "ok" else 7


def read_tree(request: dict[str, Any]) -> dict[str, Any]:
    """In a child: the manifest, which the Hub gives even where it refuses the content."""
    try:
        return manifest.read_repo(Client(request.get("env") or {}), request)
    except NoLibraryError as error:
        return {"error": "no_library", "text": str(error)}


def present_files(root: str) -> Iterator[str]:
    """Paths of the regular files of a repository, without caches and hidden folders."""
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            yield os.path.relpath(os.path.join(folder, name), root)


def index_missing(root: str, known: Any) -> Iterator[dict[str, Any]]:
    """Shards that an index on the disk names, and that are not there: a server would load garbage."""
    names = sorted(os.listdir(root)) if os.path.isdir(root) else []
    for name in names:
        if not name.endswith(".safetensors.index.json"):
            continue
        try:
            shards = strangers.shards(strangers.read_json(os.path.join(root, name), manifest.INDEX_BYTES))
        except (OSError, ValueError, KeyError, AttributeError, TypeError):
            continue
        for shard in shards:
            if shard not in known and not os.path.isfile(os.path.join(root, shard)):
                yield _item(shard, "index_missing", {"size": None, "sha256": None}, None)


def _item(path: str, kind: str, entry: dict[str, Any], now: dict[str, int] | None) -> dict[str, Any]:
    return {
        "path": path,
        "kind": kind,
        "expected_bytes": entry["size"],
        "actual_bytes": now["size"] if now else None,
        "expected_sha256": entry["sha256"],
        "actual_sha256": None,
    }
