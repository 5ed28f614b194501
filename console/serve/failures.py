"""Why a server ended: the first cause, its phase, and the ways out.

A signature is a pattern *and* the phases in which it means this: the same out-of-memory text asks for more GPUs
while the weights load, for a higher fraction at the KV pool, and for a lower one at the graphs. What follows a
failure (SIGQUIT, process-tree kills, NCCL errors on the other ranks) is never the cause.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import msgspec

from console.serve.phases import STARTING, Phase
from console.serve.record import seconds_between
from console.serve.signatures import SIGNATURES, Signature
from console.serve.story import LogError, Note, Story
from console.values import CleanText, clean

NEAR_END_S = 600.0


class End(msgspec.Struct, frozen=True, kw_only=True):
    """How the process ended, as the job runner saw it: None where it is not known. `reason`: its own words, if any.

    `proved`: it had answered, which no log tells.
    """

    exit_code: int | None = None
    signal: int | None = None
    stop_asked: bool = False
    reason: str = ""
    proved: bool = False


class Diagnosis(msgspec.Struct, frozen=True, kw_only=True):
    """The judgement of an end. `kind` is `stopped`, a signature's name, or `unclassified`."""

    phase: Phase
    kind: str
    cause: CleanText
    cause_phase: Phase
    advice: tuple[str, ...] = ()


class Evidence(NamedTuple):
    """A line that may name the cause, with the phase of its rank."""

    phase: Phase
    text: str
    detail: str


def diagnose(story: Story, end: End, foreign: tuple[str, ...] = ()) -> Diagnosis:
    """Judge a server that has ended. `foreign`: sentences naming other users of its GPUs, for memory failures.

    A stop that was asked for, by us or by anybody's SIGTERM, is no crash; a killed scheduler is.
    """
    if end.stop_asked or (story.stop_requested and not _failed_before_stop(story)):
        asked = "stopped as asked" if end.stop_asked else "stopped by a SIGTERM that this console did not send"
        return _stopped(CleanText(asked), story, end)
    if end.exit_code == 0 and not _failed_before_stop(story):
        return _stopped(CleanText("ended by itself with exit code 0"), story, end)
    evidence = [item._replace(phase=_served(item.phase, story, end)) for item in _evidence(story)]
    for item in evidence:
        for signature in SIGNATURES:
            found = _match(signature, item)
            if found is not None:
                return _classified(signature, item, found, story, foreign)
    return _unclassified(story, end, evidence)


def _stopped(cause: CleanText, story: Story, end: End) -> Diagnosis:
    return Diagnosis(phase="stopped", kind="stopped", cause=cause, cause_phase=_served(story.phase, story, end))


def _served(phase: Phase, story: Story, end: End) -> Phase:
    """What ended behind a proof, or behind the log's own ready line, ended while it served."""
    return "ready" if phase == "warmup" and (end.proved or story.ready_stamp is not None) else phase


def _failed_before_stop(story: Story) -> bool:
    """True when a scheduler failed before the SIGTERM came: cleaning up is not the cause."""
    for record in story.ends:
        if record.kind == "stop_requested":
            return False
        if record.kind in ("exception", "child_exit"):
            return True
    return False


def _evidence(story: Story) -> list[Evidence]:
    """Causes in the order of belief: command line, earliest scheduler exception, a killed child, lines, last error."""
    usage = [error for error in story.errors if error.source == "command_line"]
    raised = sorted((e for e in story.errors if e.source not in ("command_line", "request", "process")), key=_when)
    ordered = [_of_error(error) for error in (*usage[-1:], *raised[:1])]
    if not raised:
        ordered += [Evidence(story.phase, record.text, "") for record in story.ends if record.kind == "child_exit"][:1]
        ordered += [Evidence(note.phase, note.text.lstrip("- "), "") for note in story.notes if _near_end(note, story)]
        plain = [error for error in story.errors if error.source == "process"]
        ordered += [_of_error(error) for error in plain[-1:]]
    return ordered


def _near_end(note: Note, story: Story) -> bool:
    """A line from hours before the end is not its cause."""
    if note.stamp is None or story.last_stamp is None:
        return True
    return seconds_between(note.stamp, story.last_stamp) <= NEAR_END_S


def _when(error: LogError) -> str:
    return error.stamp or ""


def _of_error(error: LogError) -> Evidence:
    text = f"{error.type}: {error.message}" if error.type else error.message
    return Evidence(error.phase, text, "\n".join(error.detail))


def _match(signature: Signature, item: Evidence) -> re.Match[str] | None:
    if signature.phases and item.phase not in signature.phases:
        return None
    return signature.pattern.search(item.text) or signature.pattern.search(item.detail)


def _classified(
    signature: Signature, item: Evidence, found: re.Match[str], story: Story, foreign: tuple[str, ...]
) -> Diagnosis:
    values = {name: value for name, value in found.groupdict().items() if value}
    advice = [way.format(**values) for way in signature.advice if _fillable(way, values)]
    if signature.names_foreign:
        advice += foreign
    if signature.kind == "architecture":
        advice += [line for line in story.ignored_imports if _about(line, item.text)]
    cause = item.text if not item.text.endswith(": ") else f"{item.text}{found.group(0)}"
    return Diagnosis(
        phase="crashed", kind=signature.kind, cause=clean(cause, 500), cause_phase=item.phase, advice=tuple(advice)
    )


def _fillable(way: str, values: dict[str, str]) -> bool:
    """True when every number that this advice names was printed."""
    return all(name in values for name in re.findall(r"\{(\w+)\}", way))


def _about(line: str, text: str) -> bool:
    """Does an `Ignore import error` line speak of the unsupported architecture (`Qwen3_5…` and `qwen3_5`)?"""
    module = re.search(r"models\.(\w+):", line)
    names = re.findall(r"'([^']+)'", text.split("Supported architectures")[0])
    return bool(module) and any(_plain(name).startswith(_plain(module.group(1))) for name in names if module)


def _plain(name: str) -> str:
    return name.replace("_", "").lower()


def _unclassified(story: Story, end: End, evidence: list[Evidence]) -> Diagnosis:
    """No signature fits: say so, with the best line there is."""
    errors = [item for item in evidence if re.match(r"[\w.]+(Error|Exception)\b", item.text)] or evidence[-1:]
    phase = errors[0].phase if errors else _served(story.phase, story, end)
    if errors:
        cause = errors[0].text
    elif end.reason:
        cause = end.reason
    elif end.signal is not None:
        cause = f"ended by signal {end.signal}; the log names no cause"
    elif end.exit_code is not None:
        cause = f"ended with exit code {end.exit_code}; the log names no cause"
    else:
        cause = "gone; neither an exit code nor the log names a cause"
    when = "while starting" if phase in STARTING else "while serving"
    advice = (f"not classified: it ended {when}, in phase {phase}; read the log around the error, keep the bundle",)
    return Diagnosis(phase="crashed", kind="unclassified", cause=clean(cause, 500), cause_phase=phase, advice=advice)
