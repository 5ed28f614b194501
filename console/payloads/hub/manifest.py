"""What a repository holds at one commit, and whether its bytes may be read."""

from __future__ import annotations

import fnmatch
import hashlib
import importlib
import os
from typing import Any, Sequence

from . import proof, strangers
from .client import CALL_S, Client

SMALL_BYTES = 4 << 20
INDEX_BYTES = 64 << 20
CONFIGS = ("config.json", "generation_config.json", "tokenizer_config.json")


def select(paths: Sequence[str], include: Sequence[str], exclude: Sequence[str]) -> list[str]:
    """The paths that the library would download: its patterns are fnmatch over the whole path, `dir/` means `dir/*`."""

    def matches(path: str, patterns: Sequence[str]) -> bool:
        return any(fnmatch.fnmatch(path, item + "*" if item.endswith("/") else item) for item in patterns)

    return [path for path in paths if (not include or matches(path, include)) and not matches(path, exclude)]


def read_tree(client: Client, repo: str, commit: str) -> list[dict[str, Any]]:
    """Every file of the commit, all pages: path, size (None when the Hub does not say), sha256 or git_sha1.

    Raises ValueError for a file that would lie elsewhere: what differs is deleted and fetched again.
    """
    files = []
    for item in client.library.HfApi().list_repo_tree(repo, recursive=True, revision=commit):
        if not hasattr(item, "size"):
            continue
        if not strangers.inside(item.path):
            raise ValueError(f"The Hub lists a file outside of the repository: {item.path!r}.")
        lfs = item.lfs
        sha256 = None if lfs is None else lfs["sha256"] if isinstance(lfs, dict) else lfs.sha256
        git_sha1 = item.blob_id if sha256 is None else None
        files.append({"path": item.path, "size": _size(item.size), "sha256": sha256, "git_sha1": git_sha1})
    return sorted(files, key=lambda file: str(file["path"]))


def _size(told: Any) -> int | None:
    return told if isinstance(told, int) and told >= 0 else None


def probe_target(files: Sequence[dict[str, Any]]) -> str | None:
    """The file whose HEAD proves content: the first LFS file, else the largest that is neither README nor config."""
    for file in files:
        if file["sha256"]:
            return str(file["path"])
    rest = [file for file in files if not file["path"].endswith((".md", ".json", ".gitattributes"))]
    return max(rest, key=lambda file: file["size"] or 0)["path"] if rest else None


def read_repo(client: Client, request: dict[str, Any]) -> dict[str, Any]:
    """Access, manifest and facts of one repository. Metadata alone never makes it ready."""
    repo, revision = request["repo"], request.get("revision") or "main"
    answer: dict[str, Any] = {"repo": repo, "revision": revision, "commit": None, "gated": None, "files": None}
    answer.update({"probe": None, "index": None, "texts": {}, "code": [], "version": client.library.__version__})
    answer.update({"endpoint": client.endpoint, "proxy": client.proxy, "present": None})
    answer["filtered"] = bool(request.get("include") or request.get("exclude"))
    api = client.library.HfApi()
    info, refusal = client.call(api.model_info, repo, revision=revision, timeout=CALL_S)
    if refusal:
        answer["access"] = refusal
        return answer
    answer.update({"commit": info.sha, "gated": getattr(info, "gated", None) or False})
    files, tree_refusal = client.call(read_tree, client, repo, info.sha)
    if files is not None:
        chosen = set(
            select([file["path"] for file in files], request.get("include") or (), request.get("exclude") or ())
        )
        answer["files"] = [file for file in files if file["path"] in chosen]
        if request.get("path"):
            answer["present"] = present(request["path"], answer["files"])
    answer["access"], answer["probe"] = _probe(client, repo, info.sha, files, tree_refusal)
    if answer["access"]["state"] == "ready" and request.get("facts", True):
        _read_facts(client, answer, files or [])
    return answer


