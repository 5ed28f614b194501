"""From the helper's JSON to facts. Remote text becomes clean text here, and None an Unknown with its reason."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast, get_args

from console.events import hub as facts
from console.events.base import Event
from console.values import CleanText, Unknown, clean

_ACCESS = frozenset(get_args(facts.Access))
_PHASES = frozenset(get_args(facts.Phase))
_NO_HASH = Unknown("not hashed this way")


def text(value: Any, reason: str = "not told") -> CleanText | Unknown:
    """A remote text, or why there is none."""
    return clean(str(value)) if value is not None else Unknown(reason)


def number(value: Any, reason: str = "not told") -> Any:
    """A remote number, or why there is none."""
    return value if isinstance(value, int | float) and not isinstance(value, bool) else Unknown(reason)


def token_fact(host: str, told: dict[str, Any]) -> facts.TokenChecked:
    """Of `token_status`, or of one half of `token_set`."""
    return facts.TokenChecked(
        host=host,
        state=told["state"],
        source=clean(told["source"]),
        who=text(told["who"], "the token is not proved"),
        role=text(told["role"], "the Hub does not say the role"),
        shape=clean(told["shape"]),
        text=clean(told["text"]),
        endpoint=clean(told["endpoint"]),
        path=clean(told["path"]),
    )


def access_fact(
    host: str, told: dict[str, Any], token: facts.TokenChecked | None, origin: facts.Origin
) -> facts.AccessChecked:
    """Of one `repo` answer; a state that this version does not know is `unknown`."""
    found = told["access"]
    return facts.AccessChecked(
        host=host,
        repo=clean(told["repo"]),
        revision=clean(told["revision"]),
        access=found["state"] if found["state"] in _ACCESS else "unknown",
        commit=text(told["commit"], "the Hub did not resolve it"),
        status=number(found["status"], "no answer"),
        text=clean(found["text"]),
        error=clean(found["class"]),
        retry_after_s=number(found["retry_after_s"]),
        probe=clean(told["probe"] or ""),
        who=token.who if token else Unknown("the token was not asked for"),
        token_source=token.source if token else CleanText(""),
        endpoint=clean(told["endpoint"]),
        proxy=clean(told["proxy"]),
        library=clean(told["version"]),
        origin=origin,
    )


def manifest_fact(host: str, told: dict[str, Any], origin: facts.Origin) -> facts.ManifestRead | None:
    """Of one `repo` answer; None when the Hub did not list the files."""
    if told["files"] is None or told["commit"] is None:
        return None
    files = tuple(
        facts.ManifestFile(
            path=clean(file["path"]),
            size_bytes=number(file["size"], "the Hub does not say the size"),
            sha256=text(file["sha256"], "not an LFS file"),
            git_sha1=text(file["git_sha1"], "an LFS file"),
        )
        for file in told["files"]
    )
    index = told["index"] or {}
    whole = None if told["filtered"] else index.get("total_size")
    code = (facts.CodeFile(path=clean(c["path"]), sha256=text(c["sha256"], "not fetched")) for c in told["code"])
    return facts.ManifestRead(
        host=host,
        repo=clean(told["repo"]),
        revision=clean(told["revision"]),
        commit=clean(told["commit"]),
        files=files,
        index_total_bytes=number(whole, "a part was selected" if told["filtered"] else "no index that can be read"),
        index_absent=tuple(clean(shard) for shard in index.get("absent", ())),
        code=tuple(code),
        origin=origin,
    )


def bad_files(items: Sequence[dict[str, Any]]) -> tuple[facts.BadFile, ...]:
    """What a verification found."""
    return tuple(
        facts.BadFile(
            path=clean(item["path"]),
            kind=item["kind"],
            expected_bytes=number(item["expected_bytes"], "not in the manifest"),
            actual_bytes=number(item["actual_bytes"], "not there"),
            expected_sha256=text(item["expected_sha256"], _NO_HASH.reason),
            actual_sha256=text(item["actual_sha256"], "not hashed"),
        )
        for item in items
    )


def stored_model(told: dict[str, Any]) -> facts.StoredModel:
    """Of `stored` and `inventory`."""
    counted = {name: number(told.get(name), "no manifest") for name in ("files", "files_ok", "total_bytes")}
    return facts.StoredModel(
        path=clean(told["path"]),
        exists=told["exists"],
        repo=text(told["repo"], "no record of where it comes from"),
        commit=text(told["commit"], "no record of where it comes from"),
        device=clean(told["device"]),
        size_bytes=told["size_bytes"],
        proof=told["proof"],
        present_bytes=number(told.get("present_bytes"), "no manifest"),
        proved_bytes=number(told.get("proved_bytes"), "no manifest"),
        orphan_bytes=told["orphan_bytes"],
        orphans=told["orphans"],
        filtered=bool(told.get("filtered")),
        open_by=tuple(facts.Holder(pid=one["pid"], command=clean(one["command"])) for one in told.get("open_by", ())),
        bad=bad_files(told["bad"] or told.get("local_bad") or ()),
        **counted,
    )


def disk_fact(host: str, told: dict[str, Any]) -> facts.TargetDiskRead:
    """Of `disk`."""
    dumb = f"the mount does not answer: {told['problem']}" if told["problem"] else "not told"
    return facts.TargetDiskRead(
        host=host,
        path=clean(told["path"]),
        device=clean(told["device"]),
        mount=clean(told["mount"]),
        fstype=clean(told["fstype"]),
        available_bytes=number(told["available_bytes"], dumb),
        inodes_free=number(told.get("inodes_free"), "not counted by this file system"),
        read_only=told["read_only"],
        writable=told.get("writable", Unknown(dumb)),
        is_dir=told.get("is_dir", Unknown(dumb)),
        is_ram=told["is_ram"],
        problem=clean(told["problem"]),
        quota_free_bytes=number(told.get("quota_free_bytes"), "no quota that can be read"),
    )


def progress_fact(host: str, job: str, repo: str, path: str, line: dict[str, Any]) -> Event | None:
    """Of one (cleaned) line of a download's or a verification's progress; None for a line that is no news."""
    phase = line.get("phase")
    if phase == "end":
        return _end_fact(host, job, repo, path, line)
    if phase not in _PHASES:
        return None
    moving = tuple(
        facts.InFlight(path=item["path"], bytes=item["bytes"], size_bytes=item["size"])
        for item in line.get("in_flight", ())
    )
    return facts.DownloadProgressed(
        host=host,
        job=clean(job),
        repo=clean(repo),
        path=clean(path),
        phase=cast(facts.Phase, phase),
        total_bytes=number(line.get("total_bytes")),
        present_bytes=number(line.get("present_bytes")),
        rate_bytes_s=number(line.get("rate_bytes_s"), "nothing moved yet"),
        eta_s=number(line.get("eta_s"), "nothing moves"),
        files=number(line.get("files")),
        files_ok=number(line.get("files_ok")),
        in_flight=moving,
        attempt=line.get("attempt", 1),
        xet=line.get("xet", True),
        state=clean(line.get("state", "")),
        wait_s=number(line.get("wait_s"), "not waiting"),
    )


def _end_fact(host: str, job: str, repo: str, path: str, line: dict[str, Any]) -> Event:
    base: dict[str, Any] = {"host": host, "repo": clean(repo), "path": clean(path)}
    if line["result"] == "failed":
        state, said = clean(line.get("state", "unknown")), clean(line.get("text", ""))
        return facts.DownloadFellShort(job=clean(job), state=state, text=said, **base)
    if "bad" not in line:
        return facts.DownloadFinished(job=clean(job), total_bytes=number(line.get("total_bytes")), **base)
    return facts.RepoVerified(
        commit=clean(line["commit"]),
        result=line["result"],
        files=line["files"],
        ok=line["ok"],
        bad=bad_files(line["bad"]),
        total_bytes=number(line.get("total_bytes")),
        present_bytes=number(line.get("present_bytes")),
        **base,
    )
