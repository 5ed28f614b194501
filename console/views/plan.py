"""Plans as rows, sentences and `gpudeck.preflight/1`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from console.events.plan import Gate, Verdict
from console.gates.plan import acceptable, blockers
from console.models.kv import GIB
from console.state.plan import Checked, Plans
from console.values import Unknown, format_bytes, known

SCHEMA = "gpudeck.preflight/1"
# A letter for each part of a GPU's memory, in the order of the bar.
LETTERS = {"weights": "W", "draft": "D", "kv": "K", "other": "o", "reserved": "r", "foreign": "F"}
LEGEND = "W weights  D drafter  K KV cache  o graphs, activations, context  r driver  F others  · free"


class Part(NamedTuple):
    """A piece of a GPU's bar: its name and its share of the whole memory, 0…1."""

    name: str
    ratio: float


class FitRow(NamedTuple):
    """One GPU's stacked bar. `left_ratio` is what stays free; negative when the parts exceed the memory."""

    label: str
    parts: tuple[Part, ...]
    left_ratio: float
    text: str


class GateRow(NamedTuple):
    """One gate for a list: `kind` is its level, `word` what is shown."""

    kind: str
    word: str
    name: str
    sentence: str
    ways_out: tuple[str, ...]


_KINDS: dict[Verdict, str] = {"pass": "ok", "warn": "warn", "unknown": "unknown", "block": "fail"}


PROMISED = {
    "disk": ("need_bytes", "have_bytes", "claims_bytes", "available_bytes", "headroom_bytes", "margin_bytes"),
    "memory": ("per_gpu", "min_fraction", "fraction", "tokens"),
}


def preflight(plan: Checked) -> dict[str, Any]:
    """The JSON object without `schema` and `ts`. `verdict` is null while a gate has not answered."""
    unfinished = Unknown("not all gates have answered")
    return {
        "recipe": plan.recipe,
        "model": plan.model,
        "draft": plan.draft or None,
        "verdict": plan.verdict if plan.verdict is not None else unfinished,
        "exit": plan.exit_code if plan.exit_code is not None else unfinished,
        "gates": [gate_record(gate) for gate in plan.gates],
    }


def gate_record(gate: Gate) -> dict[str, Any]:
    """One gate as data. A number that everybody may ask for is there in any case, unknown when the gate has none."""
    promised = dict.fromkeys(PROMISED.get(gate.name, ()), Unknown(gate.sentence))
    return {
        "name": gate.name,
        "verdict": gate.verdict,
        "state": gate.state,
        "subject": gate.subject,
        "sentence": gate.sentence,
        "way_out": list(gate.way_out),
        "numbers": promised | revived(gate.numbers),
    }


def revived(value: Any) -> Any:
    """Free-form data of a recording: `{"unknown": reason}` is an Unknown again."""
    if isinstance(value, dict):
        if value.keys() == {"unknown"} and isinstance(value["unknown"], str):
            return Unknown(value["unknown"])
        return {key: revived(item) for key, item in value.items()}
    return [revived(item) for item in value] if isinstance(value, list | tuple) else value


def gate_rows(plan: Checked) -> list[GateRow]:
    """All gates, blockers first, in their order otherwise."""
    order = ("block", "unknown", "warn", "pass")
    ranked = sorted(plan.gates, key=lambda gate: order.index(gate.verdict))
    return [GateRow(_KINDS[g.verdict], g.verdict, g.name, g.sentence, g.way_out) for g in ranked]


def to_accept(plan: Checked) -> tuple[str, ...]:
    """The names for `--accept` that alone stand in the way."""
    return acceptable(plan.gates)


def blocking_data(plan: Checked) -> list[tuple[str, str]]:
    """What a person has to look at before accepting: each gate's sentence, then its sizes or the hashes of its code."""
    return [row for gate in blockers(plan.gates) for row in _gate_data(gate)]


def _gate_data(gate: Gate) -> list[tuple[str, str]]:
    numbers = revived(gate.numbers)
    if gate.name == "remote_code":
        hashes = numbers.get("sha256") or {}
        shown = [
            (path, f"sha256 {value}" if isinstance(value, str) else "hash not known") for path, value in hashes.items()
        ]
    else:
        sizes = {name.removesuffix("_bytes"): value for name, value in numbers.items() if name.endswith("_bytes")}
        shown = [(name, format_bytes(value)) for name, value in sizes.items() if isinstance(value, int | Unknown)]
    return [(gate.name.replace("_", " "), gate.sentence), *shown]


