"""What the Hub's side costs: `python tests/perf/hub_cost.py` prints each budget with its measurement.

Download: five interleaved pairs of the library alone and of our job, against a paced Hub on loopback. Verification:
against `sha256sum` over the same cached files with as many processes as we have threads.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parents[2]))

from console.demo.hub import FakeHub, model_files
from console.payloads.hub.hashing import Progress, hash_all
from tests.perf.table import Row
from tests.support.gpudeck import Gpudeck
from tests.support.hub import Job, ask, environment, new_hub
from tests.support.laptop import Laptop

REPO, DRAFTER = "moonshotai/Kimi-K2.6", "z-lab/Kimi-K2.6-DFlash"
MB = 1_000_000
ALONE = """
import os, sys
import huggingface_hub
huggingface_hub.snapshot_download(sys.argv[1], local_dir=sys.argv[2])
"""


def download(hub: FakeHub, root: Path, pairs: int = 5) -> tuple[float, float]:
    """Median seconds of the library alone and of our job."""
    alone, ours = [], []
    hub.faults.paths, hub.faults.rate_bytes_s = (".safetensors",), 4.0 * MB
    for number in range(pairs):
        env = environment(hub, root / f"hf{number}", HF_HUB_DISABLE_PROGRESS_BARS="1")
        before = time.monotonic()
        subprocess.run(
            [sys.executable, "-c", ALONE, REPO, str(root / f"a{number}")], check=True, env={**os.environ, **env},
            stdout=subprocess.DEVNULL,
        )  # fmt: skip
        alone.append(time.monotonic() - before)
        job = root / f"job{number}"
        job.mkdir()
        looked = ask([{"op": "repo", "repo": REPO}], env)[0]["ok"]  # the gates have asked before, as for the command
        config = {"job": "download", "env": env, "path": str(root / f"o{number}"), "verify": False}
        config |= {key: looked[key] for key in ("repo", "commit", "files")}
        before = time.monotonic()
        assert Job(config, folder=job).end(120)[0] == 0
        ours.append(time.monotonic() - before)
    hub.faults.rate_bytes_s = 0.0
    return statistics.median(alone), statistics.median(ours)


def following(hub: FakeHub, root: Path) -> float:
    """Per cent of a core that the console takes while it follows a download, over ten seconds."""
    (root / "laptop").mkdir()
    gpudeck = Gpudeck(Laptop(root / "laptop"))
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    env = gpudeck.env | environment(hub, root / "hf-follow") | {"HOME": str(root), "PATH": path}
    hub.faults.paths, hub.faults.rate_bytes_s = (".safetensors",), 1.5 * MB
    words = ("download", "local", REPO, "--dir", str(root / "followed"), "--accept", "tight")
    console = subprocess.Popen(gpudeck.argv(*words), env=env, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    while not list((root / "followed").glob("*/.cache/huggingface/download/*.incomplete")):
        time.sleep(0.1)
    time.sleep(2.0)
    before = cpu_s(console.pid)
    time.sleep(10.0)
    used = cpu_s(console.pid) - before
    hub.faults.rate_bytes_s = 0.0
    console.wait()
    return used * 10.0


def cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def verification(root: Path) -> tuple[float, float]:
    """Bytes per second of parallel sha256sum, and of ours, the best of three each."""
    threads, block = os.cpu_count() or 1, os.urandom(1 << 20)
    files: list[tuple[str, dict[str, Any]]] = []
    for number in range(2 * threads):
        with (root / f"shard{number}").open("wb") as file:
            for _ in range(256):
                file.write(block)
        files.append((f"shard{number}", {"size": 256 << 20, "sha256": "x"}))
    total = sum(entry["size"] for _, entry in files)
    theirs, ours = [], []
    for _ in range(3):
        before = time.monotonic()
        running = [
            subprocess.Popen(
                ["sha256sum", *(str(root / name) for name, _ in files[number::threads])], stdout=subprocess.DEVNULL
            )
            for number in range(threads)
        ]
        for process in running:
            process.wait()
        theirs.append(total / (time.monotonic() - before))
        before = time.monotonic()
        assert len(list(hash_all(str(root), files, Progress()))) == len(files)
        ours.append(total / (time.monotonic() - before))
    return max(theirs), max(ours)


def looking(hub: FakeHub, root: Path) -> float:
    """Median seconds for token, access and sizes of both repositories."""
    ops = [{"op": "token_status"}, {"op": "repo", "repo": REPO}, {"op": "repo", "repo": DRAFTER}]
    taken = []
    for _ in range(5):
        before = time.monotonic()
        ask(ops, environment(hub, root / "hf-look"))
        taken.append(time.monotonic() - before)
    return statistics.median(taken)


class Costs(NamedTuple):
    """Seconds, bytes a second, and per cent of a core; see the functions above."""

    look_s: float
    theirs_bytes_s: float
    ours_bytes_s: float
    alone_s: float
    ours_s: float
    console_pct: float


def measured() -> Costs:
    hub = new_hub()
    hub.add(REPO, model_files(8, 50 * MB))
    hub.add(DRAFTER, model_files(1, 20 * MB, seed=7))
    with hub, tempfile.TemporaryDirectory() as place:
        root = Path(place)
        look_s = looking(hub, root)
        return Costs(look_s, *verification(root), *download(hub, root), following(hub, root))


def rows() -> list[Row]:
    cost = measured()
    return [
        Row(measure="token, access and sizes of two repositories", value=cost.look_s, unit="s", budget=2.0),
        Row(measure="verification", value=cost.ours_bytes_s / cost.theirs_bytes_s, budget=0.9, at_least=True,
            base=f"parallel sha256sum, {cost.theirs_bytes_s / 1e6:,.0f} MB/s"),
        Row(measure="download job", value=cost.ours_s / cost.alone_s, budget=1.05,
            base=f"the library alone, {cost.alone_s:.1f} s; medians of 5 pairs"),
        Row(measure="console, following a download", value=cost.console_pct, unit="% of a core", budget=2),
    ]  # fmt: skip


def main() -> None:
    look_s, theirs, mine, alone, ours, console_pct = measured()
    result = {
        "look_s": round(look_s, 2), "look_budget_s": 2.0,
        "verify_ratio": round(mine / theirs, 3), "verify_budget_ratio": 0.9, "verify_bytes_s": round(mine),
        "download_alone_s": round(alone, 2), "download_ours_s": round(ours, 2),
        "download_ratio": round(ours / alone, 3), "download_budget_ratio": 1.05,
        "console_pct": round(console_pct, 2), "console_budget_pct": 2.0,
    }  # fmt: skip
    sys.stdout.write(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
