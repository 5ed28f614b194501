"""The download job: `snapshot_download` in a child, watched from outside until every byte of the manifest is there.

The parent never imports the library. A child that ends, stalls or is refused is judged by what is on the disk.
While the file `pause` is in the job's directory, the files in flight are finished and none is started.
"""

from __future__ import annotations

import errno
import json
import logging
import os
import select
import shutil
import signal
import time
from typing import Any

from . import child, manifest, proof, verify
from .classify import RETURNED_EARLY
from .client import Client, NoLibraryError
from .outcome import from_error
from .progress import LIBRARY_FOLDER, Activity, Counter, Rate, Reporter

STALL_S = 60.0
BACKOFF_S = 2.0
LONGEST_BACKOFF_S = 60.0
TRIES = 6
TICK_S = 1.0
PAUSE_TICK_S = 0.25
MANIFEST_S = 300.0
NO_STALL_S = 5.0  # times the stall limit: without growth on the disk, traffic alone does not count as life
_WORTH_A_RETRY = ("rate_limited", "hub_error", "unknown")
_LOCAL = {
    "ENOSPC": "disk_full",
    "EDQUOT": "disk_full",
    "EROFS": "read_only",
    "EACCES": "not_writable",
    "EPERM": "not_writable",
}


class Download:
    """One run in its job's directory. `config`: `repo, revision, commit?, files?, path, include, exclude, env`, and
    `verify`: hash everything at the end (default)."""

    def __init__(self, config: dict[str, Any]) -> None:
        self.config, self.root = config, os.path.abspath(os.path.expanduser(config["path"]))
        self.report = Reporter()
        self.stall_s = float(config.get("stall_s", STALL_S))
        self.backoff_s = float(config.get("backoff_s", BACKOFF_S))
        self.started = time.time()
        self.xet = True
        self.attempt = 0
        self.rate = Rate()
        self.proof: dict[str, Any] = {}
        self.counter = Counter(self.root, {}, self.started)

    def run(self) -> int:
        """0 done, 7 the bytes are there and wrong, 1 everything else; the last line of the progress says what."""
        read = self._manifest()
        if read is None:
            return 1
        try:
            self._prepare(read)
        except OSError as error:
            return self._fail({"state": _local_state(error), "text": str(error)})
        self.counter = Counter(self.root, self.proof["files"], self.started - 2.0)
        if not self._attempts():
            return 1
        if not self.config.get("verify", True):
            return self._end("ok", **self.counter.read())
        return verify.Verify(dict(self.config, commit=self.proof["commit"])).run()

    def _manifest(self) -> dict[str, Any] | None:
        """The files at the pinned commit: given, or asked in a child; None after a failure that was reported."""
        given = {key: self.config.get(key) for key in ("repo", "commit", "files")}
        if given["commit"] and given["files"]:
            return self._sized(given)
        request = dict(self.config, facts=False, revision=self.config.get("commit") or self.config.get("revision"))
        for tries in range(TRIES):
            self.report.line(phase="manifest", attempt=tries + 1)
            answer, problem = child.answered(lambda: read_manifest(request), MANIFEST_S)
            if problem or "error" in answer:
                self._fail({"state": problem or answer["error"], "text": (answer or {}).get("text", "")})
                return None
            access = answer["access"]
            if access["state"] == "ready" and answer["files"]:
                return self._sized(answer)
            if access["state"] == "ready":
                self._fail({"state": "nothing_matched", "text": ""})
                return None
            if not _retryable(access["state"]):
                break
            self._wait(tries, access)
        self._fail(access)
        return None

    def _sized(self, answer: dict[str, Any]) -> dict[str, Any] | None:
        unknown = [file["path"] for file in answer["files"] if file["size"] is None]
        if not unknown:
            return answer
        self._fail({"state": "sizes_unknown", "text": f"{len(unknown)} files, first {unknown[0]}"})
        return None

    def _prepare(self, read: dict[str, Any]) -> None:
        """Removes what the library would take for complete although it is not: it looks at dates, never at sizes."""
        os.makedirs(self.root, exist_ok=True)
        before = proof.read(self.root)
        wanted = dict(read, **{key: self.config.get(key) for key in ("revision", "include", "exclude")})
        self.proof = proof.begin(wanted, before)
        bad = {item["path"] for item in self.proof["bad"]}
        for path, entry in self.proof["files"].items():
            now = proof.seal(self.root, path)
            if path in bad or (now is not None and now["size"] != entry["size"]):
                forget(self.root, path)
                entry["proved"] = None
        self.proof["bad"] = []
        proof.write(self.root, self.proof)

    def _attempts(self) -> bool:
        """Runs children until names and sizes are those of the manifest; False after a failure that was reported."""
        tries = 0
        while True:
            before = self.counter.read()
            if before["files_ok"] == len(self.proof["files"]):
                return True
            self._sleep_while_paused()
            self.attempt += 1
            ended = self._one_child(before)
            after = self.counter.read()
            if ended is None and after["files_ok"] == len(self.proof["files"]):
                return True
            if ended and ended["state"] == "drained":
                continue
            tries = 1 if after["files_ok"] > before["files_ok"] else tries + 1
            refusal = ended or {"state": "fell_short", "text": "the library ended without every file"}
            if refusal["state"] == "xet_failed" or (refusal["state"] == "stalled" and tries > 1):
                self.xet = False
            if tries >= TRIES or not _retryable(refusal["state"]):
                self._fail(refusal)
                return False
            self._wait(tries - 1, refusal)

    def _wait(self, tries: int, refusal: dict[str, Any]) -> None:
        seconds = refusal.get("retry_after_s") or min(LONGEST_BACKOFF_S, self.backoff_s * 2**tries)
        self.report.line(phase="waiting", wait_s=seconds, state=refusal["state"], text=refusal.get("text", ""))
        time.sleep(seconds)

    def _sleep_while_paused(self) -> None:
        if self.report.paused():
            self._tick("paused")
        while self.report.paused():
            time.sleep(PAUSE_TICK_S)

    def _one_child(self, before: dict[str, Any]) -> dict[str, Any] | None:
        """Watches one child to its end. None when the library returned, else the refusal."""
        pid, pipe = child.start(self._child)
        endpoint = str(self.config.get("env", {}).get("HF_ENDPOINT") or os.environ.get("HF_ENDPOINT", ""))
        activity = Activity("//127.0.0.1" in endpoint or "//localhost" in endpoint, self.stall_s / 6.0)
        told, data, complete = False, b"", False
        while not complete:
            ready, _, _ = select.select([pipe], [], [], TICK_S)
            if ready:
                chunk = os.read(pipe, 65536)
                data, complete = data + chunk, not chunk
                continue
            now = self._tick("draining" if told else "downloading")
            activity.update(now["present_bytes"], pid)
            if not told and self.report.paused():
                told = True
                os.kill(pid, signal.SIGINT)  # the library lets files in flight run to their end
                self._tick("draining")
            if self._stalled(activity):
                self._kill(pid)
                os.close(pipe)
                return {"state": "stalled", "text": f"nothing moved for {self.stall_s:.0f} s"}
        os.close(pipe)
        _, status = os.waitpid(pid, 0)
        self._tick("downloading")
        return _judge(data, status)

    def _stalled(self, activity: Activity) -> bool:
        now = time.monotonic()
        return now - activity.moved > self.stall_s or now - activity.grew > self.stall_s * NO_STALL_S

    def _kill(self, pid: int) -> None:
        """Ends the child, and removes exactly the temporary files that it had open: nobody can use them again."""
        held = [path for path in _open_files(pid) if path.endswith(".incomplete")]
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        for path in held:
            if os.path.exists(path) and len(os.path.basename(path).split(".")) > 3:
                os.unlink(path)

    def _tick(self, phase: str) -> dict[str, Any]:
        now = self.counter.read()
        self.rate.update(time.monotonic(), now["present_bytes"])
        rest = self.counter.total - now["present_bytes"]
        self.report.line(
            phase=phase,
            total_bytes=self.counter.total,
            files=len(self.proof["files"]),
            rate_bytes_s=self.rate.bytes_s,
            eta_s=self.rate.eta_s(rest),
            attempt=self.attempt,
            xet=self.xet,
            commit=self.proof["commit"],
            **now,
        )
        return now

    def _child(self) -> dict[str, Any]:
        """In the child: one call of the library, its end as data."""
        if not self.xet:
            os.environ["HF_HUB_DISABLE_XET"] = "1"
        os.environ["HF_XET_CHUNK_CACHE_SIZE_BYTES"] = "0"  # of no use here, and some builds keep 10 GB of it
        client = Client(self.config.get("env") or {})
        log = _LogText()
        logging.getLogger("huggingface_hub").addHandler(log)
        filtered = bool(self.config.get("include") or self.config.get("exclude"))
        only = [glob_exact(path) for path in self.proof["files"]] if filtered else None
        try:
            client.library.snapshot_download(
                self.config["repo"], revision=self.proof["commit"], local_dir=self.root, allow_patterns=only
            )
        except KeyboardInterrupt:
            return {"state": "drained", "text": ""}
        except NoLibraryError as error:
            return {"state": "no_library", "text": str(error)}
        except Exception as error:
            return _refusal(client, error)
        early = RETURNED_EARLY in log.text
        return client.refusal(RuntimeError(), log.text) if early else {"state": "returned", "text": ""}

    def _fail(self, refusal: dict[str, Any]) -> int:
        extra = {key: refusal.get(key) for key in ("status", "retry_after_s")}
        return self._end("failed", state=refusal["state"], text=refusal.get("text", ""), **extra)

    def _end(self, result: str, **fields: Any) -> int:
        total = self.counter.total if self.proof else None
        self.report.line(
            phase="end", result=result, repo=self.config["repo"], path=self.root, total_bytes=total, **fields
        )
        return 0 if result == "ok" else 1


