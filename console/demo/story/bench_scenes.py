"""Mistakes about numbers: runs that were never comparable, a silent cap, speculation without its accept length."""

from __future__ import annotations

import json
from collections.abc import Mapping

import msgspec

from console.bench.importers import import_file
from console.bench.presets import Preset
from console.bench.store import Manifest, RunStore
from console.config.paths import runs_dir
from console.demo.story.stage import MissedError, Stage
from console.events.bench import RunsListed, StoredRun

RECIPE = "night-ngram"
CAP, ASKED = 48, 64  # what a speculative server runs at once unless it is told otherwise, and what is asked of it
GLANCE = Preset("glance", isl=16, osl=32, osl_high=32, window_s=0.8, window_max_s=0.8)


async def incomparable(stage: Stage) -> str:
    """Two numbers of a chat, measured with different questions."""
    stage.console.watch_runs()
    await stage.say("Two results from the chat: TP8 with 412 tok/s, EP4 with 655 tok/s. EP4 is faster by 59 %?")
    stage.forget()
    _import("night-tp8", "2026-01-31T01:00:00Z", _result(412.0, input_len=8192))
    newer = _import("night-ep4", "2026-01-31T02:00:00Z", _result(655.0, input_len=1024))
    listed = await stage.prevents(RunsListed, lambda fact: _refusal(fact, newer) != "")
    return f"No percentage is said: {_refusal(listed, newer)}."


def _users(count: int) -> Preset:
    """A short look with that many users."""
    return msgspec.structs.replace(GLANCE, concurrency=(count,))


def _result(tok_s: float, input_len: int) -> Mapping[str, object]:
    """What SGLang's own benchmark writes, as far as it is told apart here."""
    return {
        "backend": "sglang", "dataset_name": "random", "request_rate": "inf", "max_concurrency": 8, "duration": 60.0,
        "completed": 100, "total_input_tokens": 100 * input_len, "total_output_tokens": int(60 * tok_s),
        "request_throughput": 100 / 60, "output_throughput": tok_s, "total_throughput": 2 * tok_s,
        "random_input_len": input_len, "random_output_len": 512, "server_info": {"model_path": "demo/Qwen3-Demo"},
    }  # fmt: skip


def _import(name: str, created: str, result: Mapping[str, object]) -> str:
    """The file of somebody's measurement as a stored run; its id."""
    seen = import_file(json.dumps(result).encode(), f"{name}.jsonl")
    run = f"{created[:19].replace('-', '').replace(':', '')}Z-{name}"
    runs = RunStore(runs_dir())
    runs.create(
        Manifest(id=run, created=created, source=seen.source, recipe=name, setup=seen.setup, remarks=seen.remarks)
    )
    for point in seen.points:
        runs.add_point(run, point)
    return run


def _refusal(fact: RunsListed, run: str) -> str:
    """That a run is not compared with the one before it, because other lengths were asked for; empty without."""
    row: StoredRun | None = next((one for one in fact.runs if one.id == run), None)
    lines = row.comparison if row else ()
    return next((line.strip() for line in lines if "not comparable: the input length differs" in line), "")


async def capped_concurrency(stage: Stage) -> str:
    """More users than a speculative server runs at once."""
    await stage.say(f"Speculation is switched on, {ASKED} users are measured; nobody asked how many run at once.")
    await stage.deploys(RECIPE)
    gate = stage.counted("arguments", ("server_cap",))
    point = await stage.measures(_users(ASKED))
    if "server_cap" not in point["flags"]:
        raise MissedError(f"the point of {ASKED} users carries no flag for the cap: {point['flags']}")
    return f"{gate.sentence} The point of {ASKED} users is flagged: server_cap."


async def accept_length(stage: Stage) -> str:
    """Speculation, and its accept length is in nobody's notes."""
    await stage.deploys(RECIPE)
    await stage.say("tok/s of a speculative run go into the notes; how many drafts were accepted does not.")
    point = await stage.measures(_users(ASKED // 2))
    length = point["accept_length"]
    if not isinstance(length, float) or length <= 1:
        raise MissedError(f"the point has no accept length: {length}")
    return f"Every point of a speculative server keeps it: {length:.2f} tokens a step, beside its tok/s."
