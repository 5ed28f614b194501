"""What is asked: random ids, synthetic words, our own prompts by category, or the user's JSONL.

The hash covers exactly what is sent (apart from the nonce), so that two runs with one hash asked the same question.
Our own prompts were written for this project and are free to use (CC0); their hashes are pinned.
"""

from __future__ import annotations

import hashlib
import importlib.resources
import json
from pathlib import Path
from typing import Any

import msgspec

from console.values import read_regular, strict_json

CATEGORIES = ("code", "maths", "chat", "summarising")
PINNED = {
    "code": "752f40cd7b973835d5776bc2defe35622d56f4e3c954e88db25c21dd1f9501ed",
    "maths": "3dec945fd12c8b7cfdecdfe74bd2e1d10de46808467572a7efc9cb576105c984",
    "chat": "b30a4bd4092f3049ae839f4486c6ce18d6af99f7de3bb0ab78693f4195727ab9",
    "summarising": "75ca1d8d77d837ef51121c7a739228c1d852982d4e4072175699f8b898722341",
}
RANDOM, SYNTHETIC, OWN = "random-ids", "synthetic", "own"
MAX_PROMPT_CHARS = 400_000
MOST_BYTES = 256 << 20


class DatasetError(ValueError):
    """The data set cannot be used; the text names the place."""


class Prompt(msgspec.Struct, frozen=True):
    text: str
    category: str = ""
    max_tokens: int = 0


class Dataset(msgspec.Struct, frozen=True):
    """`kind`: ids, words or texts; `dataset_class`: random, synthetic or real. `isl` counts ids or words."""

    name: str
    kind: str
    dataset_class: str
    isl: int = 0
    vocabulary: int = 0
    seed: int = 0
    prompts: tuple[Prompt, ...] = ()

    @property
    def sha256(self) -> str:
        parts = [self.kind, self.isl, self.vocabulary, self.seed, [msgspec.to_builtins(p) for p in self.prompts]]
        return hashlib.sha256(json.dumps(parts, separators=(",", ":")).encode()).hexdigest()

    @property
    def input_spec(self) -> str:
        """How long the prompts are, for the comparison."""
        if self.kind == "texts":
            return f"prompts:{len(self.prompts)}"
        return f"{'ids' if self.kind == 'ids' else 'words'}:{self.isl}"

    def for_worker(self) -> dict[str, Any]:
        """The load worker's `dataset`."""
        items = [{"text": p.text, "category": p.category, "max_tokens": p.max_tokens} for p in self.prompts]
        return {
            "kind": self.kind,
            "isl": self.isl,
            "vocabulary": self.vocabulary,
            "seed": self.seed,
            "items": items,
        }


def dataset(name: str, isl: int, vocabulary: int, seed: int = 0) -> Dataset:
    """By name: `random-ids`, `synthetic`, `own`, `own:CATEGORY`, or the path of a JSONL file. Raises DatasetError."""
    if name == RANDOM:
        if vocabulary <= 0:
            raise DatasetError("random ids need the vocabulary of the model, and it is not known")
        return Dataset(name, "ids", "random", isl, vocabulary, seed)
    if name == SYNTHETIC:
        return Dataset(name, "words", "synthetic", isl, seed=seed)
    if name == OWN or name.startswith(OWN + ":"):
        wanted = name.partition(":")[2]
        if wanted and wanted not in CATEGORIES:
            raise DatasetError(f"there is no category {wanted!r}: {', '.join(CATEGORIES)}")
        prompts = tuple(p for c in ((wanted,) if wanted else CATEGORIES) for p in own_prompts(c))
        return Dataset(name, "texts", "real", seed=seed, prompts=prompts)
    return Dataset(Path(name).name, "texts", "real", seed=seed, prompts=read_prompts(Path(name)))


def own_prompts(category: str) -> tuple[Prompt, ...]:
    """Our prompts of one category, as pinned."""
    data = importlib.resources.files("console.bench").joinpath("prompts", f"{category}.jsonl").read_bytes()
    found = hashlib.sha256(data).hexdigest()
    if found != PINNED[category]:
        raise DatasetError(f"the prompts of {category} were changed: {found[:16]}, pinned {PINNED[category][:16]}")
    return tuple(Prompt(json.loads(line)["text"], category) for line in data.splitlines())


def read_prompts(path: Path) -> tuple[Prompt, ...]:
    """A user's JSONL: `text` or `prompt` (or `messages`, whose last user turn is taken), `category`, `max_tokens`."""
    try:
        lines = read_regular(path, MOST_BYTES).decode("utf-8-sig").splitlines()
    except FileNotFoundError as error:
        named = ", ".join((RANDOM, SYNTHETIC, OWN, *(f"{OWN}:{one}" for one in CATEGORIES)))
        raise DatasetError(f"there is no file {path}, and no data set of that name ({named})") from error
    except OSError as error:
        raise DatasetError(f"{path} cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise DatasetError(f"{path} is not UTF-8 text") from error
    prompts = tuple(_prompt(path, number, line) for number, line in enumerate(lines, 1) if line.strip())
    if not prompts:
        raise DatasetError(f"{path} holds no prompt")
    return prompts


def _prompt(path: Path, number: int, line: str) -> Prompt:
    try:
        row = strict_json(line)
        text = row.get("text", row.get("prompt")) or _last_user_turn(row["messages"])
        category, limit = str(row.get("category", "")), int(row.get("max_tokens") or 0)
    except (ValueError, KeyError, TypeError, AttributeError, StopIteration) as error:
        raise DatasetError(f"{path}:{number} is no prompt: it needs `text`, `prompt` or `messages`") from error
    if not isinstance(text, str) or not text.strip() or len(text) > MAX_PROMPT_CHARS or limit < 0:
        raise DatasetError(f"{path}:{number}: the text is empty or too long")
    return Prompt(text, category, limit)


def _last_user_turn(messages: list[dict[str, Any]]) -> str:
    content = next(message["content"] for message in reversed(messages) if message["role"] == "user")
    return str(content)
