"""The table of known failures: what it looks like, in which phases, and the ways out.

Texts are SGLang's own (0.5.11 and 0.5.23) or its libraries'. An advice with `{name}` is shown only when the log
printed that value.
"""

from __future__ import annotations

import re

import msgspec

from console.serve.phases import Phase


class Signature(msgspec.Struct, frozen=True):
    """One failure. `phases` empty: the text means the same in every phase."""

    kind: str
    pattern: re.Pattern[str]
    phases: frozenset[Phase]
    advice: tuple[str, ...]
    names_foreign: bool = False


def _signature(kind: str, pattern: str, phases: str, *advice: str, foreign: bool = False) -> Signature:
    named = frozenset[Phase](phases.split())  # type: ignore[arg-type]
    return Signature(kind, re.compile(pattern), named, advice, foreign)


_MEMORY = r"[Oo]ut[Oo]fMemoryError|out of memory|Not enough memory|leave no GPU memory"
_ROOM = "or make room: more GPUs, a quantised repository or KV cache, no other user of these GPUs"

SIGNATURES: tuple[Signature, ...] = (
    _signature(
        "memory_weights",
        _MEMORY,
        "spawn imports distributed weights draft_weights",
        "the weights do not fit: use more GPUs (tp, pp) or a quantised repository",
        "see who else holds memory of these GPUs",
        foreign=True,
    ),
    _signature(
        "memory_kv",
        r"Raise --mem-fraction-static above (?P<minimum>[\d.]+\d)",
        "kv",
        "RAISE mem-fraction-static above {minimum}",
        _ROOM,
        foreign=True,
    ),
    _signature(  # the allocator itself: what is in use and the pool are more than there is
        "memory_kv",
        r"this process has (?P<used>[\d.]+ GiB) memory in use",
        "kv",
        "LOWER mem-fraction-static: the KV pool that it asks for does not fit ({used} were taken when it failed)",
        "see who else holds memory of these GPUs",
        foreign=True,
    ),
    _signature(
        "memory_kv",
        rf"{_MEMORY}|increase --mem-fraction-static",
        "kv",
        "RAISE mem-fraction-static: the KV pool gets what the fraction leaves beside the weights",
        _ROOM,
        foreign=True,
    ),
    _signature(
        "memory_graphs",
        rf"Capture cuda graph failed|{_MEMORY}",
        "graphs",
        "LOWER mem-fraction-static (e.g. 0.8): the graphs need memory outside the pool",
        "or capture fewer sizes: lower cuda-graph-max-bs (cuda-graph-max-bs-decode from 0.5.23 on)",
        foreign=True,
    ),
    _signature(
        "memory_serving",
        _MEMORY,
        "warmup ready stopping",
        "LOWER mem-fraction-static: activations found no memory outside the pool",
        "or lower chunked-prefill-size or max-running-requests",
        foreign=True,
    ),
    _signature(
        "gpus_in_use",
        r"memory capacity is unbalanced",
        "",
        "another process holds memory of some of these GPUs: free it, or choose other GPUs",
        foreign=True,
    ),
    _signature(
        "http_port",
        r"\[Errno 98\].*?'?(?P<port>\d{2,5})'?\)|error while attempting to bind on address",
        "",
        "port {port} is taken: stop its owner or choose another port",
        "the port is only bound after the weights are loaded: preflight tests it before",
    ),
    _signature(
        "inner_port",
        r"nccl_port at (?P<port>\d+) is not available|Port is already in use\. dist_init_port",
        "",
        "a left-over server holds an inner port: find and stop it, or set nccl-port / dist-init-addr",
    ),
    _signature(
        "arguments",
        r"ambiguous option: (?P<flag>\S+)|unrecognized arguments: (?P<unknown>\S+)|argument (?P<bad>--[\w-]+)"
        r"|the following arguments are required",
        "spawn imports",
        "{flag} is no flag of this version and abbreviates several: write one of those it lists",
        "{unknown} is no flag of the installed version",
        "give {bad} one of the values that the message lists",
        "check the recipe against the installed version: gpudeck recipe check",
    ),
    _signature(
        "access",
        r"GatedRepoError|gated repo|Cannot access gated repo",
        "",
        "the server asked the Hub: launch from a proved local path with HF_HUB_OFFLINE=1",
        "401 means no valid token, 403 a valid token without access",
    ),
    _signature(
        "model_path",
        r"Repo id must be in the form.*?: '(?P<path>/[^']*)'|Can't load the configuration of|"
        r"does not appear to have a file named config\.json",
        "",
        "{path} does not exist on the box (a missing path is taken for a repository id)",
        "check that config.json is readable at the model path",
    ),
    _signature(
        "no_weights",
        r"Cannot find any model weights with",
        "",
        "only the configuration is there: download the weights and verify them against the index",
    ),
    _signature(
        "architecture",
        r"Model architectures .* are not supported",
        "",
        "this SGLang does not know the architecture: upgrade it, or see why its module failed to import",
    ),
    _signature(
        "driver_old",
        r"NVIDIA driver on your system is too old",
        "",
        "the wheels need a newer NVIDIA driver: upgrade it, or install wheels for an older CUDA",
    ),
    _signature(
        "driver_missing",
        r"libcuda\.so\.1: cannot open shared object file",
        "",
        "no NVIDIA driver library here: install the driver, or start the container with GPU access",
        "reinstalling sglang-kernel, as the message says, does not help",
    ),
    _signature(
        "gpu_generation",
        r"no kernel image is available for execution on the device",
        "",
        "a kernel was not built for this GPU: another attention-backend, or wheels for this generation",
    ),
    _signature(
        "pins",
        r"(?P<package>[\w-]+) is installed with version \S+, which is less than the minimum required version "
        r"(?P<wanted>[\w.]+)",
        "",
        "install {package} {wanted} or newer in the recipe's environment",
    ),
    _signature(
        "killed",
        r"died during initialization \(exit code: -9\)|crashed with exit code -9\b",
        "",
        "a scheduler was killed (SIGKILL): by hand, or by the out-of-memory killer of the host",
        "read the kernel log and the host's free memory before a second try",
    ),
    _signature(
        "forward_hung",
        r"Scheduler watchdog timeout",
        "",
        "a forward pass hung: a kernel compiled too long, or a collective never came back",
        "raise watchdog-timeout when kernels compile; else look for a lost GPU (Xid)",
    ),
    _signature(
        "collective",
        r"Watchdog caught collective operation timeout|NCCL (?:error|WARN)|ncclInternalError|ncclSystemError",
        "",
        "another rank died or hung first: look for its line, for Xid errors, and at NCCL_P2P_DISABLE=1 on PCIe",
    ),
    _signature(
        "disk",
        r"\[Errno 28\] No space left on device",
        "",
        "a disk is full: free space; kernel caches lie in ~/.cache (flashinfer, torch_extensions, triton)",
    ),
    _signature(
        "health",
        r"Health check failed\. Server couldn't get a response",
        "",
        "the scheduler hung: read its last lines, look at the GPUs",
    ),
    _signature(
        "child_crash",
        r"died during initialization \(exit code: (?P<code>-?\d+)\)"
        r"|Subprocess \S+ \(pid=\d+\) crashed with exit code (?P<exit>-?\d+)",
        "",
        "a process of the server died (exit code {code}): its own lines stand above",
        "a process of the server died (exit code {exit}): its own lines stand above",
    ),
)
