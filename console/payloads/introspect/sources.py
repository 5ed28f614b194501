"""Reads a package's source files without importing them: which architectures it serves, which can feed a drafter."""

from __future__ import annotations

import ast
import importlib.util
import os
from typing import Any

_CAPTURE = {
    "dflash": "set_dflash_layers_to_capture",
    "eagle3": "set_eagle3_layers_to_capture",
}


def package_folder(name: str) -> str | None:
    """Where a top-level package lies, or None."""
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, ValueError):
        return None
    if spec is None or not spec.submodule_search_locations:
        return None
    return str(next(iter(spec.submodule_search_locations)))


def scan(folder: str) -> dict[str, Any]:
    """`architectures`: class → module file; `capture`: for each kind of drafter the classes that hand it their
    hidden states, themselves or through a base class."""
    classes: dict[str, dict[str, Any]] = {}
    entries: dict[str, str] = {}
    for file in sorted(os.listdir(folder)) if os.path.isdir(folder) else []:
        if file.endswith(".py"):
            _read(os.path.join(folder, file), file[:-3], classes, entries)
    capture = {}
    for kind, method in _CAPTURE.items():
        capture[kind] = sorted(name for name in entries if _has(name, method, classes, set()))
    return {"architectures": entries, "capture": capture}


def _read(path: str, module: str, classes: dict[str, dict[str, Any]], entries: dict[str, str]) -> None:
    try:
        with open(path, encoding="utf-8") as stream:
            tree = ast.parse(stream.read())
    except (OSError, SyntaxError, UnicodeDecodeError):
        return
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            methods = {item.name for item in node.body if isinstance(item, ast.FunctionDef)}
            classes[node.name] = {"methods": methods, "bases": [_name(base) for base in node.bases]}
        elif isinstance(node, ast.Assign) and any(_name(target) == "EntryClass" for target in node.targets):
            for name in _entry_names(node.value):
                entries[name] = module


def _entry_names(value: Any) -> list[str]:
    items = value.elts if isinstance(value, (ast.List, ast.Tuple)) else [value]
    return [name for name in map(_name, items) if name]


def _name(node: Any) -> str:
    if isinstance(node, ast.Name):
        return node.id
    return node.attr if isinstance(node, ast.Attribute) else ""


def _has(name: str, method: str, classes: dict[str, dict[str, Any]], seen: set[str]) -> bool:
    known = classes.get(name)
    if known is None or name in seen:
        return False
    seen.add(name)
    return method in known["methods"] or any(_has(base, method, classes, seen) for base in known["bases"])
