"""Acceptance on a box with NVIDIA GPUs: what was built on fakes, run against the real thing.

    python -m tests.acceptance WORK prepare --gpudeck "gpudeck" --python P --models DIR [--env NAME=VALUE …]
    python -m tests.acceptance WORK STEP [STEP …] [--until S]

GPU time is short, so everything is a step of one program, each independent of the others' success: a step writes
`WORK/results/STEP.json` (its commands with exit code, seconds, output; what it found) and recordings of its sessions
in `WORK/recordings/`; it never raises. `--until` is a time plan: no step begins later than S seconds after the start.
`python -m tests.acceptance.recordings` makes recordings fit for `tests/recordings/acceptance`.
Compile the packages of P first (`python -m compileall`), else each start spends a minute on it; run nothing beside
`opinion` and `sweep`: both measure, and `sweep` stops whatever this user serves. Two GPUs are needed
for `tp2`, `smoke` and two lanes at a time; one is enough for the rest.

`prepare` builds two model folders without weights (28 layers, hidden 2048; a DFlash drafter of 4 layers) from the
tokenizers in `DIR/tiny` and `DIR/tiny-draft`, and recipes with `load-format = "dummy"`. P is an interpreter with
SGLang and torch; `--env` goes into the recipes. `gpudeck` runs here, on the box itself, as host `local`.

Steps, with their usual seconds; `A` uses GPU 0 and `B` GPU 1, so that the lanes can run side by side:

    look (25)          status against nvidia-smi, before and after; again over an SSH server on loopback
    cost (30)          what a sample costs per GPU, what the agent costs
    plan (60)          every gate of every recipe, dry; introspection included
    foreign (35)       a process that holds GPU 1: who it is, and what the gates say
  A deploy-ar (110)    from the recipe to READY and smoke test; both kinds of graphs
  A opinion (190)      bench at C = 1, 8, 64 and SGLang's own benchmark on the same server
  A deploy-calm (80)   the same with eight tokens an event, so that the front end is idle
  A mixed (180)        both clients with lengths that vary, so that no users move in step
  A calm (160)         both clients with fixed lengths there
  A sweep (550)        autoregressive, NGRAM, DFLASH at C = 1, 8, 64; the report exported; DFLASH stays
  A accept-dflash (40) accept length, ours and per request
  A screen (50)        every screen while the server is measured; status against nvidia-smi, also over SSH
  A kill (15)          SIGKILL to that server's scheduler
  A stop-a (10)        stop, memory back
  B faults (30)        a flag value that SGLang does not have; a port that is taken
  B oom (50)           out of memory at a fraction of 0.999
  B deploy-dflash (90) and its stop
  B resume (80)        a following `deploy` is killed with SIGKILL; status finds the server, a second deploy follows it
  B accept-ngram (40)  accept length, ours and per request
  B stop-b (10)        stop, memory back
    smoke (25)         the all-reduce over two GPUs
    tp2 (110)          deploy over two GPUs, status under load, stop
"""

from __future__ import annotations

import argparse
import json
import time
import traceback
from pathlib import Path

from tests.acceptance import faults, lives, measuring, screen, sight
from tests.acceptance.place import Place, Step, prepare

STEPS: dict[str, Step] = {
    "look": sight.look,
    "cost": sight.cost,
    "plan": lives.plan,
    "foreign": faults.foreign,
    "deploy-ar": lives.deploy_ar,
    "opinion": measuring.opinion,
    "deploy-calm": lives.deploy_calm,
    "mixed": measuring.mixed,
    "calm": measuring.calm,
    "sweep": measuring.sweep,
    "accept-dflash": measuring.accept_dflash,
    "accept-ngram": measuring.accept_ngram,
    "screen": screen.screen,
    "stop-a": lives.stop_a,
    "stop-b": lives.stop_b,
    "faults": faults.refused,
    "oom": faults.out_of_memory,
    "deploy-dflash": lives.deploy_dflash,
    "resume": faults.resume,
    "kill": faults.kill_scheduler,
    "smoke": lives.smoke,
    "tp2": lives.tp2,
}


def run(place: Place, name: str) -> None:
    """One step, its result on disk whatever happens."""
    place.begin(name)
    try:
        STEPS[name](place)
    except Exception:
        place.fact("error", traceback.format_exc())
    place.end()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.acceptance")
    parser.add_argument("work", type=Path)
    parser.add_argument("steps", nargs="+", choices=["prepare", *STEPS])
    parser.add_argument("--gpudeck", default="gpudeck")
    parser.add_argument("--python", default="python3")
    parser.add_argument("--models", type=Path)
    parser.add_argument("--env", action="append", default=[])
    parser.add_argument("--args", default="{}", help="more flags for every recipe, JSON")
    parser.add_argument("--until", type=float, default=1e9)
    given = parser.parse_args()
    began = time.monotonic()
    for name in given.steps:
        if name == "prepare":
            prepare(given.work, given.gpudeck, given.python, given.models, given.env, json.loads(given.args))
        elif time.monotonic() - began < given.until:
            run(Place(given.work), name)


if __name__ == "__main__":
    main()
