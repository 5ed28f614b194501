"""Removing what finished jobs left, and telling what stays on the box."""

from __future__ import annotations

import contextlib
import glob
import os
import shutil
from typing import Any, Sequence

from . import folder
from .evidence import live, read_job

SYSTEM_UNITS = "/etc/systemd/system"
PROOF = os.path.join(".cache", "gpudeck", "proof.json")


def prune(request: dict[str, Any]) -> dict[str, Any]:
    """`all`: proof files of repositories and adoptions, too, and nothing at all while a job runs. `dirs`: where the box
    keeps models, beside what its jobs name.

    `dry_run`: only tell. Answers {removed, running, proofs, adopted, stays: {units, models, tokens}}, paths and ids.
    """
    with folder.locked():
        jobs = {job_id: read_job(job_id) for job_id in folder.job_ids()}
        running = [job_id for job_id, job in jobs.items() if job is not None and live(job)]
        answer: dict[str, Any] = {"removed": [], "running": running, "proofs": [], "adopted": []}
        models = _models([job for job in jobs.values() if job is not None], request.get("dirs") or ())
        if not (request["all"] and running):
            answer["removed"] = [job_id for job_id in jobs if job_id not in running and not _is_link(job_id)]
            answer["proofs"] = [path for path in map(_proof, models) if os.path.isfile(path)] if request["all"] else []
            answer["adopted"] = _adopted() if request["all"] else []
            if not request.get("dry_run"):
                _remove(answer["removed"], answer["proofs"], answer["adopted"])
        answer["stays"] = {"units": _units(), "models": models, "tokens": _tokens()}
        return answer


def _remove(job_ids: list[str], proofs: list[str], adopted: list[str]) -> None:
    for job_id in job_ids:
        shutil.rmtree(folder.path_of(job_id))
    for proof in proofs:
        os.unlink(proof)
        with contextlib.suppress(OSError):  # not empty: somebody else's
            os.rmdir(os.path.dirname(proof))
    for path in adopted:
        os.unlink(path)


def _is_link(job_id: str) -> bool:
    """Whoever put a link there has a directory of his own behind it, which is no job of ours."""
    return os.path.islink(folder.path_of(job_id))


def _adopted() -> list[str]:
    """What the agent keeps of servers that were adopted: their command lines, secrets included."""
    return sorted(glob.glob(os.path.join(glob.escape(os.path.dirname(folder.root())), "adopted", "*.json")))


def _models(jobs: Sequence[dict[str, Any]], dirs: Sequence[str]) -> list[str]:
    """Where the jobs of this box put or used repositories: `path` and `draft_path` of their meta; and what lies in
    `dirs`, of which a job may have been forgotten."""
    named = {job["meta"].get(key) for job in jobs for key in ("path", "draft_path")}
    found = {path for path in named if isinstance(path, str) and os.path.isdir(path)}
    for parent in map(os.path.expanduser, dirs):
        with contextlib.suppress(OSError), os.scandir(parent) as entries:
            found.update(entry.path for entry in entries if entry.is_dir() and _is_model(entry.path))
    return sorted(found)


def _is_model(path: str) -> bool:
    return any(os.path.isfile(os.path.join(path, name)) for name in (PROOF, "config.json"))


def _proof(model: str) -> str:
    return os.path.join(model, PROOF)


def _units() -> list[str]:
    """Of this user, and of the system, where root's are."""
    config = os.environ.get("XDG_CONFIG_HOME") or os.path.join(os.path.expanduser("~"), ".config")
    places = (os.path.join(config, "systemd/user"), SYSTEM_UNITS)
    found = [path for place in places for path in glob.glob(os.path.join(glob.escape(place), "gpudeck-*.service"))]
    return sorted(map(os.path.basename, found))


def _tokens() -> list[str]:
    home = os.environ.get("HF_HOME") or os.path.join(os.path.expanduser("~"), ".cache", "huggingface")
    path = os.environ.get("HF_TOKEN_PATH") or os.path.join(home, "token")
    return [path] if os.path.isfile(path) else []
