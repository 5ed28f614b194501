"""The SGLang of one interpreter, as its own answer describes it. Flags are never hard-coded: they come from here."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from console.values import CleanText, Unknown, clean, clean_tree, known

# Words of recipes for flags that SGLang spells longer; `--pp` alone is an ambiguous prefix in every version.
SHORT = {"tp": "tp-size", "pp": "pp-size", "dp": "dp-size", "ep": "ep-size"}

# Renamed between 0.5.11 and 0.5.23, told in both directions.
RENAMED = {
    "--cuda-graph-max-bs": "--cuda-graph-max-bs-decode",
    "--cuda-graph-bs": "--cuda-graph-bs-decode",
    "--speculative-dflash-draft-window-size": "--speculative-draft-window-size",
}
_BARE = ("_StoreTrueAction", "DeprecatedStoreTrueAction", "DeprecatedStoreConstAction", "BooleanOptionalAction")


class Flag(msgspec.Struct, frozen=True, kw_only=True):
    """One option of `ServerArgs`: its main spelling, and what its value may be."""

    name: str
    aliases: tuple[str, ...]
    dest: str
    choices: tuple[Any, ...] | None
    default: Any
    bare: bool
    many: bool
    type: str | None
    deprecated: bool
    help: CleanText


class Torch(msgspec.Struct, frozen=True, kw_only=True):
    """torch of the same interpreter. `arches`: `sm_90` for kernels, `compute_90` for code to be compiled."""

    version: CleanText | Unknown
    cuda: CleanText | Unknown
    arches: tuple[CleanText, ...] | Unknown


class Engine(msgspec.Struct, frozen=True, kw_only=True):
    """An installed SGLang. `flags` by every spelling; `problem`: what keeps it from serving, empty when nothing.

    `architectures`: class → module. `capture`: kind of drafter → classes that hand out their hidden states. `stamp`
    changes with the packages and the environment that were found when it was asked; empty when they were not.
    """

    python: CleanText
    version: CleanText | Unknown
    flags: dict[str, Flag] | Unknown
    algorithms: tuple[CleanText, ...] | Unknown
    architectures: dict[CleanText, CleanText] | Unknown
    capture: dict[str, tuple[CleanText, ...]] | Unknown
    torch: Torch
    kernels: tuple[CleanText, ...] | Unknown
    packages: dict[str, CleanText]
    problem: CleanText = CleanText("")
    stamp: str = ""

    def flag(self, spelling: str) -> Flag | None:
        """The flag of an exact spelling with its dashes, or None."""
        return self.flags.get(spelling) if known(self.flags) else None

    def at_least(self, *version: int) -> bool | Unknown:
        """Whether the version is at least this one."""
        if not known(self.version):
            return self.version
        return release(self.version) >= version


def release(version: str) -> tuple[int, ...]:
    """The leading numbers of a version: `0.5.10.post1` → (0, 5, 10)."""
    numbers: list[int] = []
    for part in version.split("."):
        if not part.isdigit():
            break
        numbers.append(int(part))
    return tuple(numbers)


def parse_engine(answer: Mapping[str, Any], python: str = "") -> Engine:
    """The introspection program's answer as a record; every part that it could not read is an Unknown."""
    data = clean_tree(dict(answer))
    version = data.get("version")
    flags = _flags(data.get("flags"))
    return Engine(
        python=clean(str(data.get("python") or python)),
        version=clean(version) if isinstance(version, str) else Unknown(_problem(data) or "no version reported"),
        flags=flags,
        algorithms=_algorithms(data.get("spec_algorithms"), flags),
        architectures=_table(data.get("architectures"), "the architectures were not read"),
        capture=_capture(data.get("capture")),
        torch=_torch(data.get("torch")),
        kernels=_names(data.get("kernels"), "sgl_kernel is not installed"),
        packages={key: clean(value) for key, value in (data.get("packages") or {}).items() if isinstance(value, str)},
        problem=clean(_problem(data)),
    )


def _problem(data: Mapping[str, Any]) -> str:
    problem = data.get("problem")
    if isinstance(problem, Mapping):
        cause = problem.get("cause")
        return f"{problem.get('message', '')}" + (f", because of {cause}" if cause else "")
    return ""


