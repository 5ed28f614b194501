"""Results of other tools as runs: what they say under our names, and nothing that they do not say.

Their names mean other things: guidellm's `inter_token_latency` is TPOT and its TPOT includes the first token;
sglang's accept length and aiperf's gauge are the server's since its start, so they are left out; peaks that
count events are left out; vLLM's acceptance rate is in percent.
"""

from __future__ import annotations

import json
import math
from typing import Any

from console.bench import import_others, import_sglang
from console.bench.import_values import ImportedRun, ImportFormatError
from console.values import clean_tree, too_deep

MOST_VALUES = 2 << 20  # a few hundred MB of objects


def import_file(data: bytes, file_name: str) -> ImportedRun:
    """The run of a result file of SGLang, vLLM, GuideLLM or AIPerf. Raises ImportFormatError."""
    if sum(data.count(sign) for sign in (b"[", b"{", b",")) > MOST_VALUES:
        raise ImportFormatError(f"the file {file_name} holds more than {MOST_VALUES >> 20} million values")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ImportFormatError(f"the file {file_name} is no text") from error
    rows = [clean_tree(_finite(row), 200_000) for row in _rows(text, file_name)]
    for tool, known_shape, reader in READERS:
        if rows and all(known_shape(row) for row in rows):
            try:
                return reader(rows)
            except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
                what = f"{error.args[0]} is missing" if isinstance(error, KeyError) else "a field is of another kind"
                raise ImportFormatError(f"the file {file_name} is no whole result of {tool}: {what}") from error
    raise ImportFormatError(f"the file {file_name} is no result of SGLang, vLLM, GuideLLM or AIPerf that is known here")


def _rows(text: str, file_name: str) -> list[dict[str, Any]]:
    """One JSON document, or one object a line. Bare `Infinity` is accepted here and nowhere else."""
    try:
        document = json.loads(text)
        rows = document if isinstance(document, list) else [document]
    except ValueError:
        rows = _json_lines(text, file_name)
    except RecursionError:
        raise ImportFormatError(f"the file {file_name} is nested too deeply") from None
    if too_deep(rows):
        raise ImportFormatError(f"the file {file_name} is nested too deeply")
    if not all(isinstance(row, dict) for row in rows):
        raise ImportFormatError(f"the file {file_name} holds something else than objects")
    return rows


def _json_lines(text: str, file_name: str) -> list[Any]:
    rows = []
    for number, line in enumerate(text.splitlines(), 1):
        try:
            rows += [json.loads(line)] if line.strip() else []
        except (ValueError, RecursionError) as error:
            raise ImportFormatError(f"the file {file_name} is no JSON in line {number}") from error
    return rows


def _finite(value: Any) -> Any:
    """NaN is missing; Infinity becomes the word that the other clients write."""
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else "inf"
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    return [_finite(item) for item in value] if isinstance(value, list) else value


def _is_sglang(row: dict[str, Any]) -> bool:
    return {"backend", "duration", "completed", "output_throughput", "total_throughput"} <= set(row)


def _is_vllm(row: dict[str, Any]) -> bool:
    return {"backend", "duration", "completed", "output_throughput", "total_token_throughput"} <= set(row)


def _is_guidellm(row: dict[str, Any]) -> bool:
    metadata = row.get("metadata")
    return isinstance(metadata, dict) and "guidellm_version" in metadata and isinstance(row.get("benchmarks"), list)


def _is_aiperf(row: dict[str, Any]) -> bool:
    return "aiperf_version" in row


READERS = (
    ("SGLang", _is_sglang, import_sglang.read_sglang),
    ("vLLM", _is_vllm, import_sglang.read_vllm),
    ("GuideLLM", _is_guidellm, import_others.read_guidellm),
    ("AIPerf", _is_aiperf, import_others.read_aiperf),
)

__all__ = ["ImportFormatError", "ImportedRun", "import_file"]
