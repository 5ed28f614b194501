"""A Hugging Face Hub on loopback: the real protocol, two origins, and everything that can go wrong with it.

`FakeHub` is a context manager. Its attributes may be changed while clients talk to it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from types import TracebackType

from console.demo.hub import api, data
from console.demo.hub.content import Content, safetensors, text
from console.demo.hub.faults import Faults
from console.demo.hub.repos import Repo, Standing, User, model_files
from console.demo.hub.wire import Answer, HubError, Origin, Request

__all__ = ["Content", "FakeHub", "Faults", "Repo", "Standing", "User", "model_files", "safetensors", "text"]


class FakeHub:
    """`endpoint` is what `HF_ENDPOINT` must be; `tokens` maps a token to its owner, None says that it is expired."""

    def __init__(self, tokens: dict[str, User | None] | None = None) -> None:
        self.tokens: dict[str, User | None] = tokens or {}
        self.repos: dict[str, Repo] = {}
        self.faults = Faults()
        self.xet = False
        self.page = 1000
        self.requests: list[tuple[str, str, int]] = []
        self._lock = threading.Lock()
        self._by_sha256: dict[str, Content] = {}
        # Two host names, because one client generation tells origins apart by the name alone.
        self._hub = Origin("127.0.0.1", self.faults, lambda request: self._answer(request, api.respond))
        self._data = Origin("localhost", self.faults, lambda request: self._answer(request, data.respond))
        self.endpoint, self.data_url = self._hub.url, self._data.url

    def __enter__(self) -> FakeHub:
        for origin in (self._hub, self._data):
            threading.Thread(target=origin.serve, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.faults.hang = False
        self._hub.close()
        self._data.close()

    def add(self, repo_id: str, files: dict[str, Content], **fields: object) -> Repo:
        """A repository with one commit on `main`; `fields` are those of Repo."""
        repo = Repo(repo_id, **fields)  # type: ignore[arg-type]
        repo.commit(files)
        self.repos[repo_id] = repo
        return repo

    def user_of(self, authorization: str | None) -> User | None:
        """Who sent the header; raises the 401 that a wrong or expired token gets everywhere."""
        if authorization is None:
            return None
        token = authorization.removeprefix("Bearer ")
        if token not in self.tokens:
            raise HubError(401, "Invalid credentials in Authorization header")
        user = self.tokens[token]
        if user is None:
            raise HubError(401, 'User Access Token "console" is expired')
        return user

    def content_by_sha256(self, sha: str) -> Content | None:
        """The file that has this hash, in any repository."""
        with self._lock:
            if sha not in self._by_sha256:
                every = (
                    content
                    for repo in self.repos.values()
                    for tree in repo.commits.values()
                    for content in tree.values()
                )
                self._by_sha256 = {content.sha256: content for content in every}
            return self._by_sha256.get(sha)

    def _answer(self, request: Request, respond: Callable[[FakeHub, Request], Answer]) -> Answer:
        status = 500
        try:
            if self.faults.delay_s:
                time.sleep(self.faults.delay_s)
            self._raise_status_fault(request)
            answer = respond(self, request)
            status = answer.status
            return answer
        except HubError as error:
            status = error.status
            raise
        finally:
            self.requests.append((request.method, request.path, status))

    def _raise_status_fault(self, request: Request) -> None:
        with self._lock:
            faults = self.faults
            if not faults.status or faults.status_left <= 0 or not faults.hits(request.path):
                return
            faults.status_left -= 1
        raise HubError(faults.status, faults.status_text, headers=dict(faults.status_headers))