class _LogText(logging.Handler):
    """Keeps what the library logs: it says there that it returned without asking the Hub."""

    text = ""

    def emit(self, record: logging.LogRecord) -> None:
        self.text += record.getMessage() + "\n"


def read_manifest(request: dict[str, Any]) -> dict[str, Any]:
    """In a child: the repository's answer, or `{"error": "no_library", "text": …}`."""
    try:
        return manifest.read_repo(Client(request.get("env") or {}), request)
    except NoLibraryError as error:
        return {"error": "no_library", "text": str(error)}


def forget(root: str, path: str) -> None:
    """Removes a file and what the library noted about it, so that it is fetched again."""
    for victim in (os.path.join(root, path), os.path.join(root, LIBRARY_FOLDER, path + ".metadata")):
        if os.path.isdir(victim) and not os.path.islink(victim):
            shutil.rmtree(victim)
        elif os.path.lexists(victim):
            os.unlink(victim)


def glob_exact(path: str) -> str:
    """A pattern that matches this path alone."""
    return "".join(f"[{char}]" if char in "*?[" else char for char in path)


def _judge(data: bytes, status: int) -> dict[str, Any] | None:
    if not data:
        killed = os.WIFSIGNALED(status) and os.WTERMSIG(status)
        return {
            "state": "killed",
            "text": f"the library's process ended by signal {killed}" if killed else "it ended early",
        }
    result = json.loads(data)
    if "error" in result:
        return {"state": _LOCAL.get(result["error"], "io_error"), "text": result["error"]}
    return None if result["ok"]["state"] == "returned" else dict(result["ok"])


