"""Facts of the Hub: token, access, manifests, what is stored on the box, downloads and proofs.

A token itself is never part of a fact. Sizes are bytes of files; a repository's hashes are those of one commit.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from console.events.base import HostEvent
from console.values import CleanText, Unknown

TokenState = Literal["absent", "empty", "malformed", "unproved", "rejected", "valid", "unreachable"]
Access = Literal[
    "ready", "local", "listing_only", "login_required", "request_needed", "request_pending", "request_rejected",
    "gated_other", "token_scope", "forbidden_other", "missing_or_private", "not_visible_to_user", "token_missing",
    "token_malformed", "token_invalid", "revision_missing", "file_missing", "disabled", "rate_limited", "hub_error",
    "offline_mode", "unreachable_dns", "unreachable_refused", "unreachable_proxy", "unreachable_tls",
    "unreachable_timeout", "unreachable_no_route", "endpoint_bad", "unknown",
]  # fmt: skip
Proof = Literal["none", "partial", "names_sizes", "sha256", "mismatch", "stale", "dummy"]
BadKind = Literal["missing", "truncated", "corrupt", "extra", "wrong_revision", "index_missing"]
Origin = Literal["box", "laptop"]
Phase = Literal["manifest", "downloading", "draining", "paused", "waiting", "verifying"]
Verification = Literal["ok", "mismatch", "incomplete"]


class TokenChecked(HostEvent, frozen=True, gc=False, kw_only=True):
    """The token of the box: `source` is `env:HF_TOKEN`, `file` …; `shape` says what is wrong with its form."""

    state: TokenState
    source: CleanText
    who: CleanText | Unknown
    role: CleanText | Unknown
    shape: CleanText = CleanText("")
    text: CleanText = CleanText("")
    endpoint: CleanText = CleanText("")
    path: CleanText = CleanText("")


class LibraryMissing(HostEvent, frozen=True, gc=False, kw_only=True):
    """The interpreter on the box has no huggingface_hub."""

    python: CleanText


class AccessChecked(HostEvent, frozen=True, gc=False, kw_only=True):
    """Whether the content of a repository answers. `probe` is the file whose HEAD proved it; `proxy` the variable
    that is set, `error` the class of an error that has no state of its own."""

    repo: CleanText
    revision: CleanText
    access: Access
    commit: CleanText | Unknown
    status: int | Unknown = Unknown("no answer")
    text: CleanText = CleanText("")
    error: CleanText = CleanText("")
    retry_after_s: float | Unknown = Unknown("not said")
    probe: CleanText = CleanText("")
    who: CleanText | Unknown = Unknown("no token")
    token_source: CleanText = CleanText("")
    endpoint: CleanText = CleanText("")
    proxy: CleanText = CleanText("")
    library: CleanText = CleanText("")
    origin: Origin = "box"


class ManifestFile(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """One file of a commit. LFS files have a sha256, small ones a git blob hash."""

    path: CleanText
    size_bytes: int | Unknown
    sha256: CleanText | Unknown
    git_sha1: CleanText | Unknown


class CodeFile(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A Python file of the repository, which a server would run with `trust-remote-code`."""

    path: CleanText
    sha256: CleanText | Unknown


class ManifestRead(HostEvent, frozen=True, gc=False, kw_only=True):
    """The selected files of a repository at one commit. `index_total_bytes` is what the index says of the tensors,
    `index_absent` the shards that it names and the commit does not have."""

    repo: CleanText
    revision: CleanText
    commit: CleanText
    files: tuple[ManifestFile, ...]
    index_total_bytes: int | Unknown = Unknown("no index")
    index_absent: tuple[CleanText, ...] = ()
    code: tuple[CodeFile, ...] = ()
    origin: Origin = "box"


