"""Mistakes about the Hub: sizes, gates, tokens, disks, downloads, bytes."""

from __future__ import annotations

from console.demo.shelf import DRAFT, READER_TOKEN, TOKEN
from console.demo.story.stage import MissedError, Stage
from console.demo.story.world import SILENT, SLOW, SMALL
from console.events.hub import DownloadProgressed, InventoryRead, RepoVerified, TokenChecked
from console.events.jobs import JobsSampled
from console.events.link import LinkChanged
from console.values import format_bytes, known
from console.values.secrets import Secret

GB, GIB = 10**9, 1 << 30
RECONNECT_S = 20.0


async def unknown_size(stage: Stage) -> str:
    """The Hub names no size."""
    stage.world.hub.faults.no_sizes = True
    await stage.say("The Hub answers size=None for every shard; the model is deployed all the same.")
    gate = await stage.stopped_by("night-unsized", "disk", ("unknown",))
    if known(gate.numbers["need_bytes"]):
        raise MissedError("a need was computed from sizes that nobody knows")
    return gate.sentence


async def gated(stage: Stage) -> str:
    """The drafter is gated, the target is not."""
    stage.world.put_token(TOKEN)
    await stage.say(f"demo-user deploys a target that is public, with the drafter {DRAFT}, which is not.")
    gate = await stage.stopped_by("night-drafter", "access", ("request_needed",), DRAFT)
    stage.world.hub.repos[DRAFT].standings["demo-user"] = "accepted"
    await stage.say("The conditions are accepted on its page, and r checks again.")
    await stage.checked("night-drafter", "access", ("ready",), DRAFT, counts=False)
    return f"{gate.sentence} {gate.way_out[0]}"


async def empty_token(stage: Stage) -> str:
    """A token file that exists and is empty."""
    stage.world.put_token("")
    await stage.say("The token file exists, so somebody is logged in?")
    await stage.console.ask_hub(stage.host_name)
    await stage.prevents(TokenChecked, lambda fact: fact.state == "empty")
    gate = await stage.stopped_by("night-drafter", "access", ("token_missing", "login_required"), DRAFT)
    await stage.say("T writes one, which counts once an authenticated call has named its owner.")
    stage.forget()
    await stage.console.set_token(stage.host_name, Secret(READER_TOKEN))
    token = await stage.sees(TokenChecked, lambda fact: fact.state == "valid")
    return f"The token was empty, not there: {gate.sentence} Now it is {token.who}'s."


async def disk_full(stage: Stage) -> str:
    """Two rounded numbers in two units."""
    size, free = stage.world.offer_more_than_the_disk_holds()
    await stage.say(f"{size / GIB:.0f}G of files, {free / GB:.0f} GB available: that fits, one would say.")
    gate = await stage.stopped_by("night-huge", "disk", ("no",))
    margin = gate.numbers["margin_bytes"]
    if not isinstance(margin, int) or margin >= 0:
        raise MissedError(f"the disk gate has no arithmetic: {margin}")
    return f"{gate.sentence} In one unit: {format_bytes(size)} against {format_bytes(free)}."


async def silent_download(stage: Stage) -> str:
    """The tool ends with 0 and has fetched nothing."""
    stage.world.break_library()
    await stage.say("The library on the box returns at once: no error, no file, success?")
    await stage.downloads(SILENT)
    await stage.prevents(
        DownloadProgressed, lambda fact: fact.repo == SILENT and fact.phase == "waiting" and fact.state == "fell_short"
    )
    stage.world.mend_library()
    await stage.say("It was counted, not believed: no file of the manifest is there. The job tries again by itself.")
    proof = await stage.proved(SILENT)
    return f"Done only when {proof.ok} of {proof.files} files were proved by hash."


async def truncated_shard(stage: Stage) -> str:
    """A shard of half its length, under its old date."""
    await stage.downloads(SMALL)
    await stage.proved(SMALL)
    await stage.sees(InventoryRead, lambda fact: known(fact.models) and any(m.repo == SMALL for m in fact.models))
    shard = stage.world.models / "Small" / "model-00002-of-00004.safetensors"
    size = stage.world.truncate(shard)
    await stage.say(f"{shard.name} lost half of its {size} bytes; name and date are as before.")
    stage.forget()
    await stage.console.verify_stored(stage.host_name)
    found = await stage.prevents(RepoVerified, lambda fact: fact.repo == SMALL and fact.result == "mismatch")
    if [(bad.path, bad.kind) for bad in found.bad] != [(shard.name, "truncated")]:
        raise MissedError(f"the verification found {found.bad}")
    stage.world.hub.requests.clear()
    await stage.say("The same download again.")
    stage.forget()
    await stage.downloads(SMALL)
    await stage.proved(SMALL)
    fetched = {path.rpartition("/")[2] for method, path, _ in stage.world.hub.requests if method == "GET"}
    shards = sorted(name for name in fetched if name.endswith(".safetensors"))
    return f"The verification named {found.bad[0].path}: truncated. Fetched again: {', '.join(shards)}."


async def link_cut(stage: Stage) -> str:
    """The cable is pulled while the box works."""
    stage.world.hub.faults.rate_bytes_s = 64 * 1024.0
    job = await stage.downloads(SLOW)
    await stage.sees(DownloadProgressed, lambda fact: fact.job == job and fact.phase == "downloading")
    await stage.say("A download runs; the laptop's network goes away.")
    stage.forget()
    stage.world.cut()
    await stage.prevents(LinkChanged, lambda fact: fact.state == "lost")
    await stage.sees(LinkChanged, lambda fact: fact.state == "up", RECONNECT_S)
    stage.forget()
    again = await stage.prevents(JobsSampled, lambda fact: _runs(fact, job), RECONNECT_S)
    assert known(again.jobs)
    stage.world.hub.faults.rate_bytes_s = 0.0
    proof = await stage.proved(SLOW)
    return f"{job} went on without the laptop and was taken up again: {proof.ok} of {proof.files} files proved."


def _runs(fact: JobsSampled, job: str) -> bool:
    return known(fact.jobs) and any(one.id == job and one.state in ("running", "exited") for one in fact.jobs)
