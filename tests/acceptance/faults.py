"""What goes wrong on such a box, on purpose."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import time
from pathlib import Path
from typing import Any

from tests.acceptance.lives import server_of, stop
from tests.acceptance.place import LANE_A, LANE_B, Place, until

HOLD = (
    "import sys, torch; x = torch.empty(int(sys.argv[1]) << 30, dtype=torch.uint8, device='cuda:1'); "
    "torch.cuda.synchronize(); print('held', flush=True); sys.stdin.read()"
)
STORY = ("phase", "kind", "cause", "cause_phase", "advice", "exit_code", "signal")


def foreign(place: Place) -> None:
    """90 GiB of GPU 1 belong to somebody else."""
    argv = [place.python, "-c", HOLD, "90"]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        place.fact("holder", [holder.pid, holder.stdout.readline().strip()])
        for recipe in ("tp2", "ar-b"):
            done = place.run("preflight", "local", recipe, record=f"foreign-{recipe}")
            _gates(place, recipe, done.data, ("gpus", "memory"))
        holder.communicate()


def refused(place: Place) -> None:
    """A value that SGLang does not have; a port that is taken. Both end in 4, before anything is loaded."""
    done = place.run("serve", "local", "start", "bad", record="bad-value")
    place.fact("bad value", {"code": done.code, "said": done.data})
    with socket.create_server(("127.0.0.1", LANE_B)):
        done = place.run("serve", "local", "start", "ar-b", record="port-taken")
        place.fact("port taken", {"code": done.code, "said": done.data})
    place.fact("jobs", [path.name for path in place.jobs()])


def out_of_memory(place: Place) -> None:
    done = place.run("serve", "local", "start", "oom", record="oom", limit_s=240)
    place.fact("start", {"code": done.code, "said": done.data})
    listed = place.run("serve", "local", "list")
    ended = [one for one in listed.data["servers"] if one["recipe"] == "oom"]
    place.fact("oom", [{key: one[key] for key in (*STORY, "actuals", "limits")} for one in ended])
    for one in ended:
        if one["phase"] not in ("stopped", "crashed"):
            stop(place, one["id"], "stop-oom")


def resume(place: Place) -> None:
    """The console dies while it follows a start; the next one finds the server where it is."""
    began = time.monotonic()
    process = place.start("deploy", "local", "ngram-b", "--json", record="resume-killed")
    known = set(place.jobs())
    until(lambda: set(place.jobs()) - known, 90)
    time.sleep(12)
    os.kill(process.pid, signal.SIGKILL)
    out, said = process.communicate()
    place.keep(("deploy", "local", "ngram-b"), process.returncode, out, said, began)
    server = next(iter(set(place.jobs()) - known)).name
    seen = server_of(place.run("serve", "local", "status", server).data)
    place.fact("found again", {key: seen.get(key) for key in ("id", "owner", "phase", "pid")})
    done = place.run("deploy", "local", "ngram-b", record="resume-second", limit_s=300)
    told = server_of(done.data)
    place.fact("followed", {key: told.get(key) for key in ("id", "phase", "proved_by", "limits", "actuals", "smoke")})
    place.fact("one job", len(set(place.jobs()) - known) == 1)


def kill_scheduler(place: Place) -> None:
    """SIGKILL to the scheduler of lane A's server, while a console watches."""
    seen = server_of(place.run("serve", "local", "status", str(LANE_A)).data)
    watching = place.start("status", "local", "--watch", record="kill-scheduler")
    time.sleep(8)
    scheduler = next(pid for pid in _tree(int(seen["pid"])) if "scheduler" in _command(pid))
    place.fact("killed", [scheduler, _command(scheduler)])
    os.kill(scheduler, signal.SIGKILL)
    began = time.monotonic()
    until(lambda: not Path(f"/proc/{seen['pid']}").exists(), 60)
    place.fact("parent gone after_s", round(time.monotonic() - began, 1))
    time.sleep(5)
    watching.send_signal(signal.SIGINT)
    with contextlib.suppress(subprocess.TimeoutExpired):
        watching.communicate(timeout=15)
    told = server_of(place.run("serve", "local", "status", str(seen["id"])).data)
    place.fact("story", {key: told.get(key) for key in (*STORY, "memory_returned")})


def _gates(place: Place, recipe: str, data: Any, names: tuple[str, ...]) -> None:
    gates = data.get("gates", []) if isinstance(data, dict) else []
    place.fact(f"gates {recipe}", [gate for gate in gates if gate["name"] in names])


def _tree(pid: int) -> list[int]:
    """The process and all below it."""
    found = [pid]
    for task in Path(f"/proc/{pid}/task").iterdir():
        for word in (task / "children").read_text().split():
            found += _tree(int(word))
    return found


def _command(pid: int) -> str:
    return Path(f"/proc/{pid}/cmdline").read_text(errors="replace").replace("\0", " ").strip()
