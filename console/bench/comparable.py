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

NAMES = {
    "model_sha": "the model's commit",
    "dataset_sha": "the data set",
    "input_spec": "the input length",
    "output_spec": "the output length",
    "ignore_eos": "whether EOS ends an answer",
    "cache_preset": "the state of the prefix cache",
    "weights_kind": "the kind of weights",
}
SHOWN_CHARS = 40

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
    name = NAMES.get(key, "the " + key.replace("_", " "))
    if a.get(key) is None and b.get(key) is None:
        return f"{name} is not known of either run"
    if a.get(key) is None or b.get(key) is None:
        told = b[key] if a.get(key) is None else a[key]
        return f"{name} is known of one run alone: {_short(told)}"
    return f"{name} differs: {_short(a[key])} against {_short(b[key])}"


def _short(value: Any) -> str:
    """A hash by its beginning."""
    text = str(value)
    return text if len(text) <= SHOWN_CHARS else text[:12] + "…"


def treatment_names(setups: list[Setup]) -> list[str]:
    """The treatment keys in which the runs differ: the legend."""
    keys = sorted({key for setup in setups for key in setup})
    return [key for key in keys if len({json.dumps(setup.get(key), sort_keys=True) for setup in setups}) > 1]


def noted(a: Setup, b: Setup) -> list[str]:
    """Differences that are allowed but belong into every verdict: `differs also in …`."""
    return [key for key in NOTED_KEYS if a.get(key) != b.get(key)]