def fit_rows(plan: Checked) -> list[FitRow]:
    """The memory gate's arithmetic, one bar a GPU; empty when it could not compute."""
    gate = _memory(plan)
    rows = gate.numbers.get("per_gpu", ()) if gate else ()
    return [_row(gpu, gpu.get("index", rank)) for rank, gpu in enumerate(rows)]  # older recordings have no index


def _memory(plan: Checked) -> Gate | None:
    return next((gate for gate in plan.gates if gate.name == "memory"), None)


def _row(gpu: dict[str, Any], index: int) -> FitRow:
    total = gpu["total_bytes"] or 1
    parts = tuple(Part(name, gpu[f"{name}_bytes"] / total) for name in LETTERS if gpu[f"{name}_bytes"] > 0)
    sizes = [f"{LETTERS[part.name]} {gpu[f'{part.name}_bytes'] / GIB:.1f}" for part in parts if part.name != "reserved"]
    text = f"{' + '.join(sizes)} of {gpu['total_bytes'] / GIB:.1f} GiB"
    return FitRow(str(index), parts, 1.0 - sum(part.ratio for part in parts), text)


def fit_sentence(plan: Checked) -> str:
    """What the bars say, in one sentence."""
    gate = _memory(plan)
    return gate.sentence if gate else "The memory has not been planned yet."


def fit_sources(plan: Checked) -> str:
    """Where the numbers come from; empty without numbers."""
    gate = _memory(plan)
    sources = gate.numbers.get("sources", {}) if gate else {}
    return "; ".join(f"{name}: {source}" for name, source in sources.items())


def engine_lines(plans: Plans) -> list[str]:
    """One line an interpreter: version, flags, algorithms, or what is broken."""
    lines = []
    for engine in plans.engines.values():
        if engine.problem:
            lines.append(f"{engine.python}: {engine.problem}")
            continue
        names = ", ".join(engine.algorithms) if known(engine.algorithms) else engine.algorithms
        cuda = f"CUDA {engine.cuda}" if known(engine.cuda) else "CUDA unknown"
        lines.append(f"{engine.python}: SGLang {engine.version}, torch {engine.torch}, {cuda}; speculation: {names}")
    return lines


def served_line(plan: Checked) -> str:
    """Config architecture → class in this SGLang → recipes that served it on this box; empty while unknown."""
    numbers: dict[str, Any] = next((revived(gate.numbers) for gate in plan.gates if gate.name == "arguments"), {})
    name, module = numbers.get("architecture"), numbers.get("module")
    if not isinstance(name, str):
        return ""
    why = module.reason if isinstance(module, Unknown) else "not known"
    where = f"sglang.srt.models.{module}" if isinstance(module, str) else why
    ready = ", ".join(numbers.get("ready_recipes") or ()) or "none"
    return f"{name} → {where}; READY on this box before: {ready}"


def preflight_lines(plan: Checked) -> list[str]:
    """Plain text: the verdict, each gate with its ways out, the bars' sentence."""
    drafter = f" with {plan.draft}" if plan.draft else ""
    lines = [f"{plan.recipe}: {(plan.verdict or 'unfinished').upper()}  {plan.model}{drafter}"]
    for row in gate_rows(plan):
        lines.append(f"  {row.word:<8}{row.name:<12}{row.sentence}")
        lines += [f"{'':22}→ {way}" for way in row.ways_out]
    served = served_line(plan)
    lines += [f"  {'':8}{'class':<12}{served}"] if served else []
    bars = fit_rows(plan)
    return [*lines, *_bars(bars), *([f"          {LEGEND}"] if bars else [])]


def _bars(rows: Sequence[FitRow], width: int = 48) -> list[str]:
    return [f"  GPU {row.label:<3}{_bar(row, width)}  {row.text}" for row in rows]


def _bar(row: FitRow, width: int) -> str:
    cells = "".join(LETTERS[part.name] * round(part.ratio * width) for part in row.parts)
    return cells[:width].ljust(width, "·")
