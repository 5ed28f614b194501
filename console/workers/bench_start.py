"""A measurement started from the screen."""

from __future__ import annotations

import msgspec

from console.bench.datasets import DatasetError, dataset
from console.bench.presets import PRESETS, Preset, fitting, planned
from console.events.bench import BenchRefused
from console.state.model import HostState
from console.values import clean, known
from console.workers import jobs
from console.workers.bench import interpreter, job_spec, look, manifest, vocabulary
from console.workers.box import Box


def recipe_of(host: HostState, server: str) -> str:
    """The recipe that a server of ours was started from, or nothing."""
    return str(_meta(host, server).get("recipe") or "")


def _meta(host: HostState, server: str) -> dict[str, object]:
    found = host.jobs.jobs
    job = next((job for job in found if job.id == server), None) if known(found) else None
    return job.meta if job else {}


async def start_bench(
    box: Box, host: HostState, server: str, preset_name: str, concurrency: tuple[int, ...], key: str | None
) -> None:
    """Look at the server, start the job; what forbids it becomes a fact. Raises LinkLost."""
    try:
        preset = PRESETS[preset_name]
        if concurrency:
            preset = msgspec.structs.replace(preset, concurrency=concurrency)
        await _start(box, host, server, preset, key)
    except (DatasetError, jobs.JobError, jobs.JobRefusedError, LookupError) as error:
        box.publish(BenchRefused(host=box.name, sentence=clean(str(error))))


async def _start(box: Box, host: HostState, server: str, preset: Preset, key: str | None) -> None:
    seen = host.serve.servers[clean(server)].seen
    if seen is None:
        raise LookupError(f"{server} is not listed")
    subject = await look(box, seen, host.hardware, _meta(host, server), key)
    data = fitting(preset, dataset(preset.dataset, preset.isl, vocabulary(subject)))
    command = f"gpudeck bench {box.name} --preset {preset.name}"
    if preset.concurrency != PRESETS[preset.name].concurrency:
        command += f" --concurrency {','.join(map(str, preset.concurrency))}"
    told = manifest(box, subject, host.hardware, preset, data, command)
    python = interpreter(box, subject, None)
    await jobs.start(box, job_spec(subject, preset, planned(preset), data, told, python, key))
