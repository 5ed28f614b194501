"""Synthetic repositories: commits, gates, who may read."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from console.demo.hub.content import Content, safetensors, text

Gate = Literal["", "auto", "manual"]
Standing = Literal["pending", "rejected", "accepted"]
LFS_SUFFIXES = (".safetensors", ".bin", ".gguf", ".pt")


def is_lfs(path: str) -> bool:
    """Whether a file of this name is kept in LFS, as the Hub's attributes say by default."""
    return path.endswith(LFS_SUFFIXES)


@dataclass(frozen=True)
class User:
    """The owner of a token."""

    name: str
    role: str = "read"
    reads_gated: bool = True


@dataclass
class Repo:
    """One model repository. Old commits stay readable when a branch moves."""

    id: str
    gate: Gate = ""
    private_to: frozenset[str] | None = None
    disabled: bool = False
    standings: dict[str, Standing] = field(default_factory=dict)
    branches: dict[str, str] = field(default_factory=dict)
    commits: dict[str, dict[str, Content]] = field(default_factory=dict)

    def commit(self, files: Mapping[str, Content], branch: str = "main") -> str:
        """Makes `files` the tree of `branch`, returns the new commit's 40 hex digits."""
        names = "".join(
            f"{path}:{content.size}:{content.seed}:{content.head!r}" for path, content in sorted(files.items())
        )
        sha = hashlib.sha1(f"{self.id}{len(self.commits)}{names}".encode()).hexdigest()
        self.commits[sha] = dict(files)
        self.branches[branch] = sha
        return sha

    def resolve(self, revision: str) -> str | None:
        """The commit of a branch, or the commit itself; None when there is no such revision."""
        return self.branches.get(revision) or (revision if revision in self.commits else None)

    def files(self, revision: str = "main") -> dict[str, Content]:
        """The tree of a revision that exists."""
        return self.commits[self.resolve(revision) or ""]


def model_files(
    shards: int, shard_bytes: int, *, seed: int = 1, config: Mapping[str, object] | None = None, announced: bool = False
) -> dict[str, Content]:
    """The files of a sharded model: config, tokenizer, index, and shards with true safetensors headers."""
    names = [f"model-{number:05d}-of-{shards:05d}.safetensors" for number in range(1, shards + 1)]
    weights = {name: f"layers.{index}.weight" for index, name in enumerate(names)}
    index = {"metadata": {"total_size": shards * shard_bytes}, "weight_map": {w: n for n, w in weights.items()}}
    small = {
        "README.md": text("# A synthetic model\n"),
        "config.json": text(json.dumps(config or {"architectures": ["LlamaForCausalLM"], "model_type": "llama"})),
        "generation_config.json": text('{"temperature": 0.6}'),
        "tokenizer.json": text('{"version": "1.0"}'),
        "tokenizer_config.json": text("{}"),
        "model.safetensors.index.json": text(json.dumps(index)),
    }
    return small | {
        name: safetensors(shard_bytes, seed * 1000 + number, weights[name], announced=announced)
        for number, name in enumerate(names)
    }
