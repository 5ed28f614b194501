"""A value that is not known. It is a value of its own: never zero, never false, never "fits"."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import msgspec

if TYPE_CHECKING:
    from typing_extensions import TypeIs

T = TypeVar("T")


class UnknownValueError(TypeError):
    """Somebody tried to compute with a value that is not known."""


class Unknown(msgspec.Struct, frozen=True, eq=False, rename={"reason": "unknown"}):
    """A missing value and the reason why it is missing.

    Truth, arithmetic, ordering, numeric formats and `sum` raise `UnknownValueError`; `==` holds only with an
    Unknown of the same reason. A recording holds it as `{"unknown": "<reason>"}`.
    """

    reason: str

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Unknown) and other.reason == self.reason

    def __hash__(self) -> int:
        return hash((Unknown, self.reason))

    def __str__(self) -> str:
        return "unknown"

    def __format__(self, spec: str) -> str:
        if spec and spec[-1] in "bcdeEfFgGnoxX%":
            self._refuse()
        return format("unknown", spec)

    def _refuse(self, *_: object) -> NoReturn:
        raise UnknownValueError(f"unknown value used as a number: {self.reason}")

    __bool__ = __int__ = __float__ = __index__ = __round__ = __trunc__ = __floor__ = __ceil__ = _refuse
    __lt__ = __le__ = __gt__ = __ge__ = _refuse
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _refuse
    __truediv__ = __rtruediv__ = __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = _refuse
    __divmod__ = __rdivmod__ = __pow__ = __rpow__ = __neg__ = __pos__ = __abs__ = _refuse
    __complex__ = __len__ = _refuse


def known(value: T | Unknown) -> TypeIs[T]:
    """True when the value is known: the only way to ask."""
    return not isinstance(value, Unknown)


def first_unknown(*values: object) -> Unknown | None:
    """The first unknown among the values, to explain a result that cannot be computed."""
    return next((value for value in values if isinstance(value, Unknown)), None)


def to_json(value: Any) -> Any:
    """Plain JSON data for the outside: an unknown is null, with a sibling `<field>_reason`."""
    if isinstance(value, Unknown):
        return None
    if isinstance(value, msgspec.Struct):
        return to_json({name: getattr(value, name) for name in value.__struct_fields__})
    if isinstance(value, dict):
        plain: dict[str, Any] = {}
        for key, item in value.items():
            plain[key] = to_json(item)
            if isinstance(item, Unknown):
                plain[f"{key}_reason"] = item.reason
        return plain
    if isinstance(value, list | tuple):
        return [to_json(item) for item in value]
    return value


def dump_json(value: Any, *, pretty: bool = False) -> str:
    """Compact JSON text, or indented for a person at a terminal."""
    if pretty:
        return json.dumps(to_json(value), indent=2, ensure_ascii=False)
    return json.dumps(to_json(value), separators=(",", ":"), ensure_ascii=False)
