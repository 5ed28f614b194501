"""The box's own `huggingface_hub`, called with a deadline, with its errors as data."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import sys
from typing import Any, Callable, Iterator

from . import token as tokens
from .classify import classify
from .outcome import from_error

CALL_S = 20.0
MOST_BYTES = 4 << 30
_PROXIES = ("HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy")


class NoLibraryError(Exception):
    """The interpreter has no huggingface_hub."""

    def __init__(self) -> None:
        super().__init__(f"{sys.executable} has no huggingface_hub")


@contextlib.contextmanager
def deadline(seconds: float) -> Iterator[None]:
    """Raises TimeoutError in the main thread: the library's metadata calls have no limit of their own."""

    def late(*_: object) -> None:
        raise TimeoutError(f"timed out after {seconds:.0f} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@contextlib.contextmanager
def little_memory() -> Iterator[None]:
    """Raises MemoryError instead of taking the box's memory: the library reads whatever a Hub sends as a whole."""
    before, most = resource.getrlimit(resource.RLIMIT_DATA)
    limits = [one for one in (before, most, MOST_BYTES) if one != resource.RLIM_INFINITY]
    resource.setrlimit(resource.RLIMIT_DATA, (min(limits), most))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (before, most))


class Client:
    """One process's view of the Hub. The environment must be complete before the library is first used."""

    def __init__(self, env: dict[str, str]) -> None:
        os.environ.update(env)
        os.environ["HF_HUB_DISABLE_TELEMETRY"] = "1"
        os.environ["HF_HUB_DISABLE_PROGRESS_BARS"] = "1"
        self.token_path = tokens.path(os.environ)
        self.token = tokens.choose(os.environ, tokens.read(self.token_path))
        implicit = os.environ.get("HF_HUB_DISABLE_IMPLICIT_TOKEN", "").upper() not in ("1", "ON", "YES", "TRUE")
        self.sent = {"sent": bool(self.token["token"]) and implicit, "length": len(self.token["token"])}
        self.proxy = next((name for name in _PROXIES if os.environ.get(name)), "")
        self.secrets: list[str] = [self.token["token"], *(os.environ.get(name, "") for name in tokens.VARIABLES)]

    @property
    def library(self) -> Any:
        """The imported package; raises NoLibraryError without it."""
        try:
            import huggingface_hub
        except ImportError:
            raise NoLibraryError from None
        return huggingface_hub

    @property
    def endpoint(self) -> str:
        """The Hub that is asked."""
        return os.environ.get("HF_ENDPOINT", "https://huggingface.co").rstrip("/")

    def call(self, function: Callable[..., Any], *args: Any, **options: Any) -> tuple[Any, dict[str, Any] | None]:
        """The function's answer and None, or None and the classified refusal."""
        try:
            with deadline(CALL_S), little_memory():
                return function(*args, **options), None
        except NoLibraryError:
            raise
        except Exception as error:
            return None, self.refusal(error)

    def refusal(self, error: BaseException, log: str = "") -> dict[str, Any]:
        """The state that an error stands for."""
        outcome = {"log": log} if log else from_error(error, self.secrets)
        return classify(outcome, self.sent, bool(self.proxy), "")

    def token_facts(self, token: str | None = None) -> dict[str, Any]:
        """State, source and owner of the token that is used (or of `token`), proved by one call. Never the token."""
        choice = self.token
        if token is not None:
            choice = {"token": token, "source": "argument", "state": "unproved", "shape": tokens.problem(token)}
            self.secrets.append(token)
        facts = {
            "source": choice["source"],
            "state": choice["state"],
            "shape": choice["shape"],
            "path": self.token_path,
        }
        facts.update({"who": None, "role": None, "reads_gated": None, "text": "", "endpoint": self.endpoint})
        if not choice["token"]:
            return facts
        try:
            answer, refusal = self.call(self.library.HfApi().whoami, token=choice["token"])
        except NoLibraryError:
            facts["text"] = "no huggingface_hub"
            return facts
        facts["state"] = tokens.after_whoami(choice, answer, refusal)
        if answer is not None:
            access = (answer.get("auth") or {}).get("accessToken") or {}
            facts.update({"who": answer.get("name"), "role": access.get("role")})
            facts["reads_gated"] = (access.get("fineGrained") or {}).get("canReadGatedRepos")
        elif refusal:
            facts["text"] = refusal["text"]
        return facts
