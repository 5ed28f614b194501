"""Mistakes about the box: quoting, configurations, memory, GPUs."""

from __future__ import annotations

import json

from console.demo.story.stage import MissedError, Stage
from console.events.host import GpuProcessesSampled, GpusSampled
from console.events.jobs import Job, JobsSampled
from console.values import format_gib, known
from console.workers.jobs import JobSpec, start

GIB = 1 << 30
KV_BYTES_A_TOKEN = 28 * 2 * 8 * 128 * 2  # layers × K and V × heads × size of a head × bytes of bfloat16

# Compares what it was given with what its standard input says that it was given.
_PROGRAM = "import json, sys; sys.exit(0 if sys.argv[1:] == json.load(sys.stdin) else 1)"
_WORDS = ["it's", '"quoted"', "$HOME `id` $(id)", "a;b|c>d&", "\\n\\'\\\"", "*", "~", "", "two\nlines", "ünïcode"]


async def quoting(stage: Stage) -> str:
    """Words that no shell leaves alone."""
    await stage.say(f"A program gets {len(_WORDS)} words that three shells would break: {' '.join(_WORDS[:4])} …")
    spec = JobSpec(
        kind="words", key="words", argv=("python3", "-I", "-c", _PROGRAM, *_WORDS), stdin=json.dumps(_WORDS).encode()
    )
    job = (await start(stage.box, spec)).id
    seen = await stage.prevents(JobsSampled, lambda fact: _ended(fact, job) is not None)
    ended = _ended(seen, job)
    if ended is None or ended.exit_code != 0:
        raise MissedError("the words did not arrive as they were sent")
    return f"All {len(_WORDS)} arrived byte for byte: arguments and program travel as data, no shell sees them."


def _ended(fact: JobsSampled, job: str) -> Job | None:
    jobs = fact.jobs if known(fact.jobs) else ()
    return next((one for one in jobs if one.id == job and one.state == "exited"), None)


async def nested_config(stage: Stage) -> str:
    """Everything that counts stands below `text_config`."""
    await stage.say("config.json has nothing but text_config; num_hidden_layers at its top level is None.")
    gate = await stage.checked("night-nested", "memory", ("fits", "tight"))
    if gate.numbers.get("bytes_per_token") != KV_BYTES_A_TOKEN:
        raise MissedError(f"the KV cache of a token was computed as {gate.numbers.get('bytes_per_token')} bytes")
    if (place := gate.numbers["sources"].get("layers")) != "text_config.num_hidden_layers of config.json":
        raise MissedError(f"the layers were found in {place}")
    return f"The layers are in {place}: {KV_BYTES_A_TOKEN} bytes of KV cache a token. {gate.sentence}"


async def oom(stage: Stage) -> str:
    """A model that is larger than the GPU."""
    await stage.frees_gpus()
    await stage.say("A model of 70 billion parameters is started on one GPU; half an hour later it runs out of memory?")
    gate = await stage.stopped_by("night-large", "memory", ("no",))
    return f"{gate.sentence} Ways out: {', '.join(gate.way_out)}."


async def lost_gpu(stage: Stage) -> str:
    """One of eight falls off the bus."""
    await stage.frees_gpus()
    await stage.say("GPU 3 falls off the bus; a server over all eight is started.")
    stage.world.lose_gpu(3)
    await stage.prevents(GpusSampled, lambda fact: known(fact.gpus) and any(one.state == "lost" for one in fact.gpus))
    gate = await stage.stopped_by("night-tp8", "gpus", ("lost",))
    return gate.sentence


async def foreign_process(stage: Stage) -> str:
    """Somebody else's training holds a GPU."""
    await stage.frees_gpus()
    size = 60 * GIB
    await stage.say(f"Somebody starts a training on GPU 3 ({format_gib(size)}); a server over all eight is started.")
    pid = stage.world.stranger_on_gpu(3, size)
    await stage.prevents(GpuProcessesSampled, lambda fact: pid in _pids(fact))
    gate = await stage.stopped_by("night-tp8", "gpus", ("unbalanced", "in_use"))
    if str(pid) not in gate.sentence:
        raise MissedError(f"the gate does not name process {pid}")
    return gate.sentence


def _pids(fact: GpuProcessesSampled) -> set[int]:
    rows = [gpu.processes for gpu in fact.gpus] if known(fact.gpus) else []
    return {process.pid for row in rows if known(row) for process in row}
