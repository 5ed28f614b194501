"""Prompts for the measured requests, a fresh one each time.

A cold cache needs prompts that share no prefix: every prompt starts with a nonce (16 hexadecimal digits, or 8
random ids). `ids` and `words` are generated here from a seed; `texts` come with the configuration.
"""

from __future__ import annotations

import random
from typing import Any

FIRST_ID = 16
NONCE_IDS = 8
CONSONANTS, VOWELS = "bdfgklmnprst", "aeiou"
WARM_POOL = 16


class Prompts:
    """`next()` gives (prompt, category, limit of output tokens or 0)."""

    def __init__(self, dataset: dict[str, Any], seed: str, cold: bool) -> None:
        self.kind = dataset["kind"]
        self._length = int(dataset.get("isl", 0))
        self._vocabulary = int(dataset.get("vocabulary", 0))
        self._items = list(dataset.get("items", []))
        self._order = random.Random(int(dataset.get("seed", 0)))
        self._order.shuffle(self._items)
        self._nonce = random.Random(seed)
        self._cold = cold
        self._count = 0
        if self.kind == "ids" and self._vocabulary <= FIRST_ID:
            raise ValueError("random ids need the size of the vocabulary")
        if self.kind == "texts" and not self._items:
            raise ValueError("the data set is empty")

    @property
    def total(self) -> int:
        """Prompts that came with the configuration."""
        return len(self._items)

    def next(self) -> tuple[Any, str, int]:
        self._count += 1
        if self.kind == "ids":
            return self._ids(), "random", 0
        if self.kind == "words":
            return self._mark(self._words()), "synthetic", 0
        item = self._items[(self._count - 1) % len(self._items)]
        return self._mark(item["text"]), item.get("category", ""), int(item.get("max_tokens", 0))

    def _mark(self, text: str) -> str:
        return f"[{self._nonce.getrandbits(64):016x}] {text}" if self._cold else text

    def _source(self) -> random.Random:
        """Cold: one endless stream. Warm: the same few prompts again and again."""
        return self._order if self._cold else random.Random(self._count % WARM_POOL)

    def _ids(self) -> list[int]:
        source = self._source()
        nonce = self._nonce if self._cold else source
        head = [nonce.randrange(FIRST_ID, self._vocabulary) for _ in range(min(NONCE_IDS, self._length))]
        return head + [source.randrange(FIRST_ID, self._vocabulary) for _ in range(self._length - len(head))]

    def _words(self) -> str:
        pick = self._source().choice
        return " ".join("".join(pick(CONSONANTS) + pick(VOWELS) for _ in range(2)) for _ in range(self._length))
