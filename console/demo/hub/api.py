"""The Hub's own origin: metadata, access, and where the bytes are."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, quote

from console.demo.hub.content import Content
from console.demo.hub.page import page
from console.demo.hub.repos import Repo, User, is_lfs
from console.demo.hub.wire import Answer, HubError, Request, byte_range, json_answer

if TYPE_CHECKING:
    from console.demo.hub import FakeHub

DATE = "2026-01-01T00:00:00.000Z"
NOT_FOUND = HubError(404, "Repository not found", "RepoNotFound")
_REPO = r"/api/models/(?P<id>[^/]+/[^/]+)"
_INFO = re.compile(_REPO + r"(?:/revision/(?P<rev>.+))?")
_TREE = re.compile(_REPO + r"/tree/(?P<rev>[^/]+)")
_PATHS = re.compile(_REPO + r"/paths-info/(?P<rev>[^/]+)")
_AUTH = re.compile(_REPO + r"/auth-check")
_XET = re.compile(_REPO + r"/xet-read-token/(?P<rev>[^/]+)")
_RESOLVE = re.compile(r"/(?P<id>[^/]+/[^/]+)/resolve/(?P<rev>[^/]+)/(?P<path>.+)")
_PAGE = re.compile(r"/(?P<id>(?!api/)[^/]+/[^/]+)")


def respond(hub: FakeHub, request: Request) -> Answer:
    """The answer to one request, or a HubError."""
    user = hub.user_of(request.headers.get("authorization"))
    if request.path == "/api/whoami-v2":
        return _whoami(user)
    for pattern, handler in _ROUTES:
        match = pattern.fullmatch(request.path)
        if match:
            repo = hub.repos.get(match["id"])
            _check_visible(repo, user)
            assert repo is not None
            return handler(hub, request, repo, user, match)
    raise HubError(404, "no such route")


def _whoami(user: User | None) -> Answer:
    if user is None:
        raise HubError(401, "Invalid username or password.")
    access = {"displayName": "console", "role": user.role, "createdAt": DATE}
    if user.role == "fineGrained":
        access["fineGrained"] = {"canReadGatedRepos": user.reads_gated, "global": [], "scoped": []}  # type: ignore[assignment]
    auth = {"type": "access_token", "accessToken": access}
    return json_answer({"type": "user", "id": "0", "name": user.name, "fullname": user.name, "orgs": [], "auth": auth})


def _check_visible(repo: Repo | None, user: User | None) -> None:
    hidden = repo is None or (repo.private_to is not None and (user is None or user.name not in repo.private_to))
    if hidden and user is None:
        # The client reads a missing repository out of a bare 401 over https only; this code has the same effect.
        raise HubError(401, "Invalid username or password.", "RepoNotFound")
    if hidden:
        raise NOT_FOUND


def _check_content(hub: FakeHub, repo: Repo, user: User | None) -> None:
    if repo.disabled:
        raise HubError(403, "Access to this resource is disabled.")
    if not repo.gate:
        return
    name = f"model {repo.id}"
    if user is None:
        text = "You must have access to it and be authenticated to access it. Please log in."
        raise HubError(401, f"Access to {name} is restricted. {text}", "GatedRepo")
    if not user.reads_gated:
        where = "your fine-grained token settings to view this repository."
        raise HubError(403, f"Please enable access to public gated repositories in {where}")
    standing = repo.standings.get(user.name)
    if standing == "pending":
        raise HubError(403, f"Your request to access {name} is awaiting a review from the repo authors.", "GatedRepo")
    if standing == "rejected":
        raise HubError(403, f"Your request to access {name} has been rejected by the repo's authors.", "GatedRepo")
    if standing != "accepted":
        text = f"Visit {hub.endpoint}/{repo.id} to ask for access."
        raise HubError(
            403, f"Access to {name} is restricted and you are not in the authorized list. {text}", "GatedRepo"
        )


def _commit(repo: Repo, revision: str) -> str:
    sha = repo.resolve(revision)
    if sha is None:
        raise HubError(404, f"Invalid rev id: {revision}", "RevisionNotFound")
    return sha


def _info(hub: FakeHub, request: Request, repo: Repo, user: User | None, match: re.Match[str]) -> Answer:
    sha = _commit(repo, match["rev"] or "main")
    blobs = request.query.get("blobs", [""])[0].lower() == "true"
    siblings: list[dict[str, Any]] = []
    for path, content in sorted(repo.commits[sha].items()):
        sibling: dict[str, Any] = {"rfilename": path}
        if blobs and not hub.faults.no_sizes:
            sibling |= {"size": content.size, "blobId": content.git_sha1}
            if is_lfs(path):
                sibling["lfs"] = {"sha256": content.sha256, "size": content.size, "pointerSize": 135}
        siblings.append(sibling)
    return json_answer(
        {
            "_id": "0", "id": repo.id, "modelId": repo.id, "sha": sha, "siblings": siblings,
            "gated": repo.gate or False, "private": repo.private_to is not None, "disabled": repo.disabled,
            "tags": [], "downloads": 0, "likes": 0,
            "createdAt": DATE, "lastModified": DATE,
        }
    )  # fmt: skip


def _entry(hub: FakeHub, path: str, content: Content) -> dict[str, Any]:
    size = None if hub.faults.no_sizes and is_lfs(path) else content.size
    entry: dict[str, Any] = {"type": "file", "oid": _blob_id(path, content), "size": size, "path": path}
    if is_lfs(path):
        entry["lfs"] = {"oid": content.sha256, "size": size, "pointerSize": 135}
        if hub.xet:
            entry["xetHash"] = content.sha256
    return entry


def _blob_id(path: str, content: Content) -> str:
    """Of an LFS file the Hub gives the id of its pointer; any stable 40 digits do."""
    return content.sha256[:40] if is_lfs(path) else content.git_sha1


def _tree(hub: FakeHub, request: Request, repo: Repo, user: User | None, match: re.Match[str]) -> Answer:
    sha = _commit(repo, match["rev"])
    files = sorted(repo.commits[sha].items())
    folders = sorted({path.rpartition("/")[0] for path, _ in files if "/" in path})
    entries = [{"type": "directory", "oid": "0" * 40, "size": 0, "path": path} for path in folders]
    entries += [_entry(hub, path, content) for path, content in files]
    start = int(request.query.get("cursor", ["0"])[0])
    headers = {}
    if start + hub.page < len(entries):
        link = f"{request.base}{quote(request.path)}?recursive=True&expand=False&cursor={start + hub.page}"
        headers["Link"] = f'<{link}>; rel="next"'
    return json_answer(entries[start : start + hub.page], headers)


def _paths_info(hub: FakeHub, request: Request, repo: Repo, user: User | None, match: re.Match[str]) -> Answer:
    files = repo.commits[_commit(repo, match["rev"])]
    wanted = parse_qs(request.body.decode()).get("paths", [])
    return json_answer([_entry(hub, path, files[path]) for path in wanted if path in files])


def _auth_check(hub: FakeHub, request: Request, repo: Repo, user: User | None, match: re.Match[str]) -> Answer:
    _check_content(hub, repo, user)
    return Answer(200, {"Content-Type": "text/plain"}, b"OK")


def _xet_token(hub: FakeHub, request: Request, repo: Repo, user: User | None, match: re.Match[str]) -> Answer:
    _check_content(hub, repo, user)
    headers = {"X-Xet-Cas-Url": hub.data_url, "X-Xet-Access-Token": "cas", "X-Xet-Token-Expiration": "4102444800"}
    return Answer(200, headers, b"")


def _resolve(hub: FakeHub, request: Request, repo: Repo, user: User | None, match: re.Match[str]) -> Answer:
    _check_content(hub, repo, user)
    sha, path = _commit(repo, match["rev"]), match["path"]
    content = repo.commits[sha].get(path)
    if content is None:
        raise HubError(404, "Entry not found", "EntryNotFound")
    headers = {} if hub.faults.no_commit_header else {"X-Repo-Commit": sha}
    headers["Accept-Ranges"] = "bytes"
    if not is_lfs(path):
        headers["ETag"] = f'"{content.git_sha1}"'
        return content_answer(request, content, headers)
    headers |= {
        "X-Linked-ETag": f'"{content.sha256}"',
        "Location": f"{hub.data_url}/lfs/{content.sha256}/{quote(path)}",
    }
    if not hub.faults.no_sizes:
        headers["X-Linked-Size"] = str(content.size)
    if hub.xet:
        headers["X-Xet-Hash"] = content.sha256
        headers["Link"] = f'<{hub.endpoint}/api/models/{repo.id}/xet-read-token/{sha}>; rel="xet-auth"'
    return Answer(302, headers, b"")


def _page(hub: FakeHub, request: Request, repo: Repo, user: User | None, match: re.Match[str]) -> Answer:
    return page(repo, [owner for owner in hub.tokens.values() if owner], accepting=request.method == "POST")


def content_answer(request: Request, content: Content, headers: dict[str, str]) -> Answer:
    """The bytes of a content, or the range that was asked of it."""
    if content.announced and request.method != "HEAD":
        raise HubError(503, "only announced")
    part = byte_range(request.headers.get("range"), content.size)
    if part is None:
        return Answer(200, headers, content=content, count=content.size)
    start, count = part
    ranged = {"Content-Range": f"bytes {start}-{start + count - 1}/{content.size}"}
    return Answer(206, headers | ranged, content=content, start=start, count=count)


_ROUTES = (
    (_AUTH, _auth_check),
    (_TREE, _tree),
    (_PATHS, _paths_info),
    (_XET, _xet_token),
    (_RESOLVE, _resolve),
    (_INFO, _info),
    (_PAGE, _page),
)
