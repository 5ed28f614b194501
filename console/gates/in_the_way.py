"""Which servers a recipe's start would replace: those on its port or on its GPUs, and no other."""

from __future__ import annotations

from console.config.records import Recipe
from console.events.serve import Server
from console.gates.gpus import choose, is_free, views_of
from console.gates.inputs import gpus_needed
from console.models.engine import SHORT
from console.state import HostState
from console.state.serve import ServerState
from console.values import known

# Spellings of the sizes as argparse has them, for which no interpreter needs to be asked.
_LONG = {"tensor-parallel-size": "tp-size", "pipeline-parallel-size": "pp-size", "data-parallel-size": "dp-size"}


def in_the_way(host: HostState, recipe: Recipe) -> list[ServerState]:
    """The servers that hold the recipe's port or its GPUs; without named GPUs, those it cannot do without.

    Free GPUs come first; where they are too few, those of servers that this user may stop.
    """
    running = [(one, one.seen) for one in host.serve.servers.values() if one.present and one.seen is not None]
    on_port = {str(seen.id) for _, seen in running if seen.port == recipe.port}
    wanted = _gpus(host, recipe, [seen for _, seen in running], on_port)
    return [one for one, seen in running if seen.id in on_port or gpus_of(host, one) & wanted]


def gpus_of(host: HostState, server: ServerState) -> frozenset[str]:
    """UUIDs of the GPUs on which its processes hold memory, and of those that its job was started on."""
    jobs = host.jobs.jobs if known(host.jobs.jobs) else ()
    asked = next((job.meta.get("gpus") for job in jobs if job.id == server.id), None) or ()
    gpus = host.hardware.gpus if known(host.hardware.gpus) else {}
    pids = set(server.seen.processes) if server.seen else set()
    held = (
        uuid
        for uuid, gpu in gpus.items()
        if known(gpu.processes) and any(process.pid in pids for process in gpu.processes)
    )
    return frozenset((*(uuid for uuid in asked if uuid in gpus), *held))


def _gpus(host: HostState, recipe: Recipe, running: list[Server], on_port: set[str]) -> frozenset[str]:
    """UUIDs of the GPUs that the recipe would get."""
    sizes = {SHORT.get(name, _LONG.get(name, name)): value for name, value in recipe.args.items()}
    views, count = views_of(host.hardware), gpus_needed(sizes)
    if not known(views) or count == 0:
        return frozenset()
    given = frozenset(pid for seen in running if seen.id in on_port for pid in seen.processes)
    chosen = choose(views, recipe.gpus, count, given)
    if recipe.gpus is None and known(chosen) and not all(is_free(gpu, given) for gpu in chosen):
        mine = frozenset(pid for seen in running if seen.owner != "foreign" for pid in seen.processes)
        chosen = choose(views, None, count, given | mine)
    return frozenset(gpu.uuid for gpu in chosen) if known(chosen) else frozenset()
