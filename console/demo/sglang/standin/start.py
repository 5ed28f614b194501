"""The start: phases with their lines, over a few seconds, and the ways in which a start can fail.

`SGLANG_STANDIN_FAIL`: `weights_oom`, `kv_oom`, `graphs_oom`, `exception`, `killed` (a scheduler dies while starting),
`slow_warmup` (a minute of warm-up). A fraction that leaves nothing beside the weights fails by itself, and one that
asks for more than the GPU has.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from typing import NoReturn

from . import gpus
from .log import bar, bare, say

SPEED = float(os.environ.get("SGLANG_STANDIN_SPEED") or 1)
FAIL = os.environ.get("SGLANG_STANDIN_FAIL") or ""
WEIGHTS_SHARE, DRAFT_SHARE = 0.45, 0.02  # of one GPU's memory
OOM = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU {rank} has a total capacity of "\
      "{total:.2f} GiB of which 1.03 GiB is free."  # fmt: skip
CONTEXT_GB = 0.7
_CHILD = "import sys; sys.stdin.read()"


def _weights_gb(path: str, ranks: int) -> float:
    """GiB of each rank's share of the safetensors files; 0 when there are none."""
    names = os.listdir(path) if os.path.isdir(path) else []
    sizes = (os.path.getsize(os.path.join(path, name)) for name in names if name.endswith(".safetensors"))
    return sum(sizes) / ranks / 2**30


