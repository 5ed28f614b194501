"""Measured on the real server: our worker beside SGLang's own benchmark, a sweep with its report, accept lengths."""

from __future__ import annotations

import json
import random
import subprocess
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from tests.acceptance.place import LANE_A, LANE_B, Place
from tests.acceptance.watch import Watch

ISL, OSL = 256, 128
LENGTHS = ("--isl", str(ISL), "--osl", str(OSL))
WINDOW = ("--window", "10")
FORMS = ("md", "html", "csv", "json", "latex")
ASKED, USERS = 256, 8


def opinion(place: Place) -> None:
    """The same question asked by two clients of lane A's autoregressive server, the server's counters beside them."""
    _both(place, "ar", "1,8,64", *WINDOW, record="bench-ar", limit_s=400)


def _both(place: Place, recipe: str, users: str, *window: str, record: str, limit_s: float) -> None:
    words = ("--recipe", recipe, "--server", str(LANE_A), "--concurrency", users, *LENGTHS, *window)
    with Watch(LANE_A) as watch:
        done = place.run("bench", "local", *words, "--second-opinion", record=record, limit_s=limit_s)
    place.fact("code", done.code)
    place.fact("watched", watch.rows)
    runs = (place.run("runs", "list").data or {}).get("runs", [])
    _shown(place, [one["id"] for one in runs])
    for one in [run["id"] for run in runs if run["id"].endswith("-sglang")][:1]:
        place.run("runs", "compare", one.removesuffix("-sglang"), one)


def mixed(place: Place) -> None:
    """Both clients with lengths that vary by half, so that no users move in step."""
    words = ("--recipe", "calm", "--server", str(LANE_A), "--concurrency", "8,64", "--osl", str(OSL), "--window", "8")
    found: list[Any] = []
    with Watch(LANE_A) as watch:
        for turn in ("ours", "sglang"):
            if turn == "ours":
                done = place.run("bench", "local", *words, "--dataset", "mixed.jsonl", "--warm-cache", limit_s=170)
                found += [["ours", *_rates(point)] for point in (done.data or {}).get("points", [])]
            else:
                found += [["sglang", *_benchmark(place, users, count)] for users, count in ((8, 800), (64, 3840))]
            place.fact("rates", found)
    place.fact("watched", watch.rows)


def _rates(point: dict[str, Any]) -> list[Any]:
    return [point["concurrency"], point["output_tok_s"], point["output_tok_s_ci"], point["requests"], point["flags"]]


def _benchmark(place: Place, users: int, count: int) -> list[Any]:
    """SGLang's own tool with the lengths of `mixed.jsonl`: each uniform between a half and the whole."""
    out = place.work / f"mixed-{users}.jsonl"
    argv = [
        place.python, "-m", "sglang.bench_serving", "--backend", "sglang", "--base-url", f"http://127.0.0.1:{LANE_A}",
        "--model", str(place.work / "models" / "target"), "--dataset-name", "random-ids", "--tokenize-prompt",
        "--random-input-len", str(ISL), "--random-output-len", str(OSL), "--random-range-ratio", "0.5",
        "--num-prompts", str(count), "--max-concurrency", str(users), "--output-file", str(out), "--disable-tqdm",
    ]  # fmt: skip
    env = {**place.env, **place.recipe_env, "HF_HUB_OFFLINE": "1"}
    subprocess.run(argv, env=env, cwd=place.work, check=True, capture_output=True, timeout=120)
    row = json.loads(out.read_text().splitlines()[-1])
    return [users, row["output_throughput"], row["duration"], row["completed"], row["concurrency"]]


def calm(place: Place) -> None:
    """Fixed lengths by the product's own second opinion, on the server whose front end is idle."""
    _both(place, "calm", "8,64", "--window", "8", record="bench-calm", limit_s=240)


def sweep(place: Place) -> None:
    with Watch(LANE_A) as watch:
        done = place.run("sweep", "local", "compare.toml", *LENGTHS, *WINDOW, record="sweep", limit_s=560)
    place.fact("code", done.code)
    place.fact("watched", watch.rows)
    found = done.data if isinstance(done.data, dict) else {}
    _shown(place, found.get("runs", []))
    for form in FORMS:
        out = str(place.work / "report")
        place.run("runs", "export", found.get("sweep", "compare"), "--format", form, "--out", out)


def accept_ngram(place: Place) -> None:
    """Lane B's server."""
    accept(place, LANE_B)


def accept_dflash(place: Place) -> None:
    """Lane A's server, as the sweep leaves it."""
    accept(place, LANE_A)


def accept(place: Place, port: int) -> None:
    """Accept length: ours, measured over streams, and what /generate tells of each of other requests, without ours."""
    words = ("--server", str(port), "--concurrency", str(USERS), *LENGTHS, *WINDOW)
    done = place.run("bench", "local", *words, record=f"accept-{port}", limit_s=200)
    points = done.data.get("points", []) if isinstance(done.data, dict) else []
    keys = ("accept_length", "accept_counts", "accept_ratio", "output_tok_s", "requests")
    place.fact("measured", [{key: point.get(key) for key in keys} for point in points])
    with ThreadPoolExecutor(USERS) as pool:
        told = list(pool.map(lambda seed: _asked(port, seed), range(ASKED)))
    place.fact("details", told)
    verify = sum(one.get("spec_verify_ct") or 0 for one in told)
    drafts = sum(one.get("spec_accepted_drafts") or 0 for one in told)
    tokens = sum(one.get("completion_tokens") or 0 for one in told)
    if verify:
        place.fact("pooled", {"accept_length": 1 + drafts / verify, "tokens_per_verify": tokens / verify})
    seen = place.run("status", "local").data
    place.fact("status", [[one["id"], one["accept_length"]] for one in seen["servers"]])


def _asked(port: int, seed: int) -> dict[str, Any]:
    source = random.Random(seed)
    body = {
        "input_ids": [source.randrange(16, 512) for _ in range(ISL)],
        "sampling_params": {"temperature": 0, "max_new_tokens": OSL, "ignore_eos": True},
    }
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}/generate", json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=60) as answer:
        meta = json.loads(answer.read())["meta_info"]
    return {key: value for key, value in meta.items() if key == "completion_tokens" or key.startswith("spec_")}


def _shown(place: Place, names: list[str]) -> None:
    for name in names:
        place.fact(name, place.run("runs", "show", name).data)
