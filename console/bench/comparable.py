"""May two runs be compared? The same question must have been asked of both; everything else is the treatment."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

HASH_KEYS = (
    "model_sha", "dataset_sha", "input_spec", "output_spec", "ignore_eos", "sampling", "cache_preset",
    "load_mode", "prompt_format", "weights_kind",
)  # fmt: skip
NOTED_KEYS = ("graphs", "overlap", "page_size", "power_limit_w", "clocks", "driver", "version")
ALWAYS_NEEDED = HASH_KEYS[:-1]

Setup = Mapping[str, Any]


def comparable_hash(setup: Setup) -> str:
    """16 hexadecimal digits over the keys that must agree."""
    text = json.dumps([[key, setup.get(key)] for key in HASH_KEYS], sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def refusals(a: Setup, b: Setup) -> list[str]:
    """The keys that forbid a comparison: different, or not known on either side."""
    return [
        key
        for key in HASH_KEYS
        if a.get(key) != b.get(key) or (key in ALWAYS_NEEDED and a.get(key) is None and b.get(key) is None)
    ]


def refusal_sentence(key: str, a: Setup, b: Setup) -> str:
    name = key.replace("_", " ")
    if a.get(key) is None or b.get(key) is None:
        return f"{name} is not known of {'both' if a.get(key) is None and b.get(key) is None else 'one'}"
    return f"{name} differs: {a[key]} against {b[key]}"


def treatment_names(setups: list[Setup]) -> list[str]:
    """The treatment keys in which the runs differ: the legend."""
    keys = sorted({key for setup in setups for key in setup})
    return [key for key in keys if len({json.dumps(setup.get(key), sort_keys=True) for setup in setups}) > 1]


def noted(a: Setup, b: Setup) -> list[str]:
    """Differences that are allowed but belong into every verdict: `differs also in …`."""
    return [key for key in NOTED_KEYS if a.get(key) != b.get(key)]
