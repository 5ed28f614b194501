"""The drafter gate: does this drafter belong to this target, in this version; and is its verification exact."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from console.config.exactness import EXACT_PROMPTS, Exactness
from console.gates.arguments import Finding
from console.gates.gate import RANK, Gate
from console.models.config import ModelConfig, is_text
from console.models.engine import Engine
from console.models.geometry import recurrent_layers
from console.models.weights import Layout
from console.values import Unknown, known

INEXACT = "inexact_verification"

_CAPTURE = {"DFLASH": "dflash", "DDTREE": "dflash", "EAGLE3": "eagle3"}
_BLOCK = ("DFLASH", "DDTREE")
_OTHER = "a drafter that was made for this target"
_TREES = ("DDTREE", "NGRAM")
_BASE_NAMES = ("target_model", "base_model", "target_model_name_or_path", "base_model_name_or_path")
_OWN_WIDTH = "STANDALONE"  # a whole small model, which shares tokens with the target and no hidden states


class Pair(msgspec.Struct, frozen=True, kw_only=True):
    """Target and drafter as their configurations describe them. `block_size`: what the recipe's flags say; `key` names
    the pair where `exactness`, what was compared of it, is kept."""

    algorithm: str
    target_id: str
    target: ModelConfig | Unknown
    draft_id: str = ""
    draft: ModelConfig | Unknown = Unknown("no drafter")
    engine: Engine
    layout: Layout
    block_size: int | None = None
    topk: int | None = None
    key: str = ""
    exactness: Exactness | None = None


def drafter_gate(pair: Pair) -> Gate:
    """The gate `drafter`; `pass` without speculation. Its state `inexact_verification` flags the run, too."""
    found = [*_hybrid(pair), *(_match(pair) if pair.draft_id else ()), *_capture(pair)]
    found.sort(key=lambda finding: -RANK[finding.verdict])
    subject = pair.draft_id or pair.target_id
    if not found:
        return Gate(
            name="drafter", verdict="pass", state="ok", subject=subject, sentence=_passed(pair), numbers=_numbers(pair)
        )
    return Gate(
        name="drafter",
        verdict=found[0].verdict,
        state=found[0].rule,
        subject=subject,
        sentence=" ".join(finding.sentence for finding in found),
        way_out=tuple(way for finding in found for way in finding.way_out),
        numbers=_numbers(pair),
    )


def _passed(pair: Pair) -> str:
    if not pair.algorithm:
        return "No speculation: nothing to check."
    said = f"{pair.algorithm} needs no drafter of its own."
    if pair.draft_id:
        width = "" if pair.algorithm == _OWN_WIDTH else "hidden size, "
        said = f"{pair.draft_id} matches the target: vocabulary, {width}layers, block size, heads, capture."
    seen = pair.exactness
    return f"{said} {_compared(seen)}" if seen is not None and seen.exact else said


def _compared(seen: Exactness) -> str:
    return f"{seen.equal} of {seen.prompts} greedy answers equal the autoregressive baseline's ({seen.run})."


def _numbers(pair: Pair) -> dict[str, object]:
    named: dict[str, object] = {"pair": pair.key} if pair.key else {}
    if not known(pair.draft):
        return named
    return named | {
        "block_size": pair.block_size or pair.draft.block_size,
        "num_target_layers": pair.draft.num_target_layers,
    }


def _no(rule: str, sentence: str, *way_out: str) -> Finding:
    return Finding(rule=rule, verdict="block", sentence=sentence, way_out=way_out)


def _match(pair: Pair) -> Iterator[Finding]:
    if not known(pair.draft) or not known(pair.target):
        which, why = (pair.draft_id, pair.draft) if not known(pair.draft) else (pair.target_id, pair.target)
        assert isinstance(why, Unknown)
        yield Finding(
            rule="config",
            verdict="unknown",
            sentence=f"The configuration of {which} was not read: {why.reason}.",
            way_out=("make its config.json readable, then check again (r on screen)",),
        )
        return
    yield from _same(pair, pair.target, pair.draft, "vocab_size", "vocabulary")
    if pair.algorithm != _OWN_WIDTH:
        yield from _same(pair, pair.target, pair.draft, "hidden_size", "hidden size")
    yield from _layers(pair, pair.target, pair.draft)
    yield from _block_size(pair, pair.draft)
    yield from _draft_heads(pair, pair.draft)
    yield from _trained_for(pair, pair.draft)


def _same(pair: Pair, target: ModelConfig, draft: ModelConfig, name: str, word: str) -> Iterator[Finding]:
    ours, theirs = target.count(name), draft.count(name)
    if not known(ours) or not known(theirs):
        side = pair.target_id if not known(ours) else pair.draft_id
        sentence = f"The {word} of {side} is not in its config.json."
        yield Finding(rule=name, verdict="unknown", sentence=sentence, way_out=(f"{name} in that file",))
    elif ours != theirs:
        yield _no(name, f"The {word} differs: {ours} in {pair.target_id}, {theirs} in {pair.draft_id}.", _OTHER)


def _layers(pair: Pair, target: ModelConfig, draft: ModelConfig) -> Iterator[Finding]:
    layers, meant, ids = target.count("num_hidden_layers"), draft.num_target_layers, draft.target_layer_ids
    if not known(layers):
        return
    if known(meant) and meant != layers:
        yield _no(
            "target_layers",
            f"{pair.draft_id} was made for {meant} target layers, {pair.target_id} has {layers}.",
            _OTHER,
        )
    if known(ids) and any(each >= layers for each in ids):
        far = max(ids)
        yield _no(
            "target_layer_ids",
            f"{pair.draft_id} reads layer {far}, {pair.target_id} has layers 0 to {layers - 1}.",
            _OTHER,
        )


def _block_size(pair: Pair, draft: ModelConfig) -> Iterator[Finding]:
    """SGLang falls back to 16 with a line in the log when it cannot read the block size."""
    if pair.algorithm not in _BLOCK or pair.block_size or known(draft.block_size):
        return
    yield _no(
        "block_size",
        f"The block size of {pair.draft_id} is unreadable ({draft.block_size.reason}); SGLang would guess 16.",
        "set speculative-dflash-block-size to what the drafter was trained with",
    )


def _draft_heads(pair: Pair, draft: ModelConfig) -> Iterator[Finding]:
    ranks = pair.layout.attention_tp
    heads, kv_heads = draft.count("num_attention_heads"), draft.count("num_key_value_heads")
    if known(heads) and heads % ranks:
        yield _no("draft_heads", f"The drafter's {heads} attention heads do not divide by {ranks} ranks.", "another tp")
    elif known(kv_heads) and kv_heads and kv_heads % ranks and ranks % kv_heads:
        yield _no("draft_heads", f"The drafter's {kv_heads} KV heads do not fit {ranks} ranks.", "another tp")


def _trained_for(pair: Pair, draft: ModelConfig) -> Iterator[Finding]:
    found = draft.find(is_text, _BASE_NAMES, ("", "dflash_config"))
    if not known(found):
        return
    named = str(found.value).rstrip("/")
    if named.rsplit("/", 1)[-1].lower() != pair.target_id.rstrip("/").rsplit("/", 1)[-1].lower():
        sentence = f"{pair.draft_id} was trained for {named} ({found.where}), not for {pair.target_id}."
        yield Finding(rule="trained_for", verdict="warn", sentence=f"{sentence} It works, but accepts less.")


def _capture(pair: Pair) -> Iterator[Finding]:
    kind = _CAPTURE.get(pair.algorithm)
    if kind is None or not known(pair.target):
        return
    names, classes = pair.target.architectures, pair.engine.capture
    version = pair.engine.version
    if not known(names) or not known(classes):
        why = names if not known(names) else classes
        assert isinstance(why, Unknown)
        yield Finding(
            rule="capture",
            verdict="unknown",
            sentence=f"Whether SGLang {version} hands hidden states to a drafter is not known: {why.reason}.",
            way_out=("no speculation, or an interpreter whose SGLang can be read",),
        )
    elif not set(names) & set(classes.get(kind, ())):
        sentence = f"{names[0]} hands no hidden states to a {pair.algorithm} drafter in SGLang {version}."
        yield _no("capture", sentence, "a version whose class does, or no speculation")


def _hybrid(pair: Pair) -> Iterator[Finding]:
    if not known(pair.target):
        return
    recurrent = recurrent_layers(pair.target)
    many = f"{recurrent} of them are" if known(recurrent) else f"this target has some ({recurrent.reason})"
    tree = pair.algorithm in _TREES or (bool(pair.algorithm) and (pair.topk or 1) > 1)
    seen = pair.exactness
    if tree and recurrent != 0 and not (seen is not None and seen.exact):
        sentence = f"Tree verification is not exact on recurrent layers, and {many}."
        yield Finding(
            rule=INEXACT,
            verdict="warn",
            sentence=f"{sentence} {_compared(seen)}" if seen is not None else sentence,
            way_out=(
                f"compare {EXACT_PROMPTS} greedy answers with the autoregressive baseline's: bench --preset exact",
                "a chain: topk 1",
            ),
        )
