"""The JSON schema of the configuration files, made from the records."""

from __future__ import annotations

from typing import Any

import msgspec

from console.config.records import File


def json_schema() -> dict[str, Any]:
    """JSON Schema 2020-12. Keys that are not listed are refused, as the reader does."""
    (root,), parts = msgspec.json.schema_components([File])
    for part in parts.values():
        if part.get("type") == "object" and "properties" in part:
            part["additionalProperties"] = False
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "gpudeck configuration",
        **root,
        "$defs": parts,
    }
