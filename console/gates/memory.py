"""The memory gate: SGLang's own arithmetic per GPU, with the smallest fraction that works."""

from __future__ import annotations

from typing import Any

from console.gates.gate import Gate, Verdict
from console.models.fit import Fit
from console.values import Unknown, format_gib, known

PROMPT_TOKENS = 32_768  # the yardstick of "how many requests"


def no_memory_gate(subject: str) -> Gate:
    """The gate of a recipe that takes no GPU."""
    sentence = "This recipe runs on the CPU: no GPU memory to plan."
    return Gate(name="memory", verdict="pass", state="fits", subject=subject, sentence=sentence)


def memory_gate(subject: str, fit: Fit | Unknown, *, context: int | None = None) -> Gate:
    """`context`: the length that the recipe asks for; fewer tokens in the pool than that is tight.

    States: `fits`, `tight` (within the uncertainty, or no prompt of full length fits), `no`, `unknown`.
    """
    if not known(fit):
        return Gate(
            name="memory",
            verdict="unknown",
            state="unknown",
            subject=subject,
            sentence=f"The memory cannot be planned: {fit.reason}.",
            way_out=(
                "supply what is missing, then check again (r on screen)",
                "or start it by hand, and adopt the server",
            ),
        )
    state, sentence, ways = _judge(fit, context)
    verdicts: dict[str, Verdict] = {"fits": "pass", "tight": "warn", "no": "block"}
    return Gate(
        name="memory",
        verdict=verdicts[state],
        state=state,
        subject=subject,
        sentence=" ".join([sentence, *(f"Note: {caveat}." for caveat in fit.caveats)]),
        way_out=ways,
        numbers=_numbers(fit),
    )


def _judge(fit: Fit, context: int | None) -> tuple[str, str, tuple[str, ...]]:
    needed = fit.smallest_working
    if fit.kv_bytes <= 0:
        missing = f"{format_gib(-fit.kv_bytes)} short at --mem-fraction-static {fit.fraction:.3f}"
        if needed < 0.97:
            sentence = f"The weights leave no memory for the KV cache: {missing}; it works from {needed:.3f}."
            return "no", sentence, (f"mem-fraction-static = {_round_up(needed + 0.02)}", *_foreign(fit))
        return "no", f"The weights do not fit: {missing}.", ("more GPUs", "a quantised repository", *_foreign(fit))
    sentence = (
        f"Fits at --mem-fraction-static ≥ {needed:.3f}; {fit.fraction:.3f} gives {fit.tokens:,} tokens"
        f" = {fit.tokens / PROMPT_TOKENS:.1f} × 32k requests, ± {format_gib(fit.plus_minus_bytes)} per GPU."
    )
    if fit.kv_bytes <= fit.plus_minus_bytes:
        return "tight", f"{sentence} The KV cache is smaller than the uncertainty.", (_raise_to(fit),)
    if context and fit.tokens < context:
        return "tight", f"{sentence} No prompt of the context length {context:,} fits.", (_raise_to(fit),)
    return "fits", sentence, ()


def _raise_to(fit: Fit) -> str:
    return f"mem-fraction-static = {_round_up(min(0.95, fit.fraction + 0.03))}"


def _foreign(fit: Fit) -> tuple[str, ...]:
    return ("free the GPUs of other processes",) if any(gpu.foreign_bytes for gpu in fit.gpus) else ()


def _round_up(value: float) -> float:
    return round(value + 0.0005, 2)


def _numbers(fit: Fit) -> dict[str, Any]:
    return {
        "per_gpu": [
            {
                "uuid": gpu.uuid,
                "index": gpu.index,
                "stage": gpu.stage,
                "weights_bytes": gpu.weights_bytes,
                "draft_bytes": gpu.draft_bytes,
                "kv_bytes": gpu.kv_bytes,
                "other_bytes": gpu.other_bytes,
                "reserved_bytes": gpu.reserved_bytes,
                "foreign_bytes": gpu.foreign_bytes,
                "total_bytes": gpu.total_bytes,
            }
            for gpu in fit.gpus
        ],
        "min_fraction": fit.smallest_working,
        "fraction": round(fit.fraction, 6),
        "default_fraction": round(fit.default_fraction, 6),
        "tokens": fit.tokens,
        "requests_32k": round(fit.tokens / PROMPT_TOKENS, 2),
        "bytes_per_token": fit.bytes_per_token,
        "kv_bytes": round(fit.kv_bytes),
        "state_bytes": fit.state_bytes,
        "plus_minus_bytes": fit.plus_minus_bytes,
        "tightest_stage": fit.tightest_stage,
        "sources": dict(fit.sources),
    }
