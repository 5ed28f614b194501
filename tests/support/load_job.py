"""Runs the load worker as it runs on a box: a bundle on standard input of an isolated interpreter."""

from __future__ import annotations

import asyncio
import gzip
import json
import os
import sys
from pathlib import Path
from typing import Any

from console.remote.bundle import STAGE0, bundle, frame


def config(port: int, **changes: Any) -> dict[str, Any]:
    """A quick run of one point at C = 4."""
    base: dict[str, Any] = {
        "host": "127.0.0.1",
        "port": port,
        "backend": "generate",
        "model": "m",
        "sampling": {"temperature": 0},
        "ignore_eos": True,
        "osl": 16,
        "cache": "cold",
        "dataset": {"kind": "ids", "isl": 12, "vocabulary": 512, "seed": 1},
        "nonce_seed": "n1",
        "points": [{"name": "c0004-r0", "concurrency": 4, "repeat": 0}],
        "bin_s": 0.06,
        "warmup_max_s": 0.3,
        "window_s": 0.3,
        "window_max_s": 0.3,
        "flush_s": 3,
        "drain_s": 1,
        "calibrate_s": 0,
        "gpus": [],
        "max_s": 30,
    }
    return {**base, **changes}


async def start(directory: Path, settings: dict[str, Any], **more: str) -> asyncio.subprocess.Process:
    env = more | {"PATH": os.environ["PATH"], "XDG_STATE_HOME": str(directory / "state")}
    env |= {"GPUDECK_JOB_DIR": str(directory), "GPUDECK_API_KEY": "sk-mine"}
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-I",
        "-u",
        "-c",
        STAGE0,
        stdin=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=env,
    )
    assert process.stdin is not None
    process.stdin.write(frame(bundle("console.payloads.load", settings)))
    await process.stdin.drain()
    return process


async def run(directory: Path, settings: dict[str, Any], **more: str) -> tuple[int, str]:
    """Exit status and standard error."""
    process = await start(directory, settings, **more)
    _, errors = await process.communicate()
    return process.returncode or 0, errors.decode()


def result(directory: Path, name: str = "c0004-r0") -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The point's result and its requests."""
    body = json.loads((directory / "points" / f"{name}.json").read_text())
    lines = gzip.decompress((directory / "points" / f"{name}.ndjson.gz").read_bytes()).decode().splitlines()
    return body, [json.loads(line) for line in lines]


def progress(directory: Path, kind: str) -> list[dict[str, Any]]:
    rows = [json.loads(line) for line in (directory / "progress.ndjson").read_text().splitlines()]
    return [row for row in rows if row["k"] == kind]
