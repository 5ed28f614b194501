"""Rules between a recipe's flags, the model and the GPUs. Read in SGLang 0.5.11 and 0.5.23; each says why."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from console.gates.arguments import SPECULATIVE_CAP, Finding
from console.models.config import ModelConfig
from console.models.engine import SHORT, Engine
from console.models.weights import Layout
from console.values import Unknown, known

# All-to-all backends that spread the experts over all tensor-parallel ranks.
_SPANNING = ("deepep", "mooncake", "nixl", "mori", "ascend_fuseep", "flashinfer", "megamoe", "deepep_v2", "pplx")
_EAGLES = ("EAGLE", "EAGLE3", "NEXTN")
_NEEDS_DRAFT = ("DFLASH", "DDTREE", "EAGLE3", "STANDALONE")
_NO_DP = "leave attention data parallelism out, or speculation"


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """What the rules look at. `args` with long names (`tp-size`); `concurrency`: requests at once that are wanted."""

    args: dict[str, Any]
    engine: Engine
    layout: Layout
    replicas: int = 1
    config: ModelConfig | Unknown = Unknown("no config.json")
    draft: str = ""
    served_name: str = ""
    concurrency: int | None = None
    device: str = "cuda"

    @property
    def algorithm(self) -> str:
        value = self.args.get("speculative-algorithm")
        return str(value).upper() if value else ""

    def number(self, name: str) -> int | None:
        value = self.args.get(name)
        return value if isinstance(value, int) and not isinstance(value, bool) else None

    def on(self, name: str) -> bool:
        return self.args.get(name) is True


def long_names(args: Mapping[str, Any], engine: Engine) -> dict[str, Any]:
    """The arguments under one name each: the size words spelled out, other aliases by their main spelling."""
    result = {}
    for name, value in args.items():
        word = SHORT.get(name, name)
        flag = engine.flag("--" + word)
        sizes = [size for size in SHORT.values() if flag is not None and f"--{size}" in (flag.name, *flag.aliases)]
        result[sizes[0] if sizes else (flag.name[2:] if flag else word)] = value
    return result


def layout_of(args: Mapping[str, Any]) -> tuple[Layout, int]:
    """The layout and the number of data-parallel replicas, from arguments under their long names."""

    def size(name: str) -> int:
        value = args.get(name, 1)
        return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 1

    old_attention = args.get("enable-dp-attention") is True
    dp = size("dp-size")
    attention = dp if old_attention else size("attn-dp-size")
    tp = size("tp-size")
    ep = tp if args.get("moe-a2a-backend") in _SPANNING else size("ep-size")
    return Layout(tp=tp, pp=size("pp-size"), ep=ep, dp=attention), 1 if old_attention else dp


def check_rules(plan: Plan) -> Iterator[Finding]:
    """Every rule that the plan breaks."""
    yield from _architecture(plan)
    yield from _world(plan)
    yield from _heads(plan)
    yield from _experts(plan)
    yield from _algorithm(plan)
    yield from _pipeline(plan)
    yield from _attention_dp(plan)
    yield from _tokens(plan)
    yield from _pages(plan)
    yield from _cap(plan)
    if ":" in plan.served_name:
        yield _no(
            "served_name",
            "A served name cannot hold a colon: SGLang reads it as model:adapter.",
            "a directory or repository without a colon",
        )


def _no(rule: str, sentence: str, *way_out: str) -> Finding:
    return Finding(rule=rule, verdict="block", sentence=sentence, way_out=way_out)


def _hint(rule: str, sentence: str, *way_out: str) -> Finding:
    return Finding(rule=rule, verdict="warn", sentence=sentence, way_out=way_out)


def _divisors(what: str, number: int) -> str:
    """`tp = 1, 2 or 4`: the sizes below a rack's that divide."""
    fits = [str(size) for size in range(1, min(number, 64) + 1) if number % size == 0]
    return f"{what} = {', '.join(fits[:-1])} or {fits[-1]}" if len(fits) > 1 else f"{what} = 1"