def _refusal(client: Client, error: Exception) -> dict[str, Any]:
    """The access state, or the local one, or the Xet store's, that ended the library's call."""
    outcome = from_error(error, client.secrets)
    members = [outcome["exception"], *outcome["causes"]]
    errnos = [member["errno"] for member in members if member.get("errno")]
    for number in errnos:
        name = errno.errorcode.get(number, "")
        if name in _LOCAL:
            return {"state": _LOCAL[name], "text": members[0]["message"]}
    if any("CAS Client" in str(member["message"]) or "Task error" in str(member["message"]) for member in members):
        return {"state": "xet_failed", "text": members[0]["message"]}
    return client.refusal(error)


def _local_state(error: OSError) -> str:
    occupied = error.errno in (errno.EEXIST, errno.ENOTDIR)
    return _LOCAL.get(errno.errorcode.get(error.errno or 0, ""), "not_a_directory" if occupied else "io_error")


def _retryable(state: str) -> bool:
    again = ("stalled", "fell_short", "xet_failed", "killed")
    return state in again or state in _WORTH_A_RETRY or state.startswith("unreachable_")


def _open_files(pid: int) -> list[str]:
    found = []
    try:
        for name in os.listdir(f"/proc/{pid}/fd"):
            found.append(os.readlink(f"/proc/{pid}/fd/{name}"))
    except OSError:
        pass
    return found
