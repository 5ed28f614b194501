"""Ends judged: the first cause with its phase, and advice that the phase chooses."""

from __future__ import annotations

import pytest

from console.serve.failures import Diagnosis, End, diagnose
from tests.support.sglang import CPU, H200, log_bytes, story_of

DAY = "2026-11-30"
OOM = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 139 GiB."
BEGIN = ["Init torch distributed begin.", "Init torch distributed ends. elapsed=1.55 s, mem usage=1.01 GB"]
WEIGHTS = [*BEGIN, "Load weight begin. avail mem=139.13 GB"]
LOADED = [*WEIGHTS, "Load weight end. elapsed=0.21 s, type=X, avail mem=136.42 GB, mem usage=2.70 GB."]
POOL = [*LOADED, "KV Cache is allocated. #tokens: 100000, K size: 61.46 GB, V size: 61.46 GB"]
GRAPHS = [*POOL, "Capture cuda graph begin. This can take up to several minutes. avail mem=12.79 GB"]
SUMMARY = [
    *POOL,
    "max_total_num_tokens=100000, max_running_requests=4096, context_len=4096, available_gpu_mem=11.93 GB",
]
SERVING = [*SUMMARY, "INFO:     Uvicorn running on http://127.0.0.1:30000 (Press CTRL+C to quit)",
           "The server is fired up and ready to roll!"]  # fmt: skip


def log(*messages: str, rank: str = "") -> bytes:
    """Stamped lines, one a second; a message with a line break brings its unstamped lines along."""
    return "".join(
        f"[{DAY} 00:{at // 60:02}:{at % 60:02}{rank}] {message}\n" for at, message in enumerate(messages)
    ).encode()


def raised(error: str) -> str:
    return f'Scheduler hit an exception: Traceback (most recent call last):\n  File "x.py", line 1, in f\n{error}\n'


KILLED = End(exit_code=137)


def judge(*messages: str, end: End = KILLED, foreign: tuple[str, ...] = ()) -> Diagnosis:
    return diagnose(story_of(log(*messages)), end, foreign)


def test_same_text_opposite_advice() -> None:
    weights = judge(*WEIGHTS, raised(OOM))
    kv = judge(*LOADED, raised(OOM))
    graphs = judge(*GRAPHS, raised(OOM))
    assert [one.cause_phase for one in (weights, kv, graphs)] == ["weights", "kv", "graphs"]
    assert weights.cause == kv.cause == graphs.cause == OOM
    assert "more GPUs" in weights.advice[0]
    assert "quantised" in weights.advice[0]
    assert kv.advice[0].startswith("RAISE mem-fraction-static")
    assert graphs.advice[0].startswith("LOWER mem-fraction-static")
    assert not any("LOWER" in way for way in kv.advice)
    assert not any("RAISE" in way for way in graphs.advice)


def test_a_pool_that_does_not_fit_is_the_fractions_fault() -> None:
    """The allocator's words on an H200 at a fraction of 0.999: the process itself held the memory."""
    found = judge(
        *LOADED,
        raised(
            "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.43 GiB. GPU 0 has a total capacity of "
            "139.80 GiB of which 2.07 GiB is free. Including non-PyTorch memory, this process has 137.72 GiB memory "
            "in use. Of the allocated memory 136.99 GiB is allocated by PyTorch"
        ),
    )
    assert (found.kind, found.cause_phase) == ("memory_kv", "kv")
    assert found.advice[0].startswith("LOWER mem-fraction-static")
    assert "137.72 GiB" in found.advice[0]


def test_printed_minimum_is_named() -> None:
    found = judge(
        *LOADED,
        raised(
            "RuntimeError: Loaded weights leave no GPU memory for the KV cache under --mem-fraction-static=0.8. "
            "Raise --mem-fraction-static above 0.873 (minimum viable = 1 - available/pre = 0.8721)"
        ),
    )
    assert (found.kind, found.advice[0]) == ("memory_kv", "RAISE mem-fraction-static above 0.873")


def test_foreign_users_are_named_for_memory_only() -> None:
    busy = ("GPU 3: 40 GiB held by pid 99 (bob: python train.py)",)
    assert busy[0] in judge(*WEIGHTS, raised(OOM), foreign=busy).advice
    assert busy[0] not in judge(*WEIGHTS, raised("KeyError: 'x'"), foreign=busy).advice


