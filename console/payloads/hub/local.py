"""A model without a manifest: complete when config, tokenizer and every shard have their announced lengths."""

from __future__ import annotations

import os
from typing import Any

from . import strangers
from .manifest import INDEX_BYTES

TOKENIZERS = ("tokenizer.json", "tokenizer.model", "tiktoken.model", "vocab.json", "tokenizer_config.json")
HEADER_LIMIT = 100 << 20
OTHER_WEIGHTS = (".bin", ".pt", ".pth", ".gguf", ".onnx", ".h5", ".msgpack")


def expected_bytes(path: str) -> int | None:
    """Length of a safetensors file by its own header: 8 + n + the largest offset. None when it has no such header."""
    try:
        with open(path, "rb") as file:
            length = int.from_bytes(file.read(8), "little")
            if not 0 < length <= HEADER_LIMIT:
                return None
            header = strangers.parse(file.read(length))
        ends = [tensor["data_offsets"][1] for name, tensor in header.items() if name != "__metadata__"]
        return 8 + length + max(ends, default=0)
    except (OSError, ValueError, KeyError, TypeError, IndexError, AttributeError):
        return None


def shards_of(root: str) -> list[str]:
    """The shards that the index names; without an index every safetensors file that is there."""
    names = sorted(os.listdir(root))
    indexes = [name for name in names if name.endswith(".safetensors.index.json")]
    found = set()
    for name in indexes:
        try:
            found.update(strangers.shards(strangers.read_json(os.path.join(root, name), INDEX_BYTES)))
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            continue
    return sorted(found) if indexes else [name for name in names if name.endswith(".safetensors")]


def check(root: str) -> dict[str, Any]:
    """`{"bad": […], "files", "ok", "total_bytes"}` of the shards: `bad` is empty when everything that must be there
    is there, config and tokenizer too."""
    bad: list[dict[str, Any]] = []
    if not os.path.isfile(os.path.join(root, "config.json")):
        bad.append(_item("config.json", "missing", None, None))
    if not any(os.path.isfile(os.path.join(root, name)) for name in TOKENIZERS):
        bad.append(_item("tokenizer.json", "missing", None, None))
    shards, total, fine = shards_of(root) if os.path.isdir(root) else [], 0, 0
    if not shards:
        bad.append(_item("*.safetensors", "missing", None, None))
    for shard in shards:
        full = os.path.join(root, shard)
        if not os.path.isfile(full):
            bad.append(_item(shard, "index_missing", None, None))
            continue
        size, expected = os.stat(full).st_size, expected_bytes(full)
        total += size
        fine += size == expected
        if size != expected:
            kind = "truncated" if expected is None or size < expected else "corrupt"
            bad.append(_item(shard, kind, expected, size))
    return {"bad": bad, "files": len(shards), "ok": fine, "total_bytes": total}


def proof(root: str, checked: dict[str, Any]) -> str:
    """What the directory alone proves: `names_sizes` when everything is there; `dummy` when only the weights are not,
    none of them; `partial` when some are; else `none`."""
    if not checked["bad"]:
        return "names_sizes"
    if any(not item["path"].endswith(".safetensors") for item in checked["bad"]):
        return "none"
    if checked["total_bytes"]:
        return "partial"
    return "none" if any(name.endswith(OTHER_WEIGHTS) for name in os.listdir(root)) else "dummy"


def _item(path: str, kind: str, expected: int | None, actual: int | None) -> dict[str, Any]:
    sizes = {"expected_bytes": expected, "actual_bytes": actual}
    return {"path": path, "kind": kind, "expected_sha256": None, "actual_sha256": None, **sizes}
