"""What a target and its drafter are called together: the key under which exact verification is remembered."""

from __future__ import annotations

import hashlib
import json

from console.gates.inputs import Inputs, Repository
from console.values import known

# Beside everything speculative: the arguments that decide which kernels verify a tree, and in which numbers.
_NUMERIC = ("attention-backend", "linear-attn", "mamba", "dtype", "quantization")


def pair_of(inputs: Inputs) -> str:
    """16 hexadecimal digits over target, drafter, their revisions, SGLang's version and the arguments above; empty
    without speculation, or when one of them is not known."""
    args = inputs.args
    if not args.get("speculative-algorithm") or not known(inputs.engine) or not known(inputs.engine.version):
        return ""
    drafts = [(inputs.recipe.draft, _revision(inputs.draft, inputs.revisions[1]))] if inputs.draft else []
    named = [(inputs.recipe.model, _revision(inputs.target, inputs.revisions[0])), *drafts]
    if not all(revision for _, revision in named):
        return ""
    chosen = {name: args[name] for name in sorted(args) if _decides(name) and args[name] is not False}
    text = json.dumps([named, inputs.engine.version, chosen], separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _decides(name: str) -> bool:
    return name.startswith("speculative") or any(word in name for word in _NUMERIC)


def _revision(repository: Repository, commit: str) -> str:
    """The commit; of a directory without one the hash of its configuration."""
    if commit or not known(repository.config):
        return commit
    text = json.dumps(repository.config.data, sort_keys=True, separators=(",", ":"))
    return "config:" + hashlib.sha256(text.encode()).hexdigest()[:16]