def _cell_bytes(path: str, tp: int) -> int:
    """KV bytes of a token on each rank: layers × 2 × heads × size of a head × 2 bytes."""
    try:
        with open(os.path.join(path, "config.json"), encoding="utf-8") as stream:
            config = json.load(stream)
        config = config.get("text_config", config)
        heads = max(1, config["num_key_value_heads"] // tp)
        return int(config["num_hidden_layers"] * 2 * heads * config["head_dim"] * 2)
    except (OSError, ValueError, KeyError):
        return 70_272


def pause(seconds: float) -> None:
    time.sleep(seconds / SPEED)


class Start:
    """One start. Afterwards: `children`, `tokens`, `max_running`, `context`, `weights_gb`, `kv_gb`."""

    def __init__(self, args: argparse.Namespace) -> None:
        self.args = args
        self.ranks = range(args.tp_size * args.pp_size)
        self.total_gb = gpus.TOTAL_BYTES / 2**30
        self.weights_gb = _weights_gb(args.model_path, len(self.ranks)) or self.total_gb * WEIGHTS_SHARE
        self.fraction = args.mem_fraction_static or 0.88
        self.kv_gb = max(0.0, self.total_gb * self.fraction - self.weights_gb)
        self.speculative = bool(args.speculative_algorithm)
        self.context = args.context_length or 32768
        self.tokens = args.max_total_tokens or int(self.kv_gb * 2**30 / _cell_bytes(args.model_path, args.tp_size))
        self.max_running = args.max_running_requests or (48 if self.speculative else 256)
        self.children: list[subprocess.Popen[bytes]] = []

    def run(self) -> None:
        """All phases up to the HTTP server. Ends the process when one fails."""
        self._imports()
        self._spawn()
        self._distributed()
        self._weights("Qwen3ForCausalLM", self.weights_gb, shards=8)
        self._pool(self.kv_gb)
        self._graphs("target")
        if self.args.speculative_draft_model_path:
            draft_gb = _weights_gb(self.args.speculative_draft_model_path, len(self.ranks))
            self._weights("DFlashDraftModel", draft_gb or self.total_gb * DRAFT_SHARE, shards=1)
            self._pool(self.kv_gb * 0.08)
            self._graphs("draft")
        self._summary()

    def each(self, message: str) -> None:
        """A line of every rank."""
        for rank in self.ranks:
            say(message, rank if len(self.ranks) > 1 else None)

    def _imports(self) -> None:
        bare("/opt/sglang/launch_server.py:71: UserWarning: 'python -m sglang.launch_server' is still supported.")
        pause(0.6)
        path = self.args.model_path
        if not os.path.isfile(os.path.join(path, "config.json")):
            bare('Traceback (most recent call last):\n  File "launch_server.py", line 84, in <module>')
            bare(f"OSError: Repo id must be in the form 'repo_name' or 'namespace/repo_name': '{path}'. "
                 "Use `repo_type` argument if needed.")  # fmt: skip
            sys.exit(1)
        if self.speculative and not self.args.max_running_requests:
            say("Max running requests is reset to 48 for speculative decoding. You can override this by explicitly "
                "setting --max-running-requests.")  # fmt: skip
        say(f"server_args={vars(self.args)!r}")

    def _spawn(self) -> None:
        for rank in self.ranks:
            self.children.append(
                subprocess.Popen(
                    [f"sglang::scheduler_TP{rank}", "-I", "-S", "-c", _CHILD],
                    executable=sys.executable,
                    stdin=subprocess.PIPE,
                )
            )

    def _distributed(self) -> None:
        self.each("Init parallel begin.")
        pause(0.3)
        self.each("Init parallel ends. elapsed=0.31 s")
        self.each("Memory baseline taken. mem usage=0.62 GB")
        self._hold(0.62)

    def _weights(self, arch: str, size_gb: float, shards: int) -> None:
        self.each(f"Load weight begin. avail mem={self.total_gb - 0.7:.2f} GB")
        if FAIL == "killed":
            self.children[0].kill()
            self._die(f"RuntimeError: Rank 0 scheduler died during initialization (exit code: -9). If exit code is -9 "
                      f"(SIGKILL), a common cause is the OS OOM killer. pid={self.children[0].pid}")  # fmt: skip
        bar("Loading safetensors checkpoint shards", shards, 1.2, pause, shards=True)
        if FAIL == "weights_oom":
            self._raise(OOM.format(rank=0, total=self.total_gb))
        self._hold(size_gb)
        left = self.total_gb - size_gb - 0.7
        self.each(f"Load weight end. elapsed=1.21 s, type={arch}, avail mem={left:.2f} GB, mem usage={size_gb:.2f} GB.")

    def _pool(self, size_gb: float) -> None:
        pause(0.3)
        if FAIL == "kv_oom" or size_gb <= 0:
            least = self.weights_gb / self.total_gb + 0.013
            self._raise(
                "RuntimeError: Loaded weights leave no GPU memory for the KV cache under "
                f"--mem-fraction-static={self.fraction}. Raise --mem-fraction-static above {least:.3f} "
                f"(minimum viable = 1 - available/pre = {least - 0.0009:.4f})"
            )
        used = self.weights_gb + size_gb + CONTEXT_GB
        if used > self.total_gb:
            said = f" Including non-PyTorch memory, this process has {self.total_gb - 1.03:.2f} GiB memory in use."
            self._raise(OOM.format(rank=0, total=self.total_gb) + said)
        if FAIL == "exception":
            self._raise("AttributeError: '_OpNamespace' 'sgl_kernel' object has no attribute 'copy_all_layer_kv_cache'")
        self._hold(size_gb)
        half = size_gb / 2
        self.each(f"KV Cache is allocated. dtype: torch.bfloat16, #tokens: {self.tokens}, K size: {half:.2f} GB, "
                  f"V size: {half:.2f} GB")  # fmt: skip
        self.each(f"Memory pool end. avail mem={self.total_gb - self.weights_gb - size_gb - 0.7:.2f} GB")

    def _graphs(self, model: str) -> None:
        if self.args.disable_cuda_graph:
            return
        self.each(f"Capture {model} decode CUDA graph begin. backend=full, avail mem=9.00 GB")
        if FAIL == "graphs_oom":
            self._raise(
                "Exception: Capture cuda graph failed: CUDA out of memory. Possible solutions: 1. set "
                "--mem-fraction-static to a smaller value (e.g., 0.8 or 0.7) 2. set --cuda-graph-max-bs-decode to a "
                "smaller value (e.g., 16)"
            )
        bar("Capturing batches (bs=64 avail_mem=8.80 GB)", 24, 1.2, pause)
        self.each(f"Capture {model} decode CUDA graph end. bs=[1, 2, 4, 8, 16, 32, 64], elapsed=1.22 s, "
                  "mem usage=0.22 GB, avail mem=8.78 GB.")  # fmt: skip

    def _summary(self) -> None:
        say(f"max_total_num_tokens={self.tokens}, chunked_prefill_size=8192, max_prefill_tokens=16384, "
            f"max_running_requests={self.max_running}, context_len={self.context}, "
            "available_gpu_mem=8.78 GB")  # fmt: skip
        say("Engine startup timings (s): load_weight=1.21, kv_cache_allocation=0.30, scheduler_e2e=3.20, "
            "cuda_graph={prefill=0.00, decode=1.22}, tokenizer_e2e=4.10")  # fmt: skip

    def _hold(self, size_gb: float) -> None:
        """Each scheduler holds that much more of its GPU."""
        gpus.hold([child.pid for child in self.children], int(size_gb * 2**30))

    def _raise(self, error: str) -> NoReturn:
        rank = 0 if len(self.ranks) > 1 else None
        say("Scheduler hit an exception: Traceback (most recent call last):", rank)
        bare(f'  File "scheduler.py", line 6362, in run_scheduler_process\n    scheduler = Scheduler()\n{error}\n')
        self._die()

    def _die(self, last: str = "") -> NoReturn:
        if last:
            bare(f'Traceback (most recent call last):\n  File "engine.py", line 1, in wait\n{last}')
        say("Received sigquit from a child process. It usually means the child failed.")
        self.kill_children()
        os.kill(os.getpid(), signal.SIGKILL)
        raise SystemExit(137)

    def busy(self, share: float) -> None:
        """How busy its GPUs are, 0…1."""
        gpus.load([child.pid for child in self.children], share)

    def kill_children(self) -> None:
        """What the real parent does at its end: nothing of it stays."""
        for child in self.children:
            child.kill()
            child.wait()
        gpus.release([child.pid for child in self.children])
