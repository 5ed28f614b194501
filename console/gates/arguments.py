"""The arguments gate: what this box's SGLang knows, rules between flags, and SGLang's own validation.

Our rules name their reason and source; what they do not know, SGLang's own dry run says. Versions: 0.5.11 and
0.5.23 were read; a rule that changed between them asks the version.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from typing import Any, Literal

import msgspec

from console.gates.gate import RANK, Gate, Verdict
from console.models.engine import Engine, Flag, prefix_of, spelled, successor
from console.models.launch import OWN_FLAGS
from console.values import Unknown, known

SPECULATIVE_CAP = 48
REPAIR = "repair the interpreter, or name another one as `python` of the recipe"


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One thing wrong. `rule`: a short stable name."""

    rule: str
    verdict: Verdict
    sentence: str
    way_out: tuple[str, ...] = ()


class Validation(msgspec.Struct, frozen=True, kw_only=True):
    """SGLang's own answer; `unknown` when it could not run, with the reason as sentence."""

    result: Literal["accepted", "refused", "unknown"]
    sentence: str
    resolved: dict[str, Any] = {}


def check_flags(args: Mapping[str, Any], engine: Engine) -> Iterator[Finding]:
    """Each flag against the installed version's full list, exactly: SGLang itself accepts unique prefixes."""
    if not known(engine.flags):
        if not engine.problem:  # the gate itself says what is broken
            sentence = f"The flags of this SGLang are not known: {engine.flags.reason}."
            yield Finding(rule="introspection", verdict="unknown", sentence=sentence, way_out=(REPAIR,))
        return
    for name, value in args.items():
        yield from _check_flag(name, value, engine, engine.flags)


def _check_flag(name: str, value: Any, engine: Engine, flags: Mapping[str, Flag]) -> Iterator[Finding]:
    spelling = spelled(name)
    if name in OWN_FLAGS:
        yield _block("own_flag", f"{spelling} is set by the console from the recipe's own keys.", "take it out of args")
        return
    flag = flags.get(spelling)
    if flag is None:
        if value is not False:
            yield _unknown_flag(spelling, engine, flags)
        return
    yield from _check_value(spelling, value, flag)
    if flag.deprecated and value is not False:
        yield Finding(rule="deprecated", verdict="warn", sentence=_deprecated(spelling, flag))


def _deprecated(spelling: str, flag: Flag) -> str:
    return f"{spelling} is deprecated. {flag.help.removeprefix('Deprecated.').strip()}".strip()


def _unknown_flag(spelling: str, engine: Engine, flags: Mapping[str, Flag]) -> Finding:
    longer = prefix_of(spelling, flags)
    heirs = successor(spelling, flags)
    version = f"SGLang {engine.version}"
    if len(longer) > 1 and heirs not in longer:
        heirs = None
    if len(longer) > 1:
        sentence = f"{spelling} is no flag of {version} and ambiguous: it could mean {', '.join(longer[:4])}."
        return _block("ambiguous", sentence, f"write {heirs or longer[0]}")
    if longer:
        sentence = f"{spelling} is no flag of {version}, which would silently take it for {longer[0]}."
        return _block("abbreviated", sentence, f"write {longer[0]}")
    sentence = f"{spelling} is no flag of {version}."
    return _block("unknown_flag", sentence, f"write {heirs}" if heirs else "leave it out")


def _check_value(spelling: str, value: Any, flag: Flag) -> Iterator[Finding]:
    if flag.bare:
        if not isinstance(value, bool):
            yield _block("value", f"{spelling} takes no value: it is true or false.", f"write {spelling[2:]} = true")
        return
    if value is False:
        return
    if value is True and not flag.many:
        yield _block("value", f"{spelling} needs a value.", _left_out(flag))
        return
    for item in value if isinstance(value, tuple | list) else (value,):
        yield from _check_item(spelling, item, flag)


