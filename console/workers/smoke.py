"""The optional all-reduce over a recipe's GPUs: twenty seconds that find out what ten minutes of loading would."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from console.gates.arguments import Finding
from console.gates.gate import Verdict
from console.remote.errors import AgentError
from console.values import clean, format_rate
from console.workers.box import Box

PACKAGE = "console.payloads.allreduce"
LIMIT_S = 20.0
_WHY = ("the recipe's interpreter needs torch with NCCL", 'env NCCL_DEBUG = "INFO" shows where')
MESSAGE_BYTES = 64 << 20


def skipped(why: str, *ways: str) -> Finding:
    """An all-reduce that was asked for and not run."""
    return Finding(rule="smoke", verdict="warn", sentence=f"No all-reduce was run: {why}.", way_out=ways)


async def smoke(box: Box, python: str, uuids: Sequence[str], env: Mapping[str, str]) -> Finding:
    """What NCCL said. The limit holds from the start of the program; a hang is named with its stage."""
    request = {"uuids": list(uuids), "env": dict(env), "limit_s": LIMIT_S, "bytes": MESSAGE_BYTES}
    try:
        answer = await box.agent.run_program(python, PACKAGE, request, LIMIT_S + 10, env)
    except AgentError as error:
        sentence = f"The all-reduce gave no answer: {error.message or error}."
        return Finding(rule="smoke", verdict="unknown", sentence=sentence, way_out=_WHY)
    said = clean(str(answer.get("error") or ""))
    stage, ranks = clean(str(answer.get("stage"))), answer.get("ranks")
    if answer.get("hung"):
        return Finding(
            rule="smoke",
            verdict="block",
            sentence=f"An all-reduce over {ranks} GPUs hangs (stage {stage}, {LIMIT_S:g} s).",
            way_out=('env NCCL_P2P_DISABLE = "1"', "pci=noacs or the IOMMU off", "NCCL_DEBUG=INFO shows where"),
        )
    if said:
        verdict: Verdict = "unknown" if stage == "import" else "block"
        sentence = f"The all-reduce failed at {stage}: {said}"
        return Finding(rule="smoke", verdict=verdict, sentence=sentence, way_out=_WHY)
    speed = answer.get("busbw_bytes_s")
    rate = format_rate(speed) if isinstance(speed, int | float) else "an unknown speed"
    return Finding(rule="smoke", verdict="pass", sentence=f"An all-reduce over {ranks} GPUs runs at {rate} (bus).")
