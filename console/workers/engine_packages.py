"""Which versions a server runs on: read from its interpreter's own packages, without importing any of them."""

from __future__ import annotations

from console.events.plan import EnginePackagesRead
from console.remote.errors import AgentError
from console.serve.argv import interpreter
from console.state.model import HostState
from console.state.serve import ServerState
from console.values import clean, known
from console.workers.box import Box
from console.workers.engine import QUICK_S, ask


async def tell_packages(box: Box, host: HostState, server: ServerState) -> None:
    """Ask once an interpreter; why not is a fact, too. Lets LinkLost through."""
    jobs = host.jobs.jobs if known(host.jobs.jobs) else ()
    job = next((one for one in jobs if one.id == server.id), None)
    python = interpreter(server.seen.argv if server.seen else job.argv if job else ())
    if not python or python in host.plan.packages or not (job or python.startswith("/")):
        return
    packages, problem = {}, clean("")
    try:
        answer = await ask(box, python, {"op": "version", "env": {}}, QUICK_S)
        found = dict(answer.get("packages") or {})
        packages = {clean(str(name)): clean(str(version)) for name, version in found.items() if version}
    except AgentError as error:
        problem = clean(str(error))
    box.publish(EnginePackagesRead(host=box.name, python=clean(python), packages=packages, problem=problem))