def _flags(table: Any) -> dict[str, Flag] | Unknown:
    if not isinstance(table, Mapping) or not table:
        return Unknown("the flags were not read")
    if isinstance(table.get("error"), str):
        return Unknown(str(table["error"]))
    spellings: dict[str, Flag] = {}
    for name, entry in table.items():
        flag = _flag(str(name), entry)
        for spelling in (flag.name, *flag.aliases):
            spellings[spelling] = flag
    return spellings


def _flag(name: str, entry: Mapping[str, Any]) -> Flag:
    choices, kind, nargs = entry.get("choices"), str(entry.get("kind", "")), entry.get("nargs")
    aliases = tuple(str(alias) for alias in entry.get("aliases") or ())
    return Flag(
        name=name,
        aliases=tuple(alias for alias in aliases if alias.startswith("--")),
        dest=str(entry.get("dest", "")),
        choices=None if choices is None else tuple(choices),
        default=entry.get("default"),
        bare=kind in _BARE or nargs == 0,
        many=nargs in ("+", "*") or (isinstance(nargs, int) and nargs > 1),
        type=entry.get("type"),
        deprecated=kind.startswith("Deprecated"),
        help=clean(str(entry.get("help") or "")),
    )


def _algorithms(answer: Any, flags: dict[str, Flag] | Unknown) -> tuple[CleanText, ...] | Unknown:
    """The enum with aliases and plugins; a version without a registry has them as the flag's choices."""
    choices = None
    if known(flags) and "--speculative-algorithm" in flags:
        choices = flags["--speculative-algorithm"].choices
    if choices:
        return tuple(clean(str(choice)) for choice in choices)
    if isinstance(answer, Mapping) and isinstance(answer.get("builtin"), list):
        names = [*answer["builtin"], *answer.get("aliases", ()), *answer.get("plugins", ())]
        return tuple(clean(str(name)) for name in names)
    reason = answer.get("error") if isinstance(answer, Mapping) else None
    return Unknown(str(reason or "the speculative algorithms were not read"))


def _names(value: Any, reason: str) -> tuple[CleanText, ...] | Unknown:
    return tuple(clean(str(item)) for item in value) if isinstance(value, list) else Unknown(reason)


def _table(value: Any, reason: str) -> dict[CleanText, CleanText] | Unknown:
    if not isinstance(value, Mapping):
        return Unknown(reason)
    return {clean(str(key)): clean(str(item)) for key, item in value.items()}


def _capture(value: Any) -> dict[str, tuple[CleanText, ...]] | Unknown:
    if not isinstance(value, Mapping):
        return Unknown("which classes hand out hidden states was not read")
    return {str(kind): tuple(clean(str(name)) for name in names) for kind, names in value.items()}


def _torch(value: Any) -> Torch:
    data = value if isinstance(value, Mapping) else {"error": "torch was not asked"}
    why = Unknown(str(data.get("error") or "torch does not say"))

    def text(key: str) -> CleanText | Unknown:
        return clean(data[key]) if isinstance(data.get(key), str) else why

    arches = data.get("arches")
    return Torch(
        version=text("version"),
        cuda=text("cuda"),
        arches=tuple(clean(str(item)) for item in arches) if isinstance(arches, list) else why,
    )


def spelled(flag: str) -> str:
    """A recipe's word as a command-line option."""
    return "--" + SHORT.get(flag, flag)


def prefix_of(spelling: str, flags: Iterable[str]) -> tuple[str, ...]:
    """The options that argparse would take an abbreviation for."""
    return tuple(sorted(flag for flag in flags if flag.startswith(spelling) and flag != spelling))


def successor(spelling: str, flags: Iterable[str]) -> str | None:
    """The flag that took over, else the nearest spelling, else None."""
    names = list(flags)
    back = {new: old for old, new in RENAMED.items()}
    for renamed in (RENAMED.get(spelling), back.get(spelling)):
        if renamed in names:
            return renamed
    near = difflib.get_close_matches(spelling, names, n=1, cutoff=0.75)
    return near[0] if near else None
