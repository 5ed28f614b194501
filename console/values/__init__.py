"""What a number or a remote string is. Imports nothing of ours."""

from console.values.files import open_regular, read_regular
from console.values.strict import gunzip, strict_json, too_deep
from console.values.text import CleanText, clean, clean_lines, clean_tree
from console.values.units import (
    format_bytes,
    format_duration,
    format_gb,
    format_gib,
    format_percent,
    format_rate,
    format_ratio,
)
from console.values.unknown import Unknown, UnknownValueError, dump_json, first_unknown, known, to_json

__all__ = [
    "CleanText",
    "Unknown",
    "UnknownValueError",
    "clean",
    "clean_lines",
    "clean_tree",
    "dump_json",
    "first_unknown",
    "format_bytes",
    "format_duration",
    "format_gb",
    "format_gib",
    "format_percent",
    "format_rate",
    "format_ratio",
    "gunzip",
    "known",
    "open_regular",
    "read_regular",
    "strict_json",
    "to_json",
    "too_deep",
]
