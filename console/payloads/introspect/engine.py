"""What the installed SGLang is: version, flags, speculative algorithms, architectures, torch, and what is broken."""

from __future__ import annotations

import argparse
import hashlib
import importlib
import os
import sys
from typing import Any

from . import sources

_PACKAGES = (
    "sglang",
    "torch",
    "transformers",
    "sglang-kernel",
    "sgl-kernel",
    "flashinfer-python",
    "kernels",
    "fastapi",
    "huggingface_hub",
    "triton",
)
_READ = ("SGLANG_", "SGL_", "FLASHINFER_", "TORCH", "CUDA_", "HF_", "PYTHONPATH", "LD_LIBRARY_PATH")
_PLAIN = (str, int, float, bool, type(None))


def describe(_config: dict[str, Any]) -> dict[str, Any]:
    """The whole answer. `problem` names what keeps this interpreter from serving; what could not be read is
    `{"error": text}` in its own field. Never opens a GPU."""
    os.environ["CUDA_VISIBLE_DEVICES"] = ""
    packages = _packages()
    answer = {
        "python": sys.executable,
        "python_version": ".".join(str(part) for part in sys.version_info[:3]),
        "version": packages.get("sglang"),
        "packages": packages,
        "torch": _torch(),
        "kernels": _kernel_folders(),
    }
    root = sources.package_folder("sglang")
    if root is None:
        answer["problem"] = _absent()
        return answer
    answer.update(sources.scan(os.path.join(root, "srt", "models")))
    flags = _attempt(_flags)
    answer["flags"] = flags
    answer["spec_algorithms"] = _attempt(_algorithms)
    if "error" in flags and isinstance(flags["error"], str):
        answer["problem"] = {"kind": "broken", "message": flags["error"], "cause": flags.get("cause", "")}
    return answer


def stamp(_config: dict[str, Any]) -> dict[str, Any]:
    """A name for what is installed, without importing any of it: it changes with any package that matters; and one for
    the environment, by what SGLang and its libraries read of it."""
    root, packages = sources.package_folder("sglang"), _packages()
    if root is None:
        return {"stamp": None, "environment": None, "packages": packages}
    words = [sys.version, root, str(os.stat(root).st_mtime_ns)]
    words += [f"{name}={version}" for name, version in sorted(packages.items())]
    read = sorted(item for item in os.environ.items() if item[0].startswith(_READ))
    environment = hashlib.sha256(repr(read).encode()).hexdigest()[:16]
    return {"stamp": "; ".join(words), "environment": environment, "packages": packages}


def _absent() -> dict[str, str]:
    return {"kind": "absent", "message": f"the interpreter {sys.executable} has no package sglang", "cause": ""}


def _attempt(question: Any) -> dict[str, Any]:
    """The answer, or the error with the innermost cause: the line that names what is really broken."""
    try:
        return question()  # type: ignore[no-any-return]
    except BaseException as error:  # a package may raise anything, SystemExit included, while it is imported
        first = _innermost(error)
        return {"error": _words(error), "cause": "" if first is error else _words(first)}


def _innermost(error: BaseException) -> BaseException:
    seen = [error]
    while True:
        deeper = seen[-1].__cause__ or seen[-1].__context__
        if deeper is None or deeper in seen:
            return seen[-1]
        seen.append(deeper)


def _words(error: BaseException) -> str:
    text = str(error).strip().split("\n")
    return "{}: {}".format(type(error).__name__, text[0] if text else "")


def _flags() -> dict[str, Any]:
    module = importlib.import_module("sglang.srt.server_args")
    parser = argparse.ArgumentParser()
    module.ServerArgs.add_cli_args(parser)
    table = {}
    for action in parser._actions:
        names = [option for option in action.option_strings if option.startswith("--")]
        if not names or names[0] == "--help":
            continue
        table[names[0]] = _flag(action, names)
    return table


def _flag(action: Any, names: list[str]) -> dict[str, Any]:
    choices = None if action.choices is None else [_plain(choice) for choice in action.choices]
    return {
        "aliases": [option for option in action.option_strings if option != names[0]],
        "dest": action.dest,
        "choices": choices,
        "default": _plain(action.default),
        "nargs": action.nargs,
        "required": bool(action.required),
        "kind": type(action).__name__,
        "type": None if action.type is None else getattr(action.type, "__name__", str(action.type)),
        "help": (action.help or "")[:160] if isinstance(action.help, str) else "",
    }


def _plain(value: Any) -> Any:
    if isinstance(value, _PLAIN):
        return value
    if isinstance(value, (list, tuple)) and all(isinstance(item, _PLAIN) for item in value):
        return list(value)
    return repr(value)


def _algorithms() -> dict[str, Any]:
    """Names of the enum and of what plugins registered; 0.5.11 has neither: its names are the flag's choices."""
    info = importlib.import_module("sglang.srt.speculative.spec_info")
    builtin = [item.name for item in info.SpeculativeAlgorithm if item.name != "NONE"]
    answer: dict[str, Any] = {"builtin": builtin, "aliases": [], "plugins": []}
    try:
        registry = importlib.import_module("sglang.srt.speculative.spec_registry")
    except ImportError:
        return answer
    reserved = getattr(info, "_RESERVED_ALIASES", None) or getattr(registry, "_RESERVED_ALIASES", None)
    answer["aliases"] = sorted(reserved or ())
    for name in dir(registry):
        table = getattr(registry, name)
        if isinstance(table, dict) and name.isupper() and name != "_RESERVED_ALIASES":
            answer["plugins"] += [str(key) for key in table if str(key) not in builtin]
    return answer


def _packages() -> dict[str, str | None]:
    try:
        from importlib import metadata
    except ImportError:
        return {}
    found: dict[str, str | None] = {}
    for name in _PACKAGES:
        try:
            found[name] = metadata.version(name)
        except Exception:
            found[name] = None
    return found


def _torch() -> dict[str, Any]:
    """Version, CUDA version and the GPU generations that torch has kernels for; no GPU is opened."""
    try:
        torch: Any = importlib.import_module("torch")
    except BaseException as error:
        return {"error": _words(error)}
    try:
        arches = torch._C._cuda_getArchFlags()
    except Exception:
        arches = None
    return {
        "version": str(torch.__version__),
        "cuda": torch.version.cuda,
        "arches": arches.split() if isinstance(arches, str) else None,
    }


def _kernel_folders() -> list[str] | None:
    """The GPU generations of sgl_kernel's own libraries: folders named `sm90`, `sm100`."""
    root = sources.package_folder("sgl_kernel")
    if root is None:
        return None
    return sorted(name for name in os.listdir(root) if name.startswith("sm") and name[2:].isdigit())
