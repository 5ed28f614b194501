"""SGLang's own benchmark as a job, imported as a run: the same question asked by another client."""

from __future__ import annotations

import base64
from collections.abc import Mapping

import msgspec

from console.bench.importers import import_file
from console.bench.points import Point
from console.bench.presets import Preset
from console.bench.store import Manifest
from console.remote.agent import Agent
from console.values import known
from console.workers.bench import Subject
from console.workers.jobs import JobSpec

KIND = "second-opinion"
MODULES = ("sglang.benchmark.serving", "sglang.bench_serving")  # the newer name first
RESULT = "sglang.jsonl"
FIND_S = 60.0
ABOVE = 1.25
# Prints the first of these modules that this interpreter has; isolated, but with the recipe's PYTHONPATH.
_FIND = (
    "import importlib.util as u, os, sys\n"
    "sys.path[:0] = [p for p in os.environ.get('PYTHONPATH', '').split(os.pathsep) if p]\n"
    "def has(name):\n"
    "    try:\n"
    "        return u.find_spec(name) is not None\n"
    "    except ModuleNotFoundError:\n"
    "        return False\n"
    "sys.stdout.write(next(filter(has, sys.argv[1:]), ''))\n"
)


class NoBenchmarkError(Exception):
    """The interpreter has no SGLang benchmark."""


async def module_of(agent: Agent, python: str, env: Mapping[str, str]) -> str:
    """The benchmark's module in this version of SGLang. `env`: the recipe's."""
    out = b""
    argv = [python, "-I", "-c", _FIND, *MODULES]
    async with agent.stream("exec", argv=argv, env=dict(env), timeout_s=FIND_S) as stream:
        async for part in stream:
            out += base64.b64decode(part["data"]) if part["fd"] == 1 else b""
    found = out.decode("ascii", "replace").strip()
    if found not in MODULES:
        raise NoBenchmarkError(f"{python} has no {' and no '.join(MODULES)}")
    return found


def job_spec(
    subject: Subject,
    preset: Preset,
    users: int,
    module: str,
    python: str,
    key: str | None,
    env: Mapping[str, str],
    requests: int = 0,
    request_s: float = 0.0,
) -> JobSpec:
    """One call for one concurrency, in the recipe's environment; its result lies in the job's folder.

    `requests`: what our own window counted. That tool's rate holds its own ramp and drain: at least as many requests
    as ours make them small. Its prompts go as ids, like ours: as text they have other lengths for the server.
    `request_s`: what our window answered. Arrivals a quarter above that keep all users busy and never let them begin
    together: users in step have their prompts read in one batch, and are faster (5 % at C = 8) than ours.
    """
    osl = preset.osl if users < 64 else preset.osl_high
    count = max(16, 4 * users, 2 * requests)
    argv: tuple[str, ...] = (
        python, "-m", module,
        "--backend", "sglang", "--base-url", f"http://127.0.0.1:{subject.server.port}",
        "--model", subject.model, "--tokenizer", str(subject.info.get("tokenizer_path") or subject.model),
        "--dataset-name", "random-ids", "--random-input-len", str(preset.isl), "--random-output-len", str(osl),
        "--random-range-ratio", "1.0", "--tokenize-prompt",
        "--num-prompts", str(count), "--max-concurrency", str(users),
        "--output-file", f"{{job_dir}}/{RESULT}", "--disable-tqdm", "--flush-cache",
    )  # fmt: skip
    if request_s:
        argv += ("--request-rate", f"{ABOVE * request_s:.6g}")
    server = subject.server
    return JobSpec(
        kind=KIND,
        key=f"port {server.port}",
        argv=argv,
        secret_env={"OPENAI_API_KEY": key} if key else {},
        server_keys={} if key else {"OPENAI_API_KEY": (server.pid, server.start)},
        env={**env, "HF_HUB_OFFLINE": "1"},
    )


def as_run(data: bytes, told: Manifest) -> tuple[Manifest, tuple[Point, ...]]:
    """The imported points, and a manifest beside our own run's. Where ours sent random ids, it was asked the same."""
    seen = import_file(data, RESULT)
    own = {name: value for name, value in seen.setup.items() if value is not None}
    setup = {**own, **told.setup} if told.setup.get("prompt_format") == "input_ids" else {**told.setup, **own}
    remarks = (*seen.remarks, *(_busy(point) for point in seen.points if known(point.concurrency_mean)))
    manifest = msgspec.structs.replace(
        told, id=f"{told.id}-sglang", source=seen.source, setup=setup, remarks=remarks, command=""
    )
    return manifest, seen.points


def _busy(point: Point) -> str:
    """A client that is slow between two requests asks less than it was told: the usual cause of a lower rate."""
    return f"C={point.concurrency}: it kept {point.concurrency_mean:.2f} users busy, by its own count"
