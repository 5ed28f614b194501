"""SGLang's captured logs and answers, as tests read them."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

from console.serve.parse import LogParser
from console.serve.record import Record
from console.serve.story import Story

CAPTURES = Path(__file__).parents[1] / "captures"
H200, CPU = "sglang-0.5.11-h200", "sglang-0.5.23-cpu"
READINGS: dict[str, dict[str, Any]] = json.loads((CAPTURES / "readings.json").read_text("utf-8"))


def log_bytes(name: str) -> bytes:
    """A captured log: `sglang-0.5.11-h200/tp2/server.log`."""
    return (CAPTURES / name).read_bytes()


def parse(data: bytes, chunk: int | None = None) -> list[Record]:
    """All records of a log, fed in chunks."""
    parser = LogParser()
    size = chunk or max(1, len(data))
    records = [record for at in range(0, len(data), size) for record in parser.feed(data[at : at + size])]
    return records + parser.close()


def story_of(data: bytes) -> Story:
    """The story of a whole log."""
    story = Story()
    for record in parse(data):
        story.add(record)
    return story


def capture_json(name: str) -> Any:
    return json.loads((CAPTURES / name).read_text("utf-8"))


def metric_rows(name: str) -> list[dict[str, Any]]:
    """The stored `/metrics` rows of a run: {t, lines}."""
    with gzip.open(CAPTURES / name, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]
