"""The formats of SGLang's stamped messages: one small function a kind, found by how the message starts."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

Fields = dict[str, Any]
Reader = Callable[[str], tuple[str, Fields]]

_NUMBER = re.compile(r"-?\d{1,15}(?:\.\d{1,20})?(?:[eE][-+]?\d{1,2})?")
_HTTP = re.compile(r'INFO: +(\S+) - "([A-Z]+) (\S+) HTTP/[\d.]+" (\d+)')
_LISTENING = re.compile(r"INFO: +Uvicorn running on (\S+)")
_FINISHED = re.compile(r"INFO: +Finished server process \[(\d+)\]")
_CHILD = re.compile(r"Subprocess (\S+) \(pid=(\d+)\) crashed with exit code (-?\d+)")
_GRAPH = re.compile(r"Capture (?P<what>.*?graph) (?P<edge>begin|end)\.")
_PAIR = re.compile(r"([A-Za-z][\w ]{0,30}?)[=:] ?(-?\d{1,15}(?:\.\d{1,20})?)")
_BATCH_NAMES = {
    "#running-req": "running",
    "#queue-req": "queue",
    "gen throughput (token/s)": "tok_s",
    "input throughput (token/s)": "tok_s",
    "#token": "token",
    "token usage": "token_usage",
    "accept len": "accept_len",
    "accept rate": "accept_rate",
    "#new-seq": "new_seq",
    "#new-token": "new_token",
    "#cached-token": "cached_token",
    "#pending-token": "pending_token",
}
_PAIR_NAMES = {"mem usage": "used_gb", "avail mem": "avail_gb", "elapsed": "elapsed_s", "Time elapsed": "elapsed_s"}
_TIMING_NAMES = {
    "load_weight": "load_weight_s",
    "kv_cache_allocation": "kv_cache_s",
    "scheduler_e2e": "scheduler_s",
    "tokenizer_e2e": "total_s",
}


def message_fields(text: str) -> tuple[str, Fields]:
    """Kind and fields of a stamped message; `text` when no format knows it."""
    if text.startswith(_STARTS):
        for start, read in _READERS:
            if text.startswith(start):
                try:
                    return read(text)
                except (ValueError, KeyError):  # a number that is none: this is not the line we know
                    return "text", {"text": text}
    if " hit an exception: " in text:
        source = text.split(" ", 1)[0]
        return "exception", {} if source == "Scheduler" else {"source": source}
    return "text", {"text": text}


def _number(text: str) -> int | float | None:
    """An int or a float as printed; None for anything else (`nan`, a word)."""
    if not _NUMBER.fullmatch(text):
        return None
    return float(text) if "." in text or "e" in text.lower() else int(text)


def _batch(text: str) -> tuple[str, Fields]:
    """Prefill and decode lines. Unknown fields (hybrid models) are kept under their own names."""
    fields: Fields = {}
    for part in text.split(", ")[1:]:
        label, _, value = part.partition(": ")
        if label.endswith(" graph"):
            fields["graph_kind"] = label[:-6]
            fields["graph"] = value == "True"
            continue
        number = _number(value)
        if number is not None:
            fields[_BATCH_NAMES.get(label) or label.strip("#").replace(" ", "_").replace("-", "_")] = number
    return ("decode" if text.startswith("Decode") else "prefill"), fields


def _pairs(text: str) -> Fields:
    """`elapsed=0.21 s, avail mem=136.42 GB, mem usage=2.70 GB.` in both punctuations."""
    return {_PAIR_NAMES[name]: float(value) for name, value in _PAIR.findall(text) if name in _PAIR_NAMES}


def _marker(kind: str) -> Reader:
    return lambda text: (kind, _pairs(text))


def _weights_end(text: str) -> tuple[str, Fields]:
    arch = re.search(r"type=([^,]+)", text)
    return "weights_end", {"arch": arch.group(1) if arch else None, **_pairs(text)}


def _kv(text: str) -> tuple[str, Fields]:
    fields: Fields = {"tokens": None}
    for part in text.split(". ", 1)[-1].split(", "):
        name, _, value = part.partition(": ")
        if name == "dtype":
            fields["dtype"] = value
        elif name == "#tokens":
            fields["tokens"] = int(value)
        elif name.endswith("size"):
            fields[f"{name.removesuffix(' size').lower()}_gb"] = float(value.split(" ")[0])
    return ("text", {"text": text}) if fields["tokens"] is None else ("kv", fields)


def _graph(text: str) -> tuple[str, Fields]:
    sizes = re.match(r"Capture cuda graph (bs|num tokens) \[([\d, ]*)\]", text)
    if sizes:
        listed = [int(size) for size in sizes.group(2).split(",") if size.strip()]
        return "graph_sizes", {"what": sizes.group(1), "sizes": listed}
    edge = _GRAPH.match(text)
    if edge:
        return f"graph_{edge.group('edge')}", {"what": edge.group("what"), **_pairs(text)}
    return "text", {"text": text}


def _summary(text: str) -> tuple[str, Fields]:
    fields: Fields = {}
    for part in text.split(", "):
        name, _, value = part.partition("=")
        if name.startswith("available_"):
            fields["device"] = name.split("_")[1]
            fields["avail_gb"] = float(value.split(" ")[0])
        elif (number := _number(value)) is not None:
            fields[name] = number
    return "summary", fields


def _timings(text: str) -> tuple[str, Fields]:
    found = re.findall(r"(\w{1,60})=(-?\d{1,15}(?:\.\d{1,20})?)", text)
    return "startup_timings", {_TIMING_NAMES[name]: float(value) for name, value in found if name in _TIMING_NAMES}


def _spec_cap(text: str) -> tuple[str, Fields]:
    found = re.search(r"reset to (\d+) for speculative", text)
    return ("spec_cap", {"max_running_requests": int(found.group(1))}) if found else ("text", {"text": text})


def _uvicorn(text: str) -> tuple[str, Fields]:
    if found := _HTTP.match(text):
        client, method, path, status = found.groups()
        return "http", {"client": client, "method": method, "path": path, "status": int(status)}
    if found := _LISTENING.match(text):
        return "listening", {"url": found.group(1)}
    if found := _FINISHED.match(text):
        return "stopped", {"pid": int(found.group(1))}
    return "text", {"text": text}


def _child_exit(text: str) -> tuple[str, Fields]:
    found = _CHILD.match(text)
    if not found:
        return "text", {"text": text}
    return "child_exit", {"name": found.group(1), "pid": int(found.group(2)), "code": int(found.group(3))}


_READERS: tuple[tuple[str, Reader], ...] = (
    ("Decode batch", _batch),
    ("Prefill batch", _batch),
    ("INFO: ", _uvicorn),
    ("Init torch distributed begin", _marker("dist_begin")),
    ("Init torch distributed ends", _marker("dist_end")),
    ("Init parallel begin", _marker("dist_begin")),
    ("Init parallel ends", _marker("dist_end")),
    ("Load weight begin", _marker("weights_begin")),
    ("Load weight end", _weights_end),
    ("KV Cache is allocated", _kv),
    ("Capture ", _graph),
    ("max_total_num_tokens=", _summary),
    ("Engine startup timings", _timings),
    ("Max running requests is reset", _spec_cap),
    ("The server is fired up", lambda _: ("ready", {})),
    ("SIGTERM received", lambda _: ("stop_requested", {})),
    ("SIGQUIT received", lambda _: ("sigquit", {})),
    ("Received sigquit from a child", lambda _: ("sigquit", {})),
    ("Subprocess ", _child_exit),
    ("server_args=", lambda text: ("server_args", {"text": text})),
)
_STARTS = tuple(start for start, _ in _READERS)
