"""Starting a server as a job, and proving it with one chat."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import msgspec

from console.config.records import Recipe
from console.config.starts import earlier_starts
from console.events.jobs import Job
from console.events.plan import Gate
from console.events.serve import Server, ServerCompared, ServerProved, ServerSmoked
from console.models.launch import Launch, launch
from console.models.places import draft_place, served_name, target_place
from console.serve import smoke as chat
from console.serve.argv import differences, read_flags
from console.state.host import Hardware
from console.state.serve import SERVE_JOB, ServerState
from console.values import Unknown, clean, known
from console.workers import jobs
from console.workers.box import Box
from console.workers.server_http import ServerHttp, base_url

GRACE_S = 60.0
SMOKE_TIMEOUT_S = 120.0
SECRETS_FILE = "secrets.yaml"
GIB = 1 << 30


class Secrets(msgspec.Struct, frozen=True, kw_only=True):
    """Values read at the last moment: of flags, for the `--config` file, and of environment variables."""

    flags: dict[str, str] = {}
    env: dict[str, str] = {}


def job_spec(
    box: Box,
    hardware: Hardware,
    recipe: Recipe,
    start: Launch,
    secrets: Secrets,
    gates: tuple[Gate, ...] = (),
    commit: str | None = None,
) -> jobs.JobSpec:
    """The job of a server. Secrets go into a 0600 file of the job's folder, or into its environment."""
    config = ("--config", f"{{job_dir}}/{SECRETS_FILE}") if secrets.flags else ()
    files = {SECRETS_FILE: yaml(secrets.flags)} if secrets.flags else {}
    return jobs.JobSpec(
        kind=SERVE_JOB,
        key=f"port {recipe.port}",
        argv=(*start.argv, *config),
        env=start.env,
        secret_env=secrets.env,
        files=files,
        grace_s=GRACE_S,
        meta=_meta(box, hardware, recipe, start, gates) | {"commit": commit},
    )


def yaml(flags: Mapping[str, str]) -> bytes:
    """`flag: "value"` lines; a JSON string is a YAML string."""
    return "".join(f"{name}: {json.dumps(value)}\n" for name, value in flags.items()).encode()


def _meta(box: Box, hardware: Hardware, recipe: Recipe, start: Launch, gates: tuple[Gate, ...]) -> dict[str, Any]:
    uuids = start.env.get("CUDA_VISIBLE_DEVICES", "")
    earlier = earlier_starts(box.name, recipe.name)
    path, draft = target_place(recipe), draft_place(recipe)
    return {
        "recipe": recipe.name,
        "model": recipe.model,
        "port": recipe.port,
        "path": path if known(path) else None,
        "draft_path": draft if draft is not None and known(draft) else None,
        "gpus": [uuid for uuid in uuids.split(",") if uuid],
        "baseline": baseline(hardware),
        "planned": planned(gates),
        "pair": next((gate.numbers.get("pair") for gate in gates if gate.name == "drafter"), None),
        "earlier_starts": [one.phases_s for one in earlier],
    }


def baseline(hardware: Hardware) -> dict[str, int]:
    """Bytes used of each GPU now, by UUID: what the memory has to come back to."""
    gpus = hardware.gpus if known(hardware.gpus) else {}
    used = {uuid: gpu.gauges.memory_used_bytes for uuid, gpu in gpus.items() if gpu.gauges}
    return {uuid: value for uuid, value in used.items() if known(value)}


def planned(gates: tuple[Gate, ...]) -> dict[str, float]:
    """The memory gate's numbers under the names that a start measures, GiB per GPU."""
    numbers = next((gate.numbers for gate in gates if gate.name == "memory"), {})
    rows = numbers.get("per_gpu")
    row = rows[0] if isinstance(rows, list | tuple) and rows else {}
    names = {"weights_gb": "weights_bytes", "draft_gb": "draft_bytes"}
    sizes = {name: row.get(key) for name, key in names.items()}
    found = {name: size / GIB for name, size in sizes.items() if isinstance(size, int | float)}
    tokens = numbers.get("tokens")
    return found | ({"tokens": float(tokens)} if isinstance(tokens, int | float) else {})


async def start(box: Box, spec: jobs.JobSpec) -> jobs.Started:
    """Start the job, and have the box list its servers at once. Raises JobRefusedError, JobError, RemoteError."""
    try:
        return await jobs.start(box, spec)
    finally:
        await box.agent.request("probe", name="servers", now=True)


def same_start(running: Job | None, spec: jobs.JobSpec, launch: Launch) -> bool:
    """Is the job that runs of the same recipe, with the same command line? Secrets are not in it."""
    if running is None or running.meta.get("recipe") != spec.meta["recipe"]:
        return False
    return running.argv[: len(launch.argv)] == launch.argv


def in_its_place(job: jobs.Started) -> str:
    """Why another server cannot start on the port of this one."""
    return f"{jobs.JobRefusedError(job)}; stop that one first, or give the recipe another port."


async def smoke(box: Box, server: ServerState, key: str | None = None) -> ServerSmoked:
    """One chat through the template, judged and told. A generated token is a proof of its own."""
    assert server.seen is not None
    seen, model = server.seen, served_model(server.seen)
    url = base_url(seen)
    dummy = read_flags(seen.argv).get("load-format") == ("dummy",)
    http = ServerHttp(box.agent, seen, key)
    answer = await http.post("/v1/chat/completions", chat.request_body(model), SMOKE_TIMEOUT_S)
    judged = chat.judge(*answer, dummy=dummy) if answer else chat.unanswered()
    fact = ServerSmoked(
        host=box.name,
        server=server.id,
        ok=judged.ok,
        problems=tuple(clean(one) for one in judged.problems),
        answer=judged.answer,
        finish_reason=judged.finish_reason,
        tokens=Unknown("the server counted none") if judged.tokens is None else judged.tokens,
        curl=tuple(clean(word) for word in chat.curl(url, model, keyed=bool(key))),
    )
    box.publish(fact)
    if judged.tokens and server.proved is None:
        box.publish(ServerProved(host=box.name, server=server.id, by="token"))
    return fact


def served_model(server: Server) -> str:
    """What the server calls its model."""
    flags = read_flags(server.argv, {"model": "model-path"})
    return next((flags[name][0] for name in ("served-model-name", "model-path") if flags.get(name)), "")


def recipe_launch(recipe: Recipe) -> Launch | Unknown:
    """The launch that a recipe asks for, without asking the box: its GPUs are not chosen."""
    path, draft = target_place(recipe), draft_place(recipe)
    if not known(path):
        return path
    return launch(
        python=recipe.python or "python3",
        model_path=path,
        served_name=served_name(recipe),
        port=recipe.port,
        args=recipe.args,
        env=recipe.env,
        draft_path=draft if draft and known(draft) and recipe.args.get("speculative-algorithm") else "",
        secrets=tuple(recipe.secrets),
    )


def compare(box: Box, server: ServerState, recipe: Recipe, aliases: Mapping[str, str]) -> ServerCompared | None:
    """Tell where the running command line differs from the recipe's; None when either is not known."""
    wanted = recipe_launch(recipe)
    if not known(wanted) or server.seen is None:
        return None
    ours = {name for name in recipe.secrets if not name.isupper()} | {"config"}
    found = [one for one in differences(wanted.argv, server.seen.argv, aliases) if one.flag not in ours]
    told = ServerCompared(
        host=box.name,
        server=server.id,
        recipe=clean(recipe.name),
        differences=tuple(clean(one.sentence) for one in found),
    )
    box.publish(told)
    return told