def present(path: str, files: Sequence[dict[str, Any]]) -> dict[str, int]:
    """How much of the files is under a directory, by names and sizes; without what a hash proved to be wrong."""
    root = os.path.expanduser(path)
    bad = {item["path"]: item for item in (proof.read(root) or {}).get("bad", ())}
    there = [file["size"] for file in files if _there(proof.seal(root, file["path"]), file, bad.get(file["path"]))]
    return {"files_ok": len(there), "present_bytes": sum(there), "missing_files": len(files) - len(there)}


def _there(now: dict[str, int] | None, file: dict[str, Any], bad: dict[str, Any] | None) -> bool:
    """`bad` counts while the file looks as it did then, and should be what it should have been."""
    if now is None or now["size"] != file["size"]:
        return False
    return bad is None or bad.get("seal") != now or bad.get("expected_sha256") != file["sha256"]


def _probe(
    client: Client,
    repo: str,
    commit: str,
    files: list[dict[str, Any]] | None,
    tree_refusal: dict[str, Any] | None,
) -> tuple[dict[str, Any], str | None]:
    """The state of the content: `auth_check`, then HEAD of the first LFS file."""
    library = client.library
    ready = {"state": "ready", "status": 200, "text": "", "class": "", "retry_after_s": None}
    _, refusal = client.call(library.HfApi().auth_check, repo)
    target = probe_target(files or [])
    if refusal is None and target is not None:
        url = library.hf_hub_url(repo, target, revision=commit)
        found, refusal = client.call(library.get_hf_file_metadata, url, timeout=10)
        if found is not None and found.commit_hash is None:
            refusal = dict(ready, state="endpoint_bad", text="The answer has no X-Repo-Commit header.")
    return refusal or tree_refusal or ready, target


def _read_facts(client: Client, answer: dict[str, Any], files: list[dict[str, Any]]) -> None:
    """Small texts that other checks read: configs, the index in short, the code that would run."""
    for file in files:
        path, size = file["path"], file["size"] or 0
        if path in CONFIGS and size <= SMALL_BYTES:
            content, _ = client.call(fetch, client, answer, path)
            if content is not None:
                answer["texts"][path] = content.decode("utf-8", "replace")
        elif path.endswith(".safetensors.index.json") and "/" not in path and size <= INDEX_BYTES:
            content, _ = client.call(fetch, client, answer, path)
            answer["index"] = index_facts(path, content, files) if content is not None else None
        elif path.endswith(".py") and size <= SMALL_BYTES:
            content, _ = client.call(fetch, client, answer, path)
            sha256 = hashlib.sha256(content).hexdigest() if content is not None else None
            answer["code"].append({"path": path, "size": file["size"], "sha256": sha256})


def fetch(client: Client, answer: dict[str, Any], path: str) -> bytes:
    """The bytes of a small file, without a trace in the library's cache."""
    library = importlib.import_module("huggingface_hub.utils")

    url = client.library.hf_hub_url(answer["repo"], path, revision=answer["commit"])
    response = library.get_session().get(url, headers=library.build_hf_headers(), timeout=CALL_S)
    library.hf_raise_for_status(response)
    return bytes(response.content)


def index_facts(path: str, content: bytes, files: Sequence[dict[str, Any]]) -> dict[str, Any] | None:
    """`{"path", "total_size", "shards", "absent"}` of a safetensors index; None when it cannot be read.

    `absent`: shards that the commit's `files` do not hold, whatever was selected of them.
    """
    try:
        index = strangers.parse(content)
        shards = strangers.shards(index)
    except (ValueError, KeyError, AttributeError, TypeError):
        return None
    metadata = index.get("metadata")
    total = metadata.get("total_size") if isinstance(metadata, dict) else None
    there = {file["path"] for file in files}
    known = int(total) if isinstance(total, (int, float)) else None
    return {"path": path, "total_size": known, "shards": shards, "absent": [one for one in shards if one not in there]}
