"""What `/server_info` means for a comparison: the treatment, the drafter, the limits."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from console.values import Unknown

Info = Mapping[str, Any]

TREATMENT = {
    "tp_size": "tp",
    "pp_size": "pp",
    "ep_size": "ep",
    "dp_size": "dp",
    "quantization": "quantization",
    "kv_cache_dtype": "kv_dtype",
    "attention_backend": "attention",
    "speculative_algorithm": "speculative",
    "speculative_num_draft_tokens": "draft_tokens",
    "speculative_eagle_topk": "topk",
    "page_size": "page_size",
    "version": "version",
}
TREE_MARKS = ("TREE", "NGRAM")


def treatment(info: Info) -> dict[str, Any]:
    """The keys that make the legend; graphs and overlap are said positively."""
    found = {ours: info[theirs] for theirs, ours in TREATMENT.items() if info.get(theirs) is not None}
    for theirs, ours in (("disable_cuda_graph", "graphs"), ("disable_overlap_schedule", "overlap")):
        if isinstance(info.get(theirs), bool):
            found[ours] = not info[theirs]
    return found


def gpus(info: Info) -> int | Unknown:
    """GPUs that the server holds by its arguments: tp × pp × replicas; ep and attention dp subdivide tp."""
    sizes = [info.get(name, 1) for name in ("tp_size", "pp_size")] if "tp_size" in info else []
    sizes += [] if info.get("enable_dp_attention") else [info.get("dp_size", 1)]
    if len(sizes) < 2 or not all(isinstance(size, int) and size > 0 for size in sizes):
        return Unknown("the tool tells no tp_size")
    return int(math.prod(sizes))


def has_drafter(info: Info) -> bool:
    return bool(info.get("speculative_algorithm"))


def verifies_trees(info: Info) -> bool:
    """Drafts branch: a tree algorithm, or a chain algorithm with more than one candidate a step."""
    topk, algorithm = info.get("speculative_eagle_topk"), str(info.get("speculative_algorithm") or "")
    return any(mark in algorithm for mark in TREE_MARKS) or (isinstance(topk, int) and topk > 1)


def weights_kind(info: Info) -> str:
    return "dummy" if info.get("load_format") == "dummy" else "real"
