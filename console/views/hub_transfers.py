"""Downloads and verifications as rows, sentences and data."""

from __future__ import annotations

from typing import Any, NamedTuple

from console.events import hub as facts
from console.gates.disk import fill
from console.state import HostState
from console.state.hub import Repo
from console.values import Unknown, format_duration, format_gb, format_rate, known

STALLED_S = 60.0
VERIFY_SCHEMA = "gpudeck.verify/1"


_PHASE_WORDS = {"downloading": "fetching"}


class TransferRow(NamedTuple):
    """A repository or a file on its way; `ratio` None is unknown."""

    name: str
    kind: str
    word: str
    ratio: float | None
    amount: str
    rate: str
    left: str


def transfer_rows(host: HostState) -> list[TransferRow]:
    """Each running transfer, then its files in flight."""
    rows = []
    for repo in host.hub.repos.values():
        told = repo.download
        if told is None:
            continue
        kind = "warn" if told.phase in ("waiting", "paused") else "busy"
        known_sizes = known(told.present_bytes) and known(told.total_bytes) and told.total_bytes > 0
        ratio = told.present_bytes / told.total_bytes if known_sizes else None
        amount = _amount(told.present_bytes, told.total_bytes)
        rate = format_rate(told.rate_bytes_s) if known(told.rate_bytes_s) else ""
        full = full_sentence(host, told)
        left = full or (format_duration(told.eta_s) if known(told.eta_s) else "")
        kind = "fail" if full else kind
        rows.append(TransferRow(repo.id, kind, _PHASE_WORDS.get(told.phase, told.phase), ratio, amount, rate, left))
        for item in told.in_flight:
            part = item.bytes / item.size_bytes if item.size_bytes else None
            amount = _amount(item.bytes, item.size_bytes)
            rows.append(TransferRow(f"  {item.path}", "busy", "in flight", part, amount, "", ""))
    return rows


def full_sentence(host: HostState, told: facts.DownloadProgressed) -> str:
    """`full in 14 min` when the disk fills before the download ends, at its present rate; else nothing."""
    disks = host.hardware.disks
    above = [disk for disk in disks if _holds(disk.mount, told.path)] if known(disks) else []
    available = max(above, key=lambda disk: len(disk.mount)).available_bytes if above else Unknown("no such mount")
    rate, total, present = told.rate_bytes_s, told.total_bytes, told.present_bytes
    if told.phase != "downloading" or not (known(available) and known(rate) and known(total) and known(present)):
        return ""
    if rate <= 0 or not (ends := fill(available, rate, total - present)).full_before_done:
        return ""
    return f"full in {format_duration(ends.seconds_to_full)}"


def stalled_sentence(repo: Repo, now: float) -> str:
    """A download that does not grow, or waits; empty for one that does."""
    told = repo.download
    if told is None:
        return ""
    if told.phase == "waiting":
        return download_sentence(told)
    still = now - repo.moved_t
    if told.phase != "downloading" or still < STALLED_S:
        return ""
    return f"{told.repo}: no byte for {format_duration(still)}, {_amount(told.present_bytes, told.total_bytes)}"


def _holds(mount: str, path: str) -> bool:
    return mount == "/" or f"{path}/".startswith(f"{mount}/")


def _amount(present: int | Unknown, total: int | Unknown) -> str:
    """Both in the unit of the total: `381.3/595.1 GB`."""
    number, unit = format_gb(total).rsplit(" ", 1) if known(total) else ("?", "")
    if not known(present) or not known(total):
        return f"{format_gb(present)} of {number}{unit}"
    return f"{present / total * float(number) if total else 0.0:.1f}/{number} {unit}"


def download_sentence(told: facts.DownloadProgressed) -> str:
    """One line of a transfer: how much, how fast, how long."""
    if told.phase == "manifest":
        return f"{told.repo}: asking for the files"
    if told.phase == "waiting":
        return f"{told.repo}: {told.state.replace('_', ' ')}, again in {format_duration(told.wait_s)}"
    verb = {"downloading": "downloaded", "verifying": "hashed"}.get(told.phase, told.phase)
    amount = f"{format_gb(told.present_bytes)} of {format_gb(told.total_bytes)}"
    files = f", {told.files_ok}/{told.files} files" if known(told.files_ok) else ""
    flying = f", {len(told.in_flight)} in flight" if told.in_flight else ""
    rate = f", {format_rate(told.rate_bytes_s)}" if known(told.rate_bytes_s) else ""
    left = f", {format_duration(told.eta_s)} left" if known(told.eta_s) and told.eta_s > 0 else ""
    return f"{told.repo}: {verb} {amount}{files}{flying}{rate}{left}"


def drain_sentence(told: facts.DownloadProgressed) -> str:
    """What a pause waits for, and what a cancel throws away: the library keeps whole files only."""
    lost = sum(item.bytes for item in told.in_flight)
    rest = sum(item.size_bytes - item.bytes for item in told.in_flight)
    wait = rest / told.rate_bytes_s if known(told.rate_bytes_s) and told.rate_bytes_s > 0 else Unknown("nothing moves")
    return (
        f"{len(told.in_flight)} files in flight: a pause finishes them in {format_duration(wait)}, "
        f"a stop throws away {format_gb(lost)}."
    )


def drains(host: HostState, job_id: str) -> str:
    """What a pause of a download waits for; empty for another job."""
    mine = [repo.download for repo in host.hub.repos.values() if repo.download and repo.download.job == job_id]
    return drain_sentence(mine[0]) if mine and mine[0].in_flight else ""


def thrown_away(host: HostState, job_id: str) -> str:
    """What stopping a download loses: `41.2 GB in flight`; empty for another job."""
    mine = [repo.download for repo in host.hub.repos.values() if repo.download and repo.download.job == job_id]
    lost = sum(item.bytes for told in mine for item in told.in_flight)
    return f"{format_gb(lost)} in flight" if lost else ""


def fell_short_sentence(told: facts.DownloadFellShort) -> str:
    """Why a download ended without its files."""
    reason = told.state.replace("_", " ")
    return f"{told.repo}: {reason}" + (f" ({told.text})" if told.text else "") + "."


def verify_value(told: facts.RepoVerified) -> dict[str, Any]:
    """`gpudeck.verify/1` without schema and ts."""
    bad = [{name: getattr(item, name) for name in item.__struct_fields__} for item in told.bad]
    head = {name: getattr(told, name) for name in ("repo", "commit", "path", "result", "files", "ok")}
    return {**head, "bad": bad}


def verify_lines(told: facts.RepoVerified) -> list[str]:
    """The result, then each file that is not right."""
    how = f"at {told.commit[:7]}: {told.result}, {told.ok} of {told.files} files proved by hash"
    local = f"{told.result}, {told.ok} of {told.files} shards have the length that they announce"
    lines = [f"{told.repo} {how}, in {told.path}" if told.commit else f"{told.repo}: {local}"]
    return [*lines, *(_bad_line(item) for item in told.bad)]


def _bad_line(item: facts.BadFile) -> str:
    sizes = ""
    if known(item.expected_bytes) and known(item.actual_bytes) and item.expected_bytes != item.actual_bytes:
        sizes = f"  {item.actual_bytes} bytes instead of {item.expected_bytes}"
    return f"  {item.kind.replace('_', ' ')}  {item.path}{sizes}"