def _check_item(spelling: str, item: Any, flag: Flag) -> Iterator[Finding]:
    if flag.dest == "speculative_algorithm":
        return  # the rule `algorithm` knows plugins and aliases, too
    if flag.choices and item not in flag.choices and str(item) not in map(str, flag.choices):
        shown = ", ".join(str(choice) for choice in flag.choices)
        near = difflib.get_close_matches(str(item), map(str, flag.choices), n=1)
        way = f'write {spelling[2:]} = "{near[0]}"' if near else _left_out(flag)
        yield _block("choice", f"{spelling} cannot be {item!r}; this version takes {shown}.", way)
    elif flag.type == "int" and not _is_int(item):
        yield _block("type", f"{spelling} needs a whole number, not {item!r}.", _left_out(flag))
    elif flag.type == "float" and not _is_float(item):
        yield _block("type", f"{spelling} needs a number, not {item!r}.", _left_out(flag))


def _left_out(flag: Flag) -> str:
    told = "" if flag.default is None else f", which is {flag.default}"
    return f"correct it, or leave it out for the default{told}"


def _is_int(item: Any) -> bool:
    if isinstance(item, bool | float):
        return False
    try:
        int(item)
    except (TypeError, ValueError):
        return False
    return True


def _is_float(item: Any) -> bool:
    try:
        float(item)
    except (TypeError, ValueError):
        return False
    return not isinstance(item, bool)


def _block(rule: str, sentence: str, *way_out: str) -> Finding:
    return Finding(rule=rule, verdict="block", sentence=sentence, way_out=way_out)


def arguments_gate(
    subject: str,
    engine: Engine | Unknown,
    findings: list[Finding],
    validation: Validation | None,
    served: dict[str, Any] | None = None,
) -> Gate:
    """One gate of all findings. `validation` None: a finding of ours already blocks, so SGLang was not asked.
    `served`: architecture, its module in this SGLang, recipes that served it here; only shown."""
    if not known(engine):
        return Gate(
            name="arguments",
            verdict="unknown",
            state="introspection",
            subject=subject,
            sentence=f"Nothing is known of the SGLang of this box: {engine.reason}.",
            way_out=(REPAIR,),
        )
    said = list(findings)
    if engine.problem:
        said.insert(0, _block("broken", f"SGLang cannot start here: {engine.problem}.", REPAIR))
    if validation is not None:
        said += _of_validation(validation, engine)
    ranked = sorted(said, key=lambda finding: -RANK[finding.verdict])
    ours = [finding for finding in findings if finding.verdict != "pass"]
    if not ranked:
        sentence = f"Every flag is one of SGLang {engine.version}'s; our rules and its own validation pass."
        return Gate(
            name="arguments", verdict="pass", state="ok", subject=subject, sentence=sentence,
            numbers=_numbers(engine, validation, ours) | (served or {}),
        )  # fmt: skip
    return Gate(
        name="arguments",
        verdict=ranked[0].verdict,
        state=ranked[0].rule,
        subject=subject,
        sentence=" ".join([*dict.fromkeys(f.sentence for f in ranked), *_whose(ours, validation)]),
        way_out=tuple(dict.fromkeys(way for finding in ranked for way in finding.way_out)),
        numbers=_numbers(engine, validation, ours) | (served or {}),
    )


def _whose(ours: list[Finding], validation: Validation | None) -> tuple[str, ...]:
    """Whose rules these were, when some were ours."""
    if not ours or (validation is not None and validation.result != "accepted"):
        return ()
    asked = "passes" if validation else "was not asked"
    return (f"That is gpudeck's rule; SGLang's own validation {asked}.",)


def _of_validation(validation: Validation, engine: Engine) -> list[Finding]:
    if validation.result == "accepted":
        return []
    if validation.result == "refused":
        sentence = f"SGLang {engine.version} refuses: {validation.sentence}"
        return [_block("validation", sentence, "change the argument that it names")]
    sentence = f"SGLang's own validation could not run: {validation.sentence}"
    return [Finding(rule="validation", verdict="unknown", sentence=sentence, way_out=("check again",))]


def _numbers(engine: Engine, validation: Validation | None, ours: list[Finding]) -> dict[str, Any]:
    return {
        "interpreter": engine.python,
        "version": engine.version,
        "torch": engine.torch.version,
        "cuda": engine.torch.cuda,
        "flags": engine.flags if not known(engine.flags) else len({flag.name for flag in engine.flags.values()}),
        "algorithms": engine.algorithms if not known(engine.algorithms) else list(engine.algorithms),
        "our_rules": [finding.rule for finding in ours],
        "validation": validation.result if validation else "not asked",
        "resolved": validation.resolved if validation else {},
    }