class BadFile(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A file that is not what the manifest says. What was not compared is Unknown."""

    path: CleanText
    kind: BadKind
    expected_bytes: int | Unknown
    actual_bytes: int | Unknown
    expected_sha256: CleanText | Unknown
    actual_sha256: CleanText | Unknown


class Holder(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A process that has files of a model open."""

    pid: int
    command: CleanText


class StoredModel(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """One directory with a model. `orphan_bytes`: leftovers of killed downloads; `filtered`: only a part was wanted."""

    path: CleanText
    exists: bool
    repo: CleanText | Unknown
    commit: CleanText | Unknown
    device: CleanText
    size_bytes: int
    proof: Proof
    files: int | Unknown
    files_ok: int | Unknown
    total_bytes: int | Unknown
    present_bytes: int | Unknown
    proved_bytes: int | Unknown
    orphan_bytes: int
    orphans: int
    filtered: bool = False
    open_by: tuple[Holder, ...] = ()
    bad: tuple[BadFile, ...] = ()


class InventoryRead(HostEvent, frozen=True, gc=False, kw_only=True):
    """The models under the directories that the console knows of this box."""

    models: tuple[StoredModel, ...] | Unknown


class StoredRead(HostEvent, frozen=True, gc=False, kw_only=True):
    """What is at the place where a repository shall lie."""

    repo: CleanText
    model: StoredModel


class TargetDiskRead(HostEvent, frozen=True, gc=False, kw_only=True):
    """The file system that a path is, or would be, on. `problem`: hang, stale, or an errno; `inodes_free` is Unknown
    where they are not counted, `quota_free_bytes` where no quota can be read."""

    path: CleanText
    device: CleanText
    mount: CleanText
    fstype: CleanText
    available_bytes: int | Unknown
    inodes_free: int | Unknown
    read_only: bool
    writable: bool | Unknown
    is_dir: bool | Unknown
    is_ram: bool
    problem: CleanText = CleanText("")
    quota_free_bytes: int | Unknown = Unknown("not read")


class InFlight(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A file that is being written."""

    path: CleanText
    bytes: int
    size_bytes: int


class DownloadProgressed(HostEvent, frozen=True, gc=False, kw_only=True):
    """Bytes of the manifest that are on the box's disk, or hashed so far while `verifying`."""

    job: CleanText
    repo: CleanText
    path: CleanText
    phase: Phase
    total_bytes: int | Unknown
    present_bytes: int | Unknown
    rate_bytes_s: float | Unknown
    eta_s: float | Unknown
    files: int | Unknown
    files_ok: int | Unknown
    in_flight: tuple[InFlight, ...] = ()
    attempt: int = 1
    xet: bool = True
    state: CleanText = CleanText("")
    wait_s: float | Unknown = Unknown("not waiting")


class DownloadFinished(HostEvent, frozen=True, gc=False, kw_only=True):
    """Every byte is there: names and sizes of the manifest. Hashes are another fact."""

    job: CleanText
    repo: CleanText
    path: CleanText
    total_bytes: int | Unknown


class DownloadFellShort(HostEvent, frozen=True, gc=False, kw_only=True):
    """The job ended without the files. `state` is an access state, or `disk_full`, `stalled`, `sizes_unknown` …"""

    job: CleanText
    repo: CleanText
    path: CleanText
    state: CleanText
    text: CleanText


class RepoVerified(HostEvent, frozen=True, gc=False, kw_only=True):
    """What the hashes on the box say of a repository; `ok` counts proved files."""

    repo: CleanText
    commit: CleanText
    path: CleanText
    result: Verification
    files: int
    ok: int
    bad: tuple[BadFile, ...]
    total_bytes: int | Unknown
    present_bytes: int | Unknown


class ModelRemoved(HostEvent, frozen=True, gc=False, kw_only=True):
    """A stored model was deleted, on the user's word."""

    path: CleanText
    size_bytes: int


EVENTS = (
    TokenChecked,
    LibraryMissing,
    AccessChecked,
    ManifestRead,
    InventoryRead,
    StoredRead,
    TargetDiskRead,
    DownloadProgressed,
    DownloadFinished,
    DownloadFellShort,
    RepoVerified,
    ModelRemoved,
)
