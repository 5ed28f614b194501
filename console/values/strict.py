"""Data from strangers: finite numbers, bounded nesting, bounded size."""

from __future__ import annotations

import json
import math
import zlib
from typing import Any, NoReturn

MAX_DEPTH = 64


def strict_json(text: str | bytes) -> Any:
    """The document. Raises ValueError for none, for NaN and infinity, and for what is nested deeper than MAX_DEPTH."""
    try:
        data = json.loads(text, parse_constant=_refused, parse_float=_finite)
    except RecursionError:
        raise ValueError(f"nested deeper than {MAX_DEPTH}") from None
    if too_deep(data):
        raise ValueError(f"nested deeper than {MAX_DEPTH}")
    return data


def too_deep(data: Any) -> bool:
    """Whether lists and objects stand in each other more than MAX_DEPTH times."""
    level = [data] if isinstance(data, (list, dict)) else []
    for _ in range(MAX_DEPTH):
        inside = (item for each in level for item in (each.values() if isinstance(each, dict) else each))
        level = [item for item in inside if isinstance(item, (list, dict))]
        if not level:
            return False
    return True


def gunzip(data: bytes, most: int) -> bytes:
    """What was packed. Raises ValueError for what is no whole gzip file, or unpacks to more than `most` bytes."""
    unpacking = zlib.decompressobj(wbits=31)
    try:
        unpacked = unpacking.decompress(data, most + 1)
    except zlib.error as error:
        raise ValueError(f"it is no gzip file: {error}") from None
    if len(unpacked) > most:
        raise ValueError(f"it unpacks to more than {most >> 20} MiB")
    if not unpacking.eof:
        raise ValueError("it is a gzip file that ends early")
    return unpacked


def _refused(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number of JSON")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text[:20]} is beyond every number")
    return number
