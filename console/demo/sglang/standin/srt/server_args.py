"""The flags, a part of the real ones, read by the same library with the same words for what is wrong."""

from __future__ import annotations

import argparse
from typing import Any

_BACKENDS = [
    "triton",
    "torch_native",
    "flashinfer",
    "fa3",
    "fa4",
    "flashmla",
    "cutlass_mla",
    "trtllm_mla",
    "trtllm_mha",
]
_TEXT = ("host", "tokenizer-path", "served-model-name", "quantization", "kv-cache-dtype", "dtype", "load-format",
         "api-key", "admin-api-key", "speculative-algorithm", "speculative-draft-model-path", "dist-init-addr",
         "tool-call-parser", "reasoning-parser", "chat-template", "moe-a2a-backend", "moe-runner-backend", "device",
         "log-level", "grammar-backend", "sampling-backend", "revision", "download-dir", "config")  # fmt: skip
_WHOLE = ("port", "nccl-port", "max-running-requests", "max-total-tokens", "chunked-prefill-size", "context-length",
          "max-prefill-tokens", "page-size", "speculative-num-steps", "speculative-eagle-topk", "base-gpu-id",
          "speculative-num-draft-tokens", "speculative-dflash-block-size", "cuda-graph-max-bs-decode",
          "cuda-graph-max-bs-prefill", "decode-log-interval", "nnodes", "node-rank", "random-seed", "stream-interval",
          "attn-dp-size", "max-queued-requests")  # fmt: skip
_REAL = ("mem-fraction-static", "schedule-conservativeness", "watchdog-timeout")
_BARE = ("trust-remote-code", "enable-metrics", "disable-radix-cache", "disable-cuda-graph", "enable-torch-compile",
         "disable-overlap-schedule", "enable-dp-lm-head", "enable-mixed-chunk", "skip-server-warmup", "sleep-on-idle",
         "disable-custom-all-reduce", "enable-cache-report", "log-requests")  # fmt: skip
_DEFAULTS: dict[str, Any] = {
    "host": "127.0.0.1",
    "port": 30000,
    "load-format": "auto",
    "decode-log-interval": 40,
    "kv-cache-dtype": "auto",
    "dtype": "auto",
    "nnodes": 1,
    "node-rank": 0,
}


class ServerArgs:
    """The one thing of the real class that others use."""

    @staticmethod
    def add_cli_args(parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--model-path", "--model", type=str, required=True, help="The path of the model weights.")
        parser.add_argument("--tensor-parallel-size", "--tp-size", "--tp", dest="tp_size", type=int, default=1)
        parser.add_argument("--pipeline-parallel-size", "--pp-size", "--pp", dest="pp_size", type=int, default=1)
        parser.add_argument("--data-parallel-size", "--dp-size", "--dp", dest="dp_size", type=int, default=1)
        parser.add_argument("--expert-parallel-size", "--ep-size", "--ep", dest="ep_size", type=int, default=1)
        parser.add_argument("--attention-backend", choices=_BACKENDS)
        for names, kind in ((_TEXT, str), (_WHOLE, int), (_REAL, float)):
            for name in names:
                parser.add_argument(f"--{name}", type=kind, default=_DEFAULTS.get(name))
        for name in _BARE:
            parser.add_argument(f"--{name}", action="store_true")


def prepare_server_args(argv: list[str]) -> argparse.Namespace:
    """The flags of a command line; values of `--config FILE` (lines `flag: value`) count as written there."""
    parser = argparse.ArgumentParser(prog="sglang serve")
    ServerArgs.add_cli_args(parser)
    return parser.parse_args(_with_config(argv))


def _with_config(argv: list[str]) -> list[str]:
    if "--config" not in argv[:-1]:
        return argv
    at = argv.index("--config")
    extra = []
    with open(argv[at + 1], encoding="utf-8") as lines:
        for line in lines:
            name, colon, value = line.strip().partition(":")
            if colon and name and not name.startswith("#"):
                extra += [f"--{name.strip()}", value.strip().strip("\"'")]
    return [*extra, *argv[:at], *argv[at + 2 :]]
