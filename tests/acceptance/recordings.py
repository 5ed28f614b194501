"""Recordings of an acceptance for the tests: without serial numbers, with their end states.

    python -m tests.acceptance.recordings WORK OUT FROM=TO [FROM=TO …]

Writes OUT/NAME.jsonl (`.gz` above 300 kB) and OUT/NAME.json, the end state that a replay must reach for ever. GPU
UUIDs and boot ids are invented anew, the same one for the same GPU everywhere; FROM=TO names paths and other words.
The log's lines of single requests and batches are left out: of a benchmark they are nine tenths.
"""

from __future__ import annotations

import gzip
import json
import re
import sys
from pathlib import Path
from typing import Any

from console.session.replay import Replay
from console.values import dump_json
from console.views.replay import replay_object

LARGE = 300_000
UUID = re.compile(r"GPU-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
BOOT = re.compile(r'("boot_id":")[0-9a-f-]{36}')
EACH = re.compile(r'"POST /generate|^(Prefill|Decode) batch')
GPU = ("index", "uuid", "name", "state", "memory_total_bytes", "memory_used_bytes", "power_limit_w", "processes")
SERVER = (
    "id", "owner", "phase", "port", "recipe", "dummy", "proved_by", "limits", "actuals", "kind", "cause",
    "cause_phase", "exit_code", "signal", "memory_returned",
)  # fmt: skip
POINT = ("name", "concurrency", "requests", "output_tok_s", "accept_length", "energy_j_tok", "flags")


def end_state(path: Path) -> dict[str, Any]:
    """What must stay true of a recording's end: hardware, servers, measured points."""
    replay = Replay(path)
    replay.advance()
    whole = json.loads(dump_json(replay_object(replay.state, replay.warnings)))
    hosts = {}
    for name, told in whole["hosts"].items():
        servers = told["servers"] or []
        hosts[name] = {
            "link": told["link"]["state"],
            "gpus": [{key: gpu[key] for key in GPU} for gpu in told["gpus"]],
            "servers": [{key: one[key] for key in SERVER} for one in servers],
            "smoked": [one["id"] for one in servers if one["smoke"] and one["smoke"]["ok"]],
        }
    points = [[{key: point[key] for key in POINT} for point in run["points"]] for run in whole["runs"]]
    return {"warnings": whole["warnings"], "hosts": hosts, "points": points}


def scrubbed(text: str, words: dict[str, str], uuids: dict[str, str]) -> str:
    for found in UUID.findall(text):
        number = len(uuids) + 1
        uuids.setdefault(found, f"GPU-{number:08d}-aaaa-4bbb-8ccc-{number:012d}")
    text = UUID.sub(lambda match: uuids[match[0]], text)
    text = BOOT.sub(r"\g<1>00000000-0000-4000-8000-000000000001", text)
    for before, after in words.items():
        text = text.replace(before, after)
    return text


def thinned(text: str) -> str:
    """Without the log lines that a server writes for every request and batch."""
    lines = []
    for line in text.splitlines():
        fact = json.loads(line)
        if isinstance(fact, list) and fact[2] == "ServerLogged":
            fact[3]["rows"] = [row for row in fact[3]["rows"] if not EACH.search(row[-1])]
            line = json.dumps(fact, separators=(",", ":"), ensure_ascii=False)
        lines.append(line)
    return "\n".join(lines) + "\n"


def main() -> None:
    work, out, words = Path(sys.argv[1]), Path(sys.argv[2]), dict(pair.split("=", 1) for pair in sys.argv[3:])
    out.mkdir(parents=True, exist_ok=True)
    uuids: dict[str, str] = {}
    for path in sorted((work / "recordings").glob("*.jsonl")):
        data = scrubbed(thinned(path.read_text("utf-8")), words, uuids).encode()
        to = out / (path.name + ".gz" if len(data) > LARGE else path.name)
        to.write_bytes(gzip.compress(data, 9, mtime=0) if len(data) > LARGE else data)
        (out / f"{path.stem}.json").write_text(json.dumps(end_state(to), indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
