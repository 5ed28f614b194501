"""Recordings of older schemas are lifted, one schema at a time, to the present one.

An additive field needs no upcaster. A rename bumps `SCHEMA` and adds one here; the recordings under
`tests/recordings` replay for ever.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

# From the schema given as key to the next one: (kind, fields) -> (kind, fields).
Upcaster = Callable[[str, dict[str, Any]], tuple[str, dict[str, Any]]]

UPCASTERS: Mapping[int, Upcaster] = {}


def upcast(
    kind: str, fields: dict[str, Any], schema: int, target: int, upcasters: Mapping[int, Upcaster]
) -> tuple[str, dict[str, Any]]:
    """Lift one fact from `schema` to `target`."""
    for version in range(schema, target):
        if step := upcasters.get(version):
            kind, fields = step(kind, fields)
    return kind, fields