def _count(plan: Plan, *names: str) -> int | Unknown:
    return plan.config.count(*names) if known(plan.config) else plan.config


def _architecture(plan: Plan) -> Iterator[Finding]:
    """SGLang says it only after it has begun to load: `Model architectures [...] are not supported for now`."""
    if not known(plan.config) or not known(plan.engine.architectures):
        return
    names = plan.config.architectures
    if not known(names):
        yield Finding(
            rule="architecture",
            verdict="unknown",
            sentence=f"The model names no architecture: {names.reason}.",
            way_out=("name its class in `architectures` of config.json",),
        )
    elif not set(names) & set(plan.engine.architectures) and plan.args.get("model-impl") != "transformers":
        sentence = f"SGLang {plan.engine.version} has no class for {names[0]}."
        yield _no(
            "architecture", sentence, "a version that has", 'model-impl = "transformers" if that library knows it'
        )


def _world(plan: Plan) -> Iterator[Finding]:
    layout, nodes = plan.layout, plan.number("nnodes") or 1
    if layout.gpus % nodes:
        yield _no(
            "nodes", f"tp × pp = {layout.gpus} does not divide among {nodes} nodes.", "as many GPUs on every node"
        )
    if layout.tp % layout.dp:
        sentence = f"Attention data parallelism {layout.dp} does not divide tp {layout.tp}."
        yield _no("dp", sentence, _divisors("attention data parallelism", layout.tp))
    layers = _count(plan, "num_hidden_layers")
    if known(layers) and layout.pp > layers:
        yield _no("pp_layers", f"{layout.pp} pipeline stages cannot share {layers} layers.", f"pp = {layers} or less")


def _heads(plan: Plan) -> Iterator[Finding]:
    ranks = plan.layout.attention_tp
    heads, kv_heads = _count(plan, "num_attention_heads"), _count(plan, "num_key_value_heads")
    if known(heads) and heads % ranks:
        sentence = f"{heads} attention heads do not divide by {ranks} attention ranks."
        yield _no("heads", sentence, _divisors("tp", heads))
    elif known(heads) and known(kv_heads) and kv_heads and kv_heads % ranks and ranks % kv_heads:
        sentence = f"{kv_heads} KV heads neither divide by {ranks} attention ranks nor into them."
        yield _no("kv_heads", sentence, f"tp a divisor or a multiple of {kv_heads}")


def _experts(plan: Plan) -> Iterator[Finding]:
    tp, asked = plan.layout.tp, plan.number("ep-size") or 1
    backend = plan.args.get("moe-a2a-backend")
    experts = _count(plan, "n_routed_experts", "num_experts", "num_local_experts")
    if backend in _SPANNING and asked not in (1, tp):
        yield _no(
            "a2a_ep",
            f"The all-to-all backend {backend} spreads the experts over all {tp} ranks: ep becomes {tp}, not {asked}.",
            'moe-a2a-backend = "none" keeps expert groups smaller than tp',
        )
    if tp % asked:
        yield _no("ep", f"ep {asked} does not divide tp {tp}.", _divisors("ep", tp))
    elif asked > 1 and known(plan.config) and not known(experts):
        sentence = f"ep {asked} needs experts, and this model has none that its config names."
        yield _no("ep_dense", sentence, "leave ep out")
    elif known(experts) and experts % plan.layout.ep:
        sentence = f"{experts} experts do not divide by ep {plan.layout.ep}."
        yield _no("ep_experts", sentence, _divisors("ep", experts))
    else:
        yield from _quantised_experts(plan)
    if backend in ("deepep", "deepep_v2"):
        yield _hint("deepep", "DeepEP needs NVLink or InfiniBand between the ranks; over PCIe alone it does not start.")


def _quantised_experts(plan: Plan) -> Iterator[Finding]:
    inner = _count(plan, "moe_intermediate_size")
    if not known(plan.config) or plan.config.quantization is None or not known(inner):
        return
    quantization = plan.config.quantization
    if not known(quantization) or quantization.method != "fp8" or not known(quantization.block):
        return
    width = inner // max(1, plan.layout.tp // plan.layout.ep)
    if width % 128:
        way = f"ep = {plan.layout.tp} keeps whole experts on a rank"
        yield _no("moe_block", f"An expert's share of {width} is no multiple of its 128 wide quantisation blocks.", way)


