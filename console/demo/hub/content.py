"""What a synthetic file holds: bytes that cost no memory, with the hashes the Hub would announce."""

from __future__ import annotations

import hashlib
import json
import random
from dataclasses import dataclass
from functools import cached_property

BLOCK = 1 << 20


@dataclass(frozen=True)
class Content:
    """`head` followed by a deterministic pattern up to `size` bytes.

    `announced` sizes have no bytes behind them: the hashes are made up, and reading raises `LookupError`, so
    that a 595 GB repository can be listed on a laptop.
    """

    size: int
    head: bytes = b""
    seed: int = 0
    announced: bool = False

    @cached_property
    def block(self) -> bytes:
        return random.Random(self.seed).randbytes(BLOCK)

    def read(self, offset: int, count: int) -> bytes:
        """At most `count` bytes from `offset`, and at most what one block holds."""
        if self.announced:
            raise LookupError("only announced")
        count = min(count, self.size - offset)
        if count <= 0:
            return b""
        if offset < len(self.head):
            return self.head[offset : offset + count]
        place = (offset - len(self.head)) % BLOCK
        return self.block[place : place + min(count, BLOCK - place)]

    def _digest(self, start: bytes, name: str) -> str:
        digest = hashlib.new(name, start)
        if self.announced:
            digest.update(b"%d:%d" % (self.seed, self.size))
            return digest.hexdigest()
        offset = 0
        while chunk := self.read(offset, BLOCK):
            digest.update(chunk)
            offset += len(chunk)
        return digest.hexdigest()

    @cached_property
    def sha256(self) -> str:
        return self._digest(b"", "sha256")

    @cached_property
    def git_sha1(self) -> str:
        return self._digest(b"blob %d\0" % self.size, "sha1")


def text(value: str | bytes) -> Content:
    """A small file with exactly these bytes."""
    raw = value.encode() if isinstance(value, str) else value
    return Content(size=len(raw), head=raw)


def safetensors(tensor_bytes: int, seed: int, name: str = "weight", *, announced: bool = False) -> Content:
    """A shard with one U8 tensor and the header that its format demands."""
    header = json.dumps({name: {"dtype": "U8", "shape": [tensor_bytes], "data_offsets": [0, tensor_bytes]}}).encode()
    header += b" " * (-len(header) % 8)
    head = len(header).to_bytes(8, "little") + header
    return Content(size=len(head) + tensor_bytes, head=head, seed=seed, announced=announced)
