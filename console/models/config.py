"""Model facts from `config.json`: each with the path it was found at, or an Unknown with the paths tried.

No library default is ever filled in: what the file does not say is not known. The places are searched as SGLang
searches for the text model: `thinker_config(.text_config)`, `llm_config`, `language_config`, `text_config`, then
the top level; quantisation at either level; a drafter's own block in `dflash_config`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Generic, TypeGuard, TypeVar

import msgspec

from console.values import CleanText, Unknown, clean, clean_tree, too_deep

T = TypeVar("T")

_TEXT_PLACES = ("thinker_config.text_config", "thinker_config", "llm_config", "language_config", "text_config", "")
_DRAFT_PLACES = ("", "dflash_config", "text_config")
_QUANT_PLACES = ("quantization_config", "text_config.quantization_config", "compression_config")
MAX_COUNT = 1 << 48  # larger numbers in a config are no counts


class Found(msgspec.Struct, Generic[T], frozen=True):
    """A value and the dotted path in the file where it was found."""

    value: T
    where: CleanText


class Quantization(msgspec.Struct, frozen=True, kw_only=True):
    """How the stored weights are packed: `bits` and `group_size` of the routed experts or of all linear layers."""

    method: CleanText
    bits: int | Unknown
    group_size: int | Unknown
    block: tuple[int, ...] | Unknown
    where: CleanText


class ModelConfig:
    """One parsed `config.json`. Every getter answers `Found` or `Unknown`, never a default."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        self.data: dict[str, Any] = clean_tree(dict(data))

    def at(self, path: str) -> Any:
        """The value at a dotted path, or None."""
        node: Any = self.data
        for part in path.split(".") if path else ():
            node = node.get(part) if isinstance(node, dict) else None
        return node

    def find(
        self, check: Callable[[Any], bool], names: tuple[str, ...], places: tuple[str, ...] = _TEXT_PLACES
    ) -> Found[Any] | Unknown:
        """The first value of one of `names` in `places` that passes `check`; null counts as absent."""
        tried = []
        for place in places:
            for name in names:
                path = f"{place}.{name}" if place else name
                value = self.at(path)
                if value is not None and check(value):
                    return Found(value, clean(path))
                if value is not None:
                    return Unknown(f"{path} in config.json has a value of the wrong kind: {str(value)[:60]}")
                if not place or self.at(place) is not None:
                    tried.append(path)
        return Unknown(f"not in config.json (tried {', '.join(tried)})")

    def count(self, *names: str, places: tuple[str, ...] = _TEXT_PLACES) -> int | Unknown:
        """A whole number ≥ 0."""
        found = self.find(is_count, names, places)
        return found if isinstance(found, Unknown) else int(found.value)

    def where(self, *names: str, places: tuple[str, ...] = _TEXT_PLACES) -> str:
        """Where a value was found, or the paths tried."""
        found = self.find(lambda _: True, names, places)
        return found.reason if isinstance(found, Unknown) else found.where

    @property
    def architectures(self) -> tuple[CleanText, ...] | Unknown:
        found = self.find(is_names, ("architectures",), ("",))
        return found if isinstance(found, Unknown) else tuple(found.value)

    @property
    def model_type(self) -> CleanText | Unknown:
        """The model type of the text model: the one whose layers hold the weights and the KV cache."""
        found = self.find(is_text, ("model_type",))
        return found if isinstance(found, Unknown) else found.value

    @property
    def dtype(self) -> CleanText | Unknown:
        found = self.find(is_text, ("dtype", "torch_dtype"), (*_TEXT_PLACES[:-1], ""))
        return found if isinstance(found, Unknown) else found.value

    @property
    def layer_types(self) -> tuple[CleanText, ...] | Unknown:
        found = self.find(is_names, ("layer_types",))
        return found if isinstance(found, Unknown) else tuple(found.value)

    @property
    def auto_map(self) -> dict[str, str]:
        """Classes that the repository wants loaded from its own Python files, from every level of the file."""
        return dict(sorted(_auto_maps(self.data)))

    @property
    def code_files(self) -> tuple[str, ...]:
        """The Python files that those classes are in: what `trust-remote-code` would run first."""
        return tuple(sorted({value.rsplit("--", 1)[-1].rsplit(".", 1)[0] + ".py" for value in self.auto_map.values()}))

    @property
    def quantization(self) -> Quantization | Unknown | None:
        """None: the weights are stored unpacked. An Unknown: packed in a way this file does not explain."""
        for path in _QUANT_PLACES:
            block = self.at(path)
            if isinstance(block, dict) and block:
                return _quantization(block, path)
        return None

    @property
    def target_layer_ids(self) -> tuple[int, ...] | Unknown:
        """The layers of the target whose hidden states a drafter reads."""
        found = self.find(is_counts, ("target_layer_ids",), _DRAFT_PLACES)
        return found if isinstance(found, Unknown) else tuple(found.value)

    @property
    def block_size(self) -> int | Unknown:
        """A block drafter's verify window in tokens: unreadable is unknown, never 16."""
        return self.count("block_size", places=_DRAFT_PLACES)

    @property
    def num_target_layers(self) -> int | Unknown:
        return self.count("num_target_layers", places=_DRAFT_PLACES)


def is_count(value: Any) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MAX_COUNT


def is_counts(value: Any) -> TypeGuard[list[int]]:
    return isinstance(value, list) and all(is_count(item) for item in value)


def is_text(value: Any) -> TypeGuard[str]:
    return isinstance(value, str) and bool(value)


def is_names(value: Any) -> TypeGuard[list[str]]:
    return isinstance(value, list) and bool(value) and all(isinstance(item, str) for item in value)


def _auto_maps(node: Any) -> list[tuple[str, str]]:
    pairs: list[tuple[str, str]] = []
    if isinstance(node, dict):
        own = node.get("auto_map")
        if isinstance(own, dict):
            pairs += [(str(key), str(value)) for key, value in own.items()]
        for value in node.values():
            pairs += _auto_maps(value)
    return pairs


def _quantization(block: dict[str, Any], path: str) -> Quantization | Unknown:
    method = block.get("quant_method")
    if not is_text(method):
        return Unknown(f"{path} in config.json names no quant_method")
    group = _first_group(block)
    weights = group.get("weights") if isinstance(group.get("weights"), dict) else block
    assert isinstance(weights, dict)
    size = block.get("weight_block_size")
    return Quantization(
        method=clean(method),
        bits=_known_count(weights, ("num_bits", "bits", "w_bit"), path),
        group_size=_known_count(weights, ("group_size", "q_group_size"), path),
        block=tuple(size) if is_counts(size) else Unknown(f"no weight_block_size in {path}"),
        where=clean(path),
    )


def _first_group(block: dict[str, Any]) -> dict[str, Any]:
    groups = block.get("config_groups")
    first = next(iter(groups.values()), None) if isinstance(groups, dict) else None
    return first if isinstance(first, dict) else {}


def _known_count(block: dict[str, Any], names: tuple[str, ...], path: str) -> int | Unknown:
    for name in names:
        if is_count(block.get(name)):
            return int(block[name])
    return Unknown(f"no {' or '.join(names)} in {path}")


def parse_config(text: str | bytes) -> ModelConfig | Unknown:
    """The configuration of a `config.json`'s text, or why it is none."""
    try:
        data = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        return Unknown(f"config.json is no JSON: {error}")
    if not isinstance(data, dict) or too_deep(data):
        return Unknown("config.json holds no object" if not isinstance(data, dict) else "it is nested too deeply")
    return ModelConfig(data)