def _algorithm(plan: Plan) -> Iterator[Finding]:
    name, algorithms = plan.algorithm, plan.engine.algorithms
    if not name:
        extras = sorted(
            key for key, value in plan.args.items() if key.startswith("speculative-") and value is not False
        )
        if extras or plan.draft:
            what = f"--{extras[0]}" if extras else "A drafter"
            yield _hint("no_algorithm", f"{what} has no effect without speculative-algorithm.")
        return
    flag = plan.engine.flag("--speculative-algorithm")
    exact = str(plan.args["speculative-algorithm"]) if flag is not None and flag.choices else name
    if known(algorithms) and exact not in algorithms:
        offered = ", ".join(algorithms)
        sentence = f"SGLang {plan.engine.version} has no algorithm {exact}; it offers {offered}."
        yield _no("algorithm", sentence, f"an interpreter whose SGLang has {exact}", "one of those that it offers")
        return
    if name in _NEEDS_DRAFT and not plan.draft:
        yield _no("draft", f"{name} needs a drafter.", "name one as `draft` of the recipe")
    if name in _EAGLES:
        parts = [plan.number(f"speculative-{part}") for part in ("num-steps", "eagle-topk", "num-draft-tokens")]
        if any(parts) and not all(parts):
            sentence = f"{name} takes steps, topk and draft tokens all together or none of them."
            yield _no("eagle_parts", sentence, "set speculative-num-steps, -eagle-topk and -num-draft-tokens, or none")
        elif parts[1] == 1 and parts[0] is not None and parts[2] != parts[0] + 1:
            yield _hint("eagle_chain", f"With topk 1 the draft tokens become steps + 1 = {parts[0] + 1}.")
    yield from _dflash(plan)


def _dflash(plan: Plan) -> Iterator[Finding]:
    if plan.algorithm != "DFLASH":
        return
    if plan.device == "cpu":
        yield _no("dflash_cpu", "DFLASH never runs on the CPU.", "no speculation on the CPU")
    block, tokens = plan.number("speculative-dflash-block-size"), plan.number("speculative-num-draft-tokens")
    if block and tokens and block != tokens:
        sentence = f"DFLASH's block size {block} and draft tokens {tokens} must be the same."
        yield _no("dflash_block", sentence, "set only one of the two")
    for flag in ("speculative-num-steps", "speculative-eagle-topk"):
        if plan.number(flag) not in (None, 1):
            yield _hint("dflash_chain", f"DFLASH sets {flag} to 1.")
    window = plan.number("speculative-draft-window-size") or plan.number("speculative-dflash-draft-window-size")
    width = block or tokens
    if window and width and window < width:
        sentence = f"The draft window {window} is smaller than the block of {width}."
        yield _no("dflash_window", sentence, f"a window of {width} or more")
    newer = plan.engine.at_least(0, 5, 12)
    if known(newer) and not newer and not plan.on("disable-overlap-schedule"):
        yield _hint("dflash_overlap", f"SGLang {plan.engine.version} turns the overlap scheduler off with DFLASH.")


def _pipeline(plan: Plan) -> Iterator[Finding]:
    if plan.layout.pp == 1 or not plan.algorithm:
        return
    newer = plan.engine.at_least(0, 5, 12)
    if plan.algorithm == "DFLASH":
        yield _no(
            "pp_speculation", "DFLASH needs pp 1: a drafter reads hidden states of all stages.", "tp instead of pp"
        )
    elif known(newer) and newer and plan.algorithm in ("EAGLE", "NEXTN"):
        yield _hint(
            "pp_speculation",
            f"Pipeline parallelism with {plan.algorithm} works only on prefill nodes, or with SGLANG_ENABLE_PP_SPEC=1.",
        )
    else:
        yield _no(
            "pp_speculation",
            f"Pipeline parallelism and speculative decoding exclude each other in SGLang {plan.engine.version}.",
            "tp instead of pp, or no speculation",
        )