@pytest.mark.parametrize(
    ("messages", "kind", "phase"),
    [
        ([*BEGIN, raised("RuntimeError: The memory capacity is unbalanced. Some GPUs may be occupied by other "
                         "processes. pre_model_load_memory=1.0")], "gpus_in_use", "distributed"),
        ([*SUMMARY, "ERROR:    [Errno 98] error while attempting to bind on address ('0.0.0.0', 30000): address "
                    "already in use"], "http_port", "warmup"),
        ([raised("RuntimeError: nccl_port at 29500 is not available in 30 seconds. x")], "inner_port", "imports"),
        ([*WEIGHTS, raised("RuntimeError: Cannot find any model weights with `/m`")], "no_weights", "weights"),
        ([*SERVING, "Scheduler watchdog timeout (self.watchdog_timeout=300, self.soft=False)",
          "SIGQUIT received. signum=None, frame=None. It usually means one child failed."], "forward_hung", "ready"),
        ([*SUMMARY, raised("RuntimeError: CUDA error: no kernel image is available for execution on the device")],
         "gpu_generation", "warmup"),
        ([*SERVING, "Subprocess scheduler_0 (pid=41) crashed with exit code -9. Triggering SIGQUIT for cleanup...",
          "SIGQUIT received. signum=None, frame=None. It usually means one child failed."], "killed", "ready"),
        ([*WEIGHTS, "x\nRuntimeError: Rank 0 scheduler died during initialization (exit code: -9). If exit code is -9 "
                    "(SIGKILL), a common cause is the OS OOM killer."], "killed", "weights"),
        ([*WEIGHTS, raised("OSError: [Errno 28] No space left on device")], "disk", "weights"),
        (["x\nException: sglang-kernel is installed with version 0.4.1, which is less than the minimum required "
          "version 0.4.2. Please reinstall"], "pins", "imports"),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)  # fmt: skip
def test_signature(messages: list[str], kind: str, phase: str) -> None:
    found = judge(*messages)
    assert (found.phase, found.kind, found.cause_phase) == ("crashed", kind, phase)
    assert found.advice


def test_earliest_rank_is_the_cause() -> None:
    """Rank 3 fails first, rank 0's collective error stands above it in the file."""
    first = log(*WEIGHTS, raised(OOM), rank=" TP3")
    later = f"[{DAY} 00:09:00 TP0] {raised('torch.distributed.DistBackendError: NCCL error in: x.cpp')}".encode()
    found = diagnose(story_of(later + first), End(exit_code=137))
    assert (found.kind, found.cause_phase) == ("memory_weights", "weights")


def test_rank_keeps_its_own_phase() -> None:
    """TP1 runs out of memory in its weights while TP0 already has its pool."""
    log_1 = log(*WEIGHTS, rank=" TP1") + log(*POOL, rank=" TP0")
    found = diagnose(story_of(log_1 + f"[{DAY} 00:00:09 TP1] {raised(OOM)}".encode()), End(exit_code=137))
    assert (found.kind, found.cause_phase) == ("memory_weights", "weights")


def test_request_traceback_is_no_crash_cause() -> None:
    story = story_of(log_bytes(f"{H200}/ar_tp1/server.log"))
    assert [error.source for error in story.errors] == ["request"]
    found = diagnose(story, End(exit_code=137))
    assert (found.phase, found.kind) == ("stopped", "stopped")


def test_stop_asked_for_is_never_a_crash() -> None:
    end = End(signal=9, stop_asked=True)
    for messages in (GRAPHS, [*SERVING, "Subprocess scheduler_0 (pid=4) crashed with exit code -15. Triggering"]):
        assert judge(*messages, end=end).phase == "stopped"
    assert diagnose(story_of(log_bytes(f"{H200}/tiny_kv_stopped/server.log")), end).phase == "stopped"


def test_killed_scheduler_before_the_cleanup_is_a_crash() -> None:
    killed = "Subprocess scheduler_0 (pid=4) crashed with exit code -9. Triggering SIGQUIT for cleanup..."
    assert judge(*SERVING, killed, "SIGTERM received. signum=None frame=None.").kind == "killed"


def test_unclassified_says_so_and_names_the_error() -> None:
    found = diagnose(story_of(log_bytes(f"{CPU}/crash_ngram.log")), End(exit_code=137))
    assert (found.phase, found.kind, found.cause_phase) == ("crashed", "unclassified", "kv")
    assert "copy_all_layer_kv_cache_cpu" in found.cause
    assert "not classified" in found.advice[0]


def test_nothing_known_is_said() -> None:
    assert "signal 9" in judge(*WEIGHTS, end=End(signal=9)).cause
    assert "exit code 3" in judge(end=End(exit_code=3)).cause
    assert "neither" in judge(end=End()).cause


def test_what_ends_behind_its_proof_ended_while_it_served() -> None:
    """A log cannot tell a server that answered from one that still warms up."""
    for proved, when, phase in ((False, "while starting", "warmup"), (True, "while serving", "ready")):
        found = judge(*SUMMARY, end=End(signal=9, proved=proved))
        assert (found.kind, found.cause_phase) == ("unclassified", phase)
        assert f"{when}, in phase {phase}" in found.advice[0]


@pytest.mark.parametrize(
    ("name", "kind", "said"),
    [
        (f"{H200}/bad_flag_value/server.log", "arguments", "--attention-backend"),
        (f"{CPU}/ambiguous_flag.log", "arguments", "--cuda-graph-max-bs"),
        (f"{CPU}/crash_no_libcuda.log", "driver_missing", "libcuda.so.1"),
        (f"{CPU}/missing_model.log", "model_path", "/nonexistent/x"),
    ],
)
def test_captured_failure(name: str, kind: str, said: str) -> None:
    found = diagnose(story_of(log_bytes(name)), End(exit_code=1))
    assert (found.phase, found.kind, found.cause_phase) == ("crashed", kind, "imports")
    assert said in found.cause
    assert "\n" not in found.cause


def test_architecture_names_the_import_that_failed() -> None:
    found = judge(
        "Ignore import error when loading sglang.srt.models.qwen3_5: cannot import name 'x'",
        "Ignore import error when loading sglang.srt.models.grok: other",
        *WEIGHTS,
        raised("ValueError: Model architectures ['Qwen3_5ForCausalLM'] are not supported for now. Supported "
               "architectures: dict_keys(['GrokForCausalLM'])"),
    )  # fmt: skip
    assert found.kind == "architecture"
    assert [line for line in found.advice if "Ignore import error" in line] == [
        "Ignore import error when loading sglang.srt.models.qwen3_5: cannot import name 'x'"
    ]
