"""Starting a measurement: the target as the box sees it, the run's manifest, and the job."""

from __future__ import annotations

import base64
import importlib.util
import json
import secrets
import shlex
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from console.bench import serverinfo
from console.bench.datasets import Dataset
from console.bench.points import Context
from console.bench.presets import PlannedPoint, Preset, Target, estimate, setup, worker_config
from console.bench.store import Manifest
from console.config.exactness import exactness_of
from console.events.serve import Server
from console.models.config import ModelConfig, parse_config
from console.models.geometry import recurrent_layers
from console.remote.bundle import STAGE0, bundle, frame
from console.remote.errors import AgentError
from console.state.host import Hardware
from console.values import Unknown, clean_tree, known, strict_json
from console.workers.box import Box
from console.workers.jobs import JobError, JobSpec
from console.workers.server_http import ServerHttp, reached

PACKAGE = "console.payloads.load"
BENCH_JOB = "bench"
INFO_S = 10.0
CONFIG_BYTES = 1 << 20
GRACE_S = 30.0
CONFIG_HASH = "config:"
MODELS = "/v1/models"  # behind the API key in every version, and never behind the administrator's


class Subject(msgspec.Struct, frozen=True, kw_only=True):
    """The server to measure. `info` is its `/server_info` without secrets, `config` the model's; `exact`: the
    greedy answers of this `pair` of target and drafter were seen to equal the autoregressive ones."""

    server: Server
    info: dict[str, Any]
    config: ModelConfig | Unknown
    commit: str
    gpus: tuple[str, ...]
    recipe: str
    model: str
    pair: str = ""
    exact: bool = False


class KeyMissingError(JobError):
    """The server takes no request without an API key that is not at hand; the sentence says where to put it."""

    exit_code = 5


async def look(box: Box, server: Server, hardware: Hardware, meta: Mapping[str, Any], key: str | None) -> Subject:
    """Everything about the server that the run will need. `meta` is its job's, empty for a foreign one.

    Raises JobError when it does not answer, KeyMissingError, RemoteError.
    """
    info = await _json(box, server, "/server_info", key) or await _json(box, server, "/get_server_info", key)
    models = (await _json(box, server, MODELS, key)).get("data") or [{}]
    config = await _model_config(box, str(info.get("model_path") or ""))
    seen = exactness_of(box.name, pair := str(meta.get("pair") or ""))
    return Subject(
        server=server,
        info=info,
        config=config,
        commit=str(meta.get("commit") or ""),
        gpus=held(hardware, server) or tuple(meta.get("gpus") or ()),
        recipe=str(meta.get("recipe") or ""),
        model=str(models[0].get("id") or info.get("served_model_name") or ""),
        pair=pair,
        exact=seen is not None and seen.exact,
    )


async def _json(box: Box, server: Server, path: str, key: str | None) -> dict[str, Any]:
    answer = await ServerHttp(box.agent, server, key).get(path, INFO_S)
    if answer is None and path == MODELS:
        raise JobError(f"The server on port {server.port} (pid {server.pid}) does not answer; nothing is measured.")
    if answer is not None and answer[0] in (401, 403) and path == MODELS:
        raise KeyMissingError(_locked(server, key))
    if answer is None or answer[0] != 200:
        return {}
    try:
        body = clean_tree(strict_json(answer[1]))
    except ValueError:
        return {}
    return body if isinstance(body, dict) else {}


def _locked(server: Server, key: str | None) -> str:
    where, way = f"The server on port {server.port} (pid {server.pid})", 'secrets = { api-key = "env:NAME" }'
    if key:
        return f"{where} refuses the API key of the recipe: put the key that it was started with there, as {way}"
    return (
        f"{where} wants an API key, and neither its command line nor its --config file on the box gives one that it"
        f" takes: put it into a recipe as {way} and name the recipe with --recipe"
    )


async def _model_config(box: Box, path: str) -> ModelConfig | Unknown:
    try:
        read = await box.agent.request("read", path=f"{path}/config.json", offset=0, max_bytes=CONFIG_BYTES)
    except AgentError as error:
        return Unknown(f"{path}/config.json: {error}")
    return parse_config(base64.b64decode(read["data"]))


def held(hardware: Hardware, server: Server) -> tuple[str, ...]:
    """UUIDs of the GPUs on which a process of the server really holds memory."""
    own = {server.pid, *server.processes}
    gpus = hardware.gpus if known(hardware.gpus) else {}
    return tuple(
        uuid for uuid, gpu in gpus.items() if known(gpu.processes) and any(p.pid in own for p in gpu.processes)
    )


def vocabulary(subject: Subject) -> int:
    """Size of the vocabulary, 0 when it is not known."""
    size = subject.config.count("vocab_size") if known(subject.config) else subject.config
    return size if known(size) else 0


def context(subject: Subject, preset: Preset, data: Dataset) -> Context:
    recurrent = known(subject.config) and recurrent_layers(subject.config) != 0
    return Context(
        gpus=len(subject.gpus) or Unknown("the GPUs of the server are not known"),
        slo=preset.slo,
        drafter=serverinfo.has_drafter(subject.info),
        dataset_class=data.dataset_class,
        cache_preset=preset.cache,
        ignore_eos=preset.ignore_eos,
        dummy_weights=serverinfo.weights_kind(subject.info) == "dummy",
        recurrent_tree=recurrent and serverinfo.verifies_trees(subject.info) and not subject.exact,
    )