def _attention_dp(plan: Plan) -> Iterator[Finding]:
    if plan.layout.dp == 1:
        return
    newer = plan.engine.at_least(0, 5, 12)
    if plan.algorithm in ("STANDALONE", "NGRAM"):
        yield _no("dp_speculation", f"{plan.algorithm} does not support attention data parallelism.", _NO_DP)
    if plan.algorithm == "DFLASH" and known(newer):
        if not newer:
            sentence = f"DFLASH does not support attention data parallelism in SGLang {plan.engine.version}."
            yield _no("dp_speculation", sentence, _NO_DP)
        elif not plan.on("enable-dp-lm-head"):
            sentence = "DFLASH with attention data parallelism needs --enable-dp-lm-head."
            yield _no("dp_speculation", sentence, "enable-dp-lm-head = true")
    if plan.replicas > 1:
        sentence = "Data-parallel replicas and attention data parallelism exclude each other."
        yield _no("dp_replicas", sentence, "leave dp out, or attn-dp")


def _tokens(plan: Plan) -> Iterator[Finding]:
    """Mixed chunks and speculation."""
    if not plan.on("enable-mixed-chunk") or not plan.algorithm:
        return
    newer = plan.engine.at_least(0, 5, 12)
    if plan.algorithm in ("DFLASH", "NGRAM"):
        yield _hint("mixed_chunk", f"{plan.algorithm} turns mixed chunked prefill off.")
    elif known(newer) and (not newer or plan.algorithm not in _EAGLES):
        sentence = f"Mixed chunked prefill does not work with {plan.algorithm} in this version."
        yield _no("mixed_chunk", sentence, "leave enable-mixed-chunk out")


def _pages(plan: Plan) -> Iterator[Finding]:
    page, chunk = plan.number("page-size"), plan.number("chunked-prefill-size")
    if page and chunk and chunk > 0 and chunk % page:
        sentence = f"chunked-prefill-size {chunk} is no multiple of page-size {page}."
        yield _no("page_chunk", sentence, f"chunked-prefill-size = {-(-chunk // page) * page}")
    if not page or page == 1:
        return
    topk = plan.number("speculative-eagle-topk") or 1
    backend = plan.args.get("attention-backend", "")
    if plan.algorithm == "DDTREE":
        yield _no("page_tree", "DDTREE needs page-size 1: a tree's branches share no page.", "page-size = 1")
    elif plan.algorithm == "NGRAM" and topk > 1 and backend != "flashinfer":
        sentence = f"NGRAM with topk {topk} and page-size {page} gives wrong results except with flashinfer."
        yield _no("page_tree", sentence, "page-size = 1")
    elif plan.algorithm in _EAGLES and topk > 1 and backend not in ("flashinfer", "fa3", "triton", "trtllm_mla"):
        yield _hint("page_tree", f"topk {topk} with page-size {page} works with some attention backends only.")


def _cap(plan: Plan) -> Iterator[Finding]:
    """Every speculative algorithm sets max_running_requests to 48 unless the flag is given."""
    given = plan.number("max-running-requests")
    cap = given or (SPECULATIVE_CAP if plan.algorithm else None)
    if cap is None or plan.concurrency is None or plan.concurrency <= cap:
        if plan.algorithm and given is None and plan.concurrency is None:
            sentence = (
                f"{plan.algorithm} caps running requests at {SPECULATIVE_CAP} unless max-running-requests is set."
            )
            yield _hint("server_cap", sentence, "max-running-requests = the highest concurrency wanted")
        return
    why = "by the recipe" if given else f"by {plan.algorithm}, silently"
    yield _hint(
        "server_cap",
        f"{plan.concurrency} requests at once were asked for, {cap} will run ({why} capped): the rest queues.",
        f"max-running-requests = {plan.concurrency}",
    )
