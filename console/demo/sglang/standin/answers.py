"""The bodies of the answers, in the forms of 0.5.23."""

from __future__ import annotations

import argparse
import json
import time
from typing import Any

from . import __version__
from .engine import BLOCK, Engine, Request


def packed(data: Any) -> bytes:
    return json.dumps(data, separators=(",", ":")).encode()


def server_info(args: argparse.Namespace, engine: Engine) -> dict[str, Any]:
    """All arguments, keys included, as the real one tells them."""
    state = {
        "last_gen_throughput": engine.throughput,
        "memory_usage": {"token_capacity": engine.pool},
        "effective_max_running_requests_per_dp": engine.max_running,
        **vars(args),
    }
    return {**vars(args), "internal_states": [state], "version": __version__, "status": "ready"}


def model_info(args: argparse.Namespace) -> dict[str, Any]:
    served = args.served_model_name or args.model_path
    return {"model_path": args.model_path, "served_model_name": served, "is_generation": True,
            "architectures": ["Qwen3ForCausalLM"]}  # fmt: skip


def models(args: argparse.Namespace, context: int) -> dict[str, Any]:
    name = args.served_model_name or args.model_path
    return {"object": "list", "data": [{"id": name, "object": "model", "owned_by": "sglang", "root": name,
                                        "max_model_len": context}]}  # fmt: skip


def loads(engine: Engine) -> dict[str, Any]:
    load: dict[str, Any] = {
        "dp_rank": 0,
        "num_running_reqs": len(engine.running),
        "num_waiting_reqs": len(engine.waiting),
        "num_used_tokens": engine.used,
        "max_total_num_tokens": engine.pool,
        "max_running_requests": engine.max_running,
        "token_usage": round(engine.used / engine.pool, 4),
        "gen_throughput": engine.throughput,
        "cache_hit_rate": 0.0,
        "speculative": None,
    }
    if engine.speculative:
        length = engine.accept_length
        load["speculative"] = {"accept_length": length, "accept_rate": max(0.0, (length - 1) / (BLOCK - 1))}
    return {"version": __version__, "loads": [load]}


def metrics(engine: Engine, name: str) -> bytes:
    labels = f'engine_type="unified",model_name="{name}",pp_rank="0",tp_rank="0"'
    rows = [
        ("num_running_reqs", "", len(engine.running)),
        ("num_queue_reqs", "", len(engine.waiting)),
        ("num_used_tokens", "", engine.used),
        ("max_total_num_tokens", "", engine.pool),
        ("token_usage", "", engine.used / engine.pool),
        ("gen_throughput", "", engine.throughput),
        ("cache_hit_rate", "", 0.0),
        ("realtime_tokens_total", 'mode="decode",', engine.decoded),
        ("realtime_tokens_total", 'mode="prefill_compute",', engine.prefilled),
        ("num_requests_total", "", engine.finished),
    ]
    if engine.speculative:
        rows.append(("spec_accept_length", "", engine.accept_length))
    return "".join(f"sglang:{name}{{{more}{labels}}} {float(value)}\n" for name, more, value in rows).encode()


def meta_info(asked: Request, number: int, done: bool) -> dict[str, Any]:
    """`meta_info` of `/generate`: numbers first, the reason null until the last event."""
    meta: dict[str, Any] = {
        "id": f"{number:032x}",
        "finish_reason": _reason(asked) if done else None,
        "prompt_tokens": asked.prompt_tokens,
        "cached_tokens": 0,
        "completion_tokens": asked.tokens,
    }
    if done:
        meta["e2e_latency"] = time.monotonic() - asked.began
        if asked.verified:
            proposed = asked.verified * (BLOCK - 1)
            meta |= {"spec_verify_ct": asked.verified, "spec_accepted_drafts": asked.accepted,
                     "spec_proposed_drafts": proposed, "spec_accept_rate": asked.accepted / proposed,
                     "spec_accept_length": asked.tokens / asked.verified}  # fmt: skip
    return meta


def _reason(asked: Request) -> dict[str, Any]:
    return {"type": "stop", "matched": 0} if asked.finish == "stop" else {"type": "length", "length": asked.tokens}


def usage(asked: Request) -> dict[str, Any]:
    total = asked.prompt_tokens + asked.tokens
    return {"prompt_tokens": asked.prompt_tokens, "total_tokens": total, "completion_tokens": asked.tokens,
            "prompt_tokens_details": None}  # fmt: skip


def chat(asked: Request, number: int, name: str) -> dict[str, Any]:
    message = {"role": "assistant", "content": asked.text(0, asked.tokens).strip()}
    choice = {"index": 0, "message": message, "finish_reason": asked.finish}
    return {"id": f"{number:032x}", "object": "chat.completion", "created": int(time.time()), "model": name,
            "choices": [choice], "usage": usage(asked)}  # fmt: skip


def chat_chunk(number: int, name: str, delta: dict[str, Any], reason: str | None) -> dict[str, Any]:
    return {"id": f"{number:032x}", "object": "chat.completion.chunk", "created": int(time.time()), "model": name,
            "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}  # fmt: skip