def manifest(box: Box, subject: Subject, hardware: Hardware, preset: Preset, data: Dataset, command: str) -> Manifest:
    """What the run is, before its first point."""
    now = time.gmtime()
    name = "".join(c if c.isalnum() or c in "._+=,-" else "-" for c in subject.recipe or subject.model or "server")
    return Manifest(
        id=f"{time.strftime('%Y%m%dT%H%M%SZ', now)}-{name[:80].strip('-')}-{secrets.token_hex(2)}",
        created=time.strftime("%Y-%m-%dT%H:%M:%SZ", now),
        host=box.name,
        recipe=subject.recipe or subject.model,
        preset=preset.name,
        setup={
            "model": subject.model,
            "model_sha": _model_sha(subject),
            "weights_kind": serverinfo.weights_kind(subject.info),
            **setup(preset, data),
        },
        treatment={**serverinfo.treatment(subject.info), "gpus": len(subject.gpus) or None},
        machine=machine(box, hardware, subject),
        load={
            "dataset": data.name,
            "seed": data.seed,
            "repeats": preset.repeats,
            "window_s": preset.window_s,
            "worker": "gpudeck",
        },
        gpus=len(subject.gpus) or Unknown("the GPUs of the server are not known"),
        drafter=serverinfo.has_drafter(subject.info),
        tree=serverinfo.verifies_trees(subject.info),
        pair=subject.pair,
        random_prompts=data.dataset_class == "random",
        command=command,
        serves=shlex.join(subject.server.argv),
    )


def _model_sha(subject: Subject) -> str | None:
    """The proved commit; for a directory without one, the hash of its configuration, marked as such."""
    if subject.commit:
        return subject.commit
    if not known(subject.config):
        return None
    import hashlib

    text = json.dumps(subject.config.data, sort_keys=True, separators=(",", ":"))
    return CONFIG_HASH + hashlib.sha256(text.encode()).hexdigest()[:16]


def machine(box: Box, hardware: Hardware, subject: Subject) -> dict[str, Any]:
    """Driver, GPUs, power limits, highest SM clocks (MHz), links, kernel: what explains a difference that the flags do
    not. A value that all GPUs share stands alone."""
    gpus = hardware.gpus if known(hardware.gpus) else {}
    own = [gpus[uuid].identity for uuid in subject.gpus if uuid in gpus]
    limits = sorted({one.power_limit_w for one in own if known(one.power_limit_w)})
    clocks = sorted({one.sm_clock_max_mhz for one in own if known(one.sm_clock_max_mhz)})
    return {
        "gpu": ", ".join(sorted({str(one.name) for one in own})) or None,
        "driver": str(hardware.driver_version) if known(hardware.driver_version) else None,
        "power_limit_w": limits[0] if len(limits) == 1 else limits or None,
        "clocks": clocks[0] if len(clocks) == 1 else clocks or None,
        "topology": links(hardware, subject.gpus),
        "kernel": str(box.agent.hello.get("kernel") or ""),
        "hostname": str(box.agent.hello.get("hostname") or ""),
    }


def links(hardware: Hardware, uuids: Sequence[str]) -> str | None:
    """How these GPUs reach each other: `NV`, `PIX` … `SYS`, each once; None for a single one, or when nobody told."""
    pairs = hardware.topology.pairs if hardware.topology else ()
    own = [pair for pair in pairs if {pair.a, pair.b} <= {*uuids}] if known(pairs) else []
    return ", ".join(sorted({"NV" if pair.nvlink is True else str(pair.path) for pair in own})) or None


def interpreter(box: Box, subject: Subject, recipe_python: str | None) -> str:
    """The recipe's, else the host's, else the one that the server itself runs under, else the box's."""
    first = subject.server.argv[0] if subject.server.argv else ""
    own = first if first.startswith("/") and "python" in first.rpartition("/")[2] else ""
    return recipe_python or box.config.python or own or str(box.agent.hello.get("python") or "python3")


def job_spec(
    subject: Subject,
    preset: Preset,
    points: Sequence[PlannedPoint],
    data: Dataset,
    told: Manifest,
    python: str,
    key: str | None,
) -> JobSpec:
    """The job: the worker as a bundle on its standard input, the server's key in its environment. Without a `key` of
    the laptop's it is the one that the server was started with."""
    target = Target(reached(subject.server), subject.server.port, subject.model, subject.gpus)
    config = worker_config(preset, points, data, target, secrets.token_hex(8))
    payload = frame(bundle(PACKAGE, config, {"pynvml": nvml_source()}))
    seen = context(subject, preset, data)
    return JobSpec(
        kind=BENCH_JOB,
        key=f"port {subject.server.port}",
        argv=(python, "-I", "-u", "-c", STAGE0),
        secret_env={"GPUDECK_API_KEY": key} if key else {},
        server_keys={} if key else {"GPUDECK_API_KEY": (subject.server.pid, subject.server.start)},
        stdin=payload,
        meta={
            "run": told.id,
            "manifest": msgspec.to_builtins(told),
            "context": msgspec.to_builtins(seen),
            "planned": [point.name for point in points],
            "longest_s": estimate(preset).longest_s,
        },
        pause="file",
        grace_s=GRACE_S,
    )


def nvml_source() -> str:
    """nvidia-ml-py's single file as it is installed here."""
    spec = importlib.util.find_spec("pynvml")
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError("pynvml")
    return Path(spec.origin).read_text("utf-8")
