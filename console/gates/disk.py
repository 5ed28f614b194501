"""The disk gate: does what is still missing fit, on which device, with what left over.

```
remaining = max(0, need − have)                  have: bytes that are final and proved
peak      = remaining + claims of other downloads on the device + charge of the Xet cache
budget    = available (f_bavail), or the quota's rest if smaller
headroom  = max(20 GB, 2 % of need, 5 % of need on btrfs and zfs, the operator's reserve)
margin    = budget − peak
done: nothing remains · no: read-only, inodes, margin < 0 · unknown: the mount or a size is not known
tight: margin < headroom · fits: else
```
Temporary files and final ones share a file system and are renamed, so the peak is the final size.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

import msgspec

from console.gates.gate import Gate, Verdict
from console.values import Unknown, format_bytes, format_gb, known

DiskVerdict = Literal["done", "fits", "tight", "unknown", "no"]
HEADROOM_BYTES = 20_000_000_000
INODES_PER_FILE = 4  # the file, its temporary name, what the library notes, its lock
NCCL_BYTES = 1 << 30  # /dev/shm below this makes collective communication fail
_RANK: tuple[DiskVerdict, ...] = ("done", "fits", "tight", "unknown", "no")
_GATE_VERDICT: dict[DiskVerdict, Verdict] = {
    "done": "pass", "fits": "pass", "tight": "warn", "unknown": "unknown", "no": "block",
}  # fmt: skip


class Device(msgspec.Struct, frozen=True, kw_only=True):
    """The file system that a target is on. `problem` is `hang` or `stale` when it does not answer."""

    key: str = ""
    mount: str = ""
    fstype: str = ""
    available_bytes: int | Unknown = Unknown("not read")
    quota_free_bytes: int | None = None
    inodes_free: int | None = None
    read_only: bool = False
    is_ram: bool = False
    problem: str = ""


class Need(msgspec.Struct, frozen=True, kw_only=True):
    """What shall lie there: sizes of all selected files, bytes already there and proved, files still missing."""

    sizes: tuple[int | Unknown, ...]
    have_bytes: int = 0
    missing_files: int = 0

    @property
    def known_bytes(self) -> int:
        return sum(size for size in self.sizes if known(size))

    @property
    def unknown_files(self) -> int:
        return sum(not known(size) for size in self.sizes)


class Claims(msgspec.Struct, frozen=True, kw_only=True):
    """What else wants the device: other downloads' rest, the Xet cache, the operator's reserve; leftovers to delete.
    `untold`: downloads whose rest is not known yet."""

    other_bytes: int = 0
    untold: int = 0
    xet_bytes: int = 0
    reserve_bytes: int = 0
    orphan_bytes: int = 0


NO_CLAIMS = Claims()


class Fit(msgspec.Struct, frozen=True, kw_only=True):
    """The verdict with every number that led to it; a number that cannot be computed is Unknown."""

    verdict: DiskVerdict
    reasons: tuple[str, ...]
    remaining_bytes: int | Unknown
    peak_bytes: int | Unknown
    budget_bytes: int | Unknown
    headroom_bytes: int
    margin_bytes: int | Unknown
    unknown_files: int


def fit(need: Need, device: Device, claims: Claims = NO_CLAIMS) -> Fit:
    """Judges one device; `need` is the sum of everything that shall go there."""
    known_rest = max(0, need.known_bytes - need.have_bytes)
    peak = known_rest + claims.other_bytes + claims.xet_bytes
    budget, quota = _budget(device)
    headroom = _headroom(need.known_bytes, device.fstype, claims.reserve_bytes)
    margin = budget - peak if known(budget) else Unknown(f"mount: {device.problem or budget.reason}")
    unknown = need.unknown_files + claims.untold
    sizes = Unknown(f"{unknown} sizes are not known") if unknown else None
    verdict, reasons = _verdict(need, device, unknown, margin, headroom)
    if quota and verdict in ("no", "tight") and not reasons:
        reasons = ("quota",)
    return Fit(
        verdict=verdict,
        reasons=reasons,
        remaining_bytes=known_rest if sizes is None else sizes,
        peak_bytes=peak if sizes is None else sizes,
        budget_bytes=budget,
        headroom_bytes=headroom,
        margin_bytes=margin if sizes is None else sizes,
        unknown_files=unknown,
    )


def _budget(device: Device) -> tuple[int | Unknown, bool]:
    """Bytes that may be used, and whether the quota sets them."""
    available, quota = device.available_bytes, device.quota_free_bytes
    if known(available) and quota is not None and quota < available:
        return quota, True
    return available, False


def _headroom(need: int, fstype: str, reserve: int) -> int:
    percent = 5 if fstype in ("btrfs", "zfs") else 2
    return max(HEADROOM_BYTES, need * percent // 100, reserve)


def _verdict(
    need: Need, device: Device, unknown: int, margin: int | Unknown, headroom: int
) -> tuple[DiskVerdict, tuple[str, ...]]:
    if need.have_bytes >= need.known_bytes and not need.unknown_files:
        return "done", ()
    if device.read_only:
        return "no", ("read_only",)
    if not known(margin):
        return "unknown", (f"mount_{device.problem or 'unknown'}",)
    if device.inodes_free is not None and need.missing_files * INODES_PER_FILE > device.inodes_free:
        return "no", ("inodes",)
    if unknown:
        return ("no", ("known_files_alone_do_not_fit",)) if margin < 0 else ("unknown", ("size_unknown",))
    if margin < 0:
        return "no", ()
    return ("tight" if margin < headroom else "fits"), ()


def worst(verdicts: Iterable[DiskVerdict]) -> DiskVerdict:
    """Of several devices the one that decides: done < fits < tight < unknown < no."""
    return max(verdicts, key=_RANK.index, default="done")


def join(needs: Sequence[Need]) -> Need:
    """Everything that goes to one device."""
    return Need(
        sizes=tuple(size for need in needs for size in need.sizes),
        have_bytes=sum(min(need.have_bytes, need.known_bytes) for need in needs),
        missing_files=sum(need.missing_files for need in needs),
    )


def without_orphans(need: Need, device: Device, claims: Claims) -> DiskVerdict:
    """The verdict once the leftovers of killed downloads are deleted."""
    available = device.available_bytes
    freed = available + claims.orphan_bytes if known(available) else available
    return fit(need, msgspec.structs.replace(device, available_bytes=freed), claims).verdict


class Fill(msgspec.Struct, frozen=True, kw_only=True):
    """What a running download leads to at its present rate, in s."""

    seconds_to_full: float
    seconds_to_done: float

    @property
    def full_before_done(self) -> bool:
        return self.seconds_to_full < self.seconds_to_done


def fill(available_bytes: int, rate_bytes_s: float, remaining_bytes: int) -> Fill:
    """`rate_bytes_s` > 0: the observed write rate."""
    return Fill(seconds_to_full=available_bytes / rate_bytes_s, seconds_to_done=remaining_bytes / rate_bytes_s)


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """One device with what shall go there: `names` say what, `others` are mounts that could take it instead, `parts`
    the needs of the repositories one by one, the target first."""

    names: tuple[str, ...]
    need: Need
    device: Device
    claims: Claims = NO_CLAIMS
    parts: tuple[tuple[str, Need], ...] = ()
    others: tuple[tuple[str, int], ...] = ()
    deletable: tuple[tuple[str, int], ...] = ()


def disk_gate(place: Place) -> Gate:
    """The gate of one device: `need − have + claims` against `available`, and every way out that would help."""
    if place.device.is_ram and place.device.mount == "/dev/shm":
        kept = place.claims.other_bytes + NCCL_BYTES
        place = msgspec.structs.replace(place, claims=msgspec.structs.replace(place.claims, other_bytes=kept))
    need, claims, device = place.need, place.claims, place.device
    result = fit(need, device, claims)
    unknown_need = Unknown(f"{need.unknown_files} sizes are not known")
    return Gate(
        name="disk",
        verdict=_GATE_VERDICT[result.verdict],
        state=result.verdict,
        subject=device.mount or device.key,
        sentence=_sentence(place, result),
        way_out=_ways_out(place, result) if result.verdict in ("no", "tight", "unknown") else (),
        numbers={
            "need_bytes": unknown_need if need.unknown_files else need.known_bytes,
            "have_bytes": need.have_bytes,
            "claims_bytes": claims.other_bytes + claims.xet_bytes,
            "available_bytes": result.budget_bytes,
            "headroom_bytes": result.headroom_bytes,
            "margin_bytes": result.margin_bytes,
        },
    )


def _sentence(place: Place, result: Fit) -> str:
    need, what, where = place.need, " + ".join(place.names), place.device.mount
    if result.verdict == "done":
        return f"{what}: all {format_bytes(need.known_bytes)} are there."
    claims = place.claims.other_bytes + place.claims.xet_bytes
    parts = f"need {format_bytes(need.known_bytes)} − have {format_gb(need.have_bytes)} + claims {format_gb(claims)}"
    said = f"{what}: {parts} against {format_bytes(result.budget_bytes)} on {where}"
    if result.verdict == "unknown" and result.unknown_files:
        return f"{said}; {result.unknown_files} files or other downloads have no known size, so that this is no answer."
    if "read_only" in result.reasons:
        return f"{what}: {where} is mounted read-only."
    if "inodes" in result.reasons:
        wanted = need.missing_files * INODES_PER_FILE
        return f"{what}: {need.missing_files} files need about {wanted} inodes, {where} has {place.device.inodes_free}."
    if not known(result.margin_bytes):
        if result.verdict == "no":
            return f"{said}: the known files alone do not fit, {result.unknown_files} more have no known size."
        return f"{what}: {where} does not answer ({result.margin_bytes.reason})."
    side = "left over" if result.margin_bytes >= 0 else "short"
    quota = ", the quota's rest" if "quota" in result.reasons else ""
    tail = f", less than the headroom of {format_gb(result.headroom_bytes)}" if result.verdict == "tight" else ""
    return f"{said}{quota}: {format_bytes(abs(result.margin_bytes))} {side}{tail}."


def _ways_out(place: Place, result: Fit) -> tuple[str, ...]:
    ways = [f"Put it {where}" for where in _elsewhere(place, place.need)]
    for name, need in place.parts[1:]:
        others = [one for part, one in place.parts if part != name]
        then = fit(join(others), place.device, place.claims).verdict
        if then in ("done", "fits", "tight"):
            rest = f"What stays on {place.device.mount}: {then}."
            ways += [f"Put {name} alone {where} {rest}" for where in _elsewhere(place, need)]
    if place.claims.orphan_bytes:
        then = without_orphans(place.need, place.device, place.claims)
        what = f"{format_gb(place.claims.orphan_bytes)} of leftovers of killed downloads"
        ways.append(f"Delete {what} (`models HOST rm PATH --leftovers`): then {then}.")
    if known(result.margin_bytes) and result.verdict == "no":
        for path, size in place.deletable:
            then = _after_deleting(place, size)
            ways.append(f"Delete {path} ({format_gb(size)}): then {then}.")
    if result.unknown_files:
        ways.append("Check again: the Hub did not say every size.")
    if result.verdict == "tight":
        ways.append("Accept it with --accept tight.")
    return tuple(ways)


def _elsewhere(place: Place, need: Need) -> Iterator[str]:
    """The other mounts that could take it, and what each would have left."""
    rest = max(0, need.known_bytes - need.have_bytes)
    for mount, available in place.others if not need.unknown_files else ():
        shm = mount == "/dev/shm"
        left = available - rest - (NCCL_BYTES if shm else 0)
        if left >= 0:
            yield f"on {mount}{' (memory: lost at reboot)' if shm else ''}: {format_gb(left)} would be left."


def _after_deleting(place: Place, size: int) -> DiskVerdict:
    available = place.device.available_bytes
    freed = available + size if known(available) else available
    return fit(place.need, msgspec.structs.replace(place.device, available_bytes=freed), place.claims).verdict
