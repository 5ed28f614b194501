"""SGLang's own validation of an argument list, run dry: the arguments are resolved as a launch resolves them, then
the program ends. No GPU is opened: torch is told of the GPUs that NVML listed, and hides the real ones."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import io
import json
import os
import tempfile
import types
from typing import Any

_RESOLVED = (
    "mem_fraction_static",
    "max_running_requests",
    "chunked_prefill_size",
    "page_size",
    "tp_size",
    "pp_size",
    "dp_size",
    "ep_size",
    "attn_dp_size",
    "attention_backend",
    "kv_cache_dtype",
    "speculative_algorithm",
    "speculative_num_draft_tokens",
    "speculative_num_steps",
    "speculative_eagle_topk",
    "disable_overlap_schedule",
    "disable_cuda_graph",
    "context_length",
    "moe_a2a_backend",
)


class OpenedGpuError(RuntimeError):
    """The validation wanted more of a GPU than what NVML can say."""


def run(config: dict[str, Any]) -> dict[str, Any]:
    """`config`: `argv` (without the program), `gpu`: `{"count", "name", "memory_mib", "capability": [x, y]}`,
    `configs`: for each directory in `argv` the content of its `config.json`.

    The directories are stood in for by empty ones with that file, without `auto_map`: a repository's own code is
    never run, and a repository that is not on the box yet can be validated, too.
    `result`: `accepted` with the `resolved` values; `refused` with SGLang's own last line; `unknown` when the
    validation itself could not run.
    """
    os.environ["CUDA_VISIBLE_DEVICES"] = ""
    os.environ["HF_HUB_OFFLINE"] = "1"
    with tempfile.TemporaryDirectory(prefix="gpudeck-validate-") as room:
        stands = _stand_ins(config.get("configs") or {}, room)
        answer = _validate(config, [stands.get(word, word) for word in config["argv"]])
    for real, stand in stands.items():
        answer["message"] = answer["message"].replace(stand, real)
    return answer


def _stand_ins(configs: dict[str, Any], room: str) -> dict[str, str]:
    """Real directory -> its stand-in."""
    stands = {}
    for number, (real, content) in enumerate(sorted(configs.items())):
        stands[real] = os.path.join(room, str(number), os.path.basename(real))
        os.makedirs(stands[real])
        with open(os.path.join(stands[real], "config.json"), "w", encoding="utf-8") as stream:
            json.dump(_without_code(content), stream)
    return stands


def _without_code(node: Any) -> Any:
    if isinstance(node, dict):
        return {key: _without_code(value) for key, value in node.items() if key != "auto_map"}
    return [_without_code(item) for item in node] if isinstance(node, list) else node


def _validate(config: dict[str, Any], argv: list[str]) -> dict[str, Any]:
    errors = io.StringIO()
    try:
        pretend(config["gpu"])
        prepare = importlib.import_module("sglang.srt.server_args").prepare_server_args
        tell_memory(config["gpu"]["memory_mib"])
    except BaseException as error:
        return {"result": "unknown", "message": _words(error)}
    try:
        with contextlib.redirect_stderr(errors):
            server_args = prepare(argv)
            if hasattr(server_args, "resolve_once"):
                server_args.resolve_once()
    except SystemExit:
        return {"result": "refused", "message": _last_line(errors.getvalue()), "raised": "SystemExit"}
    except (OpenedGpuError, ImportError, OSError, MemoryError) as error:
        return {"result": "unknown", "message": _words(error)}
    except Exception as error:
        kind = "unknown" if _about_a_gpu(error) else "refused"
        return {"result": kind, "message": _words(error), "raised": type(error).__name__}
    return {"result": "accepted", "message": "", "resolved": _resolved(server_args)}


def _resolved(server_args: Any) -> dict[str, Any]:
    view = server_args
    with contextlib.suppress(Exception):
        view = importlib.import_module("sglang.srt.arg_groups.overrides").resolved_view(server_args)
    values = {}
    for name in _RESOLVED:
        value = getattr(view, name, None)
        if isinstance(value, (str, int, float, bool)):
            values[name] = value
    return values


def pretend(gpu: dict[str, Any]) -> None:
    """Answers torch's questions about the hardware from NVML's facts; no GPUs, or no torch: no questions."""
    if gpu["count"] == 0 or importlib.util.find_spec("torch") is None:
        return
    torch: Any = importlib.import_module("torch")
    if gpu["capability"] is None:
        raise OpenedGpuError("the compute capability of the GPUs is not known")
    major, minor = gpu["capability"]
    total = int(gpu["memory_mib"]) << 20
    properties = types.SimpleNamespace(
        name=gpu["name"],
        major=major,
        minor=minor,
        total_memory=total,
        multi_processor_count=gpu.get("processors", 132),
        uuid="",
    )
    cuda: Any = torch.cuda
    cuda.is_available = lambda: True
    cuda.device_count = lambda: int(gpu["count"])
    cuda.current_device = lambda: 0
    cuda.get_device_capability = lambda device=None: (major, minor)
    cuda.get_device_name = lambda device=None: gpu["name"]
    cuda.get_device_properties = lambda device=None: properties
    cuda.mem_get_info = lambda device=None: (total, total)
    cuda._lazy_init = _refuse


def _refuse(*_: Any) -> None:
    raise OpenedGpuError("the validation of this version wants to open a GPU")


def tell_memory(memory_mib: float) -> None:
    """SGLang asks nvidia-smi for the smallest GPU; here the recipe's own GPUs count."""
    for name in ("sglang.srt.utils.common", "sglang.srt.utils"):
        with contextlib.suppress(Exception):
            module: Any = importlib.import_module(name)
            if hasattr(module, "get_nvgpu_memory_capacity"):
                module.get_nvgpu_memory_capacity = lambda: float(memory_mib)


def _about_a_gpu(error: BaseException) -> bool:
    """True when the refusal is about the missing hardware, which says nothing about the arguments."""
    text = str(error)
    signs = ("CUDA error", "libcuda", "no NVIDIA driver", "No CUDA GPUs", "Torch not compiled", "nvidia-smi")
    return any(sign in text for sign in signs)


def _words(error: BaseException) -> str:
    lines = [line for line in str(error).strip().split("\n") if line.strip()]
    return "{}: {}".format(type(error).__name__, lines[0][:600] if lines else "no message")


def _last_line(text: str) -> str:
    """The one useful line of argparse's dump: the last."""
    lines: list[str] = [line for line in text.strip().split("\n") if line.strip()]
    return lines[-1][:600] if lines else "the argument parser refused without a word"
