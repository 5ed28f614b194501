"""Numbers as people read them. Every function takes base units and prints `unknown` for an Unknown.

Decimal units (GB) are what disks and the Hub count in, binary ones (GiB) what SGLang and NVML print: both
are always shown, because the night that started this project was lost between 595 GB and 593 GiB.
"""

from __future__ import annotations

from console.values.unknown import Unknown, known

_DECIMAL = ("B", "kB", "MB", "GB", "TB", "PB")
_BINARY = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")

Number = int | float | Unknown

MOST = 1e30  # a stranger's number may be longer than any float


def _scaled(value: float, base: float, units: tuple[str, ...]) -> str:
    """Scale to the largest unit below the value; a rounding that reaches the next unit takes it."""
    if abs(value) > MOST:
        return f"{'-' if value < 0 else ''}∞ {units[-1]}"
    index = 0
    while index < len(units) - 1 and abs(round(value, 1 if index else 0)) >= base:
        value /= base
        index += 1
    return f"{value:.1f} {units[index]}" if index else f"{value:.0f} {units[0]}"


def format_bytes(value: Number) -> str:
    """Bytes in both units: `595.0 GB (554.1 GiB)`."""
    if not known(value):
        return "unknown"
    if abs(value) < 1000:
        return f"{value:.0f} B"
    return f"{_scaled(value, 1000, _DECIMAL)} ({_scaled(value, 1024, _BINARY)})"


def format_gb(value: Number) -> str:
    """Bytes in the decimal unit alone, for narrow columns that say so in their head."""
    return _scaled(value, 1000, _DECIMAL) if known(value) else "unknown"


def format_gib(value: Number) -> str:
    """Bytes in the binary unit alone, for narrow columns that say so in their head."""
    return _scaled(value, 1024, _BINARY) if known(value) else "unknown"


def format_rate(value: Number) -> str:
    """Bytes per second: `612.0 MB/s`."""
    return f"{_scaled(value, 1000, _DECIMAL)}/s" if known(value) else "unknown"


def format_percent(value: Number, digits: int = 0) -> str:
    """A percentage that is already in percent: `97 %`."""
    return f"{value:.{digits}f}%" if known(value) else "unknown"


def format_ratio(value: Number, digits: int = 0) -> str:
    """A ratio 0…1 as a percentage."""
    return f"{value * 100:.{digits}f}%" if known(value) else "unknown"


def format_duration(seconds: Number) -> str:
    """Seconds as the two largest units: `350 ms`, `4.2 s`, `14 min 5 s`, `2 h 3 min`, `3 d 4 h`."""
    if not known(seconds):
        return "unknown"
    sign = "-" if seconds < 0 else ""
    return sign + _duration(abs(seconds))


def _duration(seconds: float) -> str:
    if seconds < 0.9995:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    for size, name, lower, lower_name in (
        (86400, "d", 3600, "h"),
        (3600, "h", 60, "min"),
        (60, "min", 1, "s"),
    ):
        if whole >= size:
            rest = whole % size // lower
            return f"{whole // size} {name} {rest} {lower_name}" if rest else f"{whole // size} {name}"
    return f"{whole} s"
