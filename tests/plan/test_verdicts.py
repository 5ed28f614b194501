"""What gates come to together: the exit code, what may be accepted, the worst."""

from __future__ import annotations

import pytest

from console.gates.gate import Gate, GateName, Verdict
from console.gates.plan import acceptable, blockers, combined, worst


def gate(name: GateName, verdict: Verdict, state: str = "x") -> Gate:
    return Gate(name=name, verdict=verdict, state=state, subject="s", sentence="t")


@pytest.mark.parametrize(
    ("gates", "code"),
    [
        ([], 0),
        ([gate("disk", "pass", "fits")], 0),
        ([gate("host", "warn", "pcie")], 0),
        ([gate("disk", "warn", "tight")], 4),
        ([gate("arguments", "unknown")], 4),
        ([gate("access", "block", "request_needed")], 5),
        ([gate("access", "block", "token_missing"), gate("disk", "block", "no")], 5),
        ([gate("access", "block", "unreachable_dns"), gate("access", "block", "request_needed")], 3),
        ([gate("access", "block", "revision_missing")], 1),
        ([gate("access", "block", "revision_missing"), gate("disk", "block", "no")], 4),
        ([gate("access", "unknown", "unknown")], 4),
    ],
)
def test_exit_codes_follow_the_contract(gates: list[Gate], code: int) -> None:
    assert combined(gates) == code


def test_only_named_gates_can_be_accepted() -> None:
    tight, no = gate("disk", "warn", "tight"), gate("disk", "block", "no")
    assert combined([tight], ["tight"]) == 0
    assert combined([no], ["tight", "remote-code", "adopt"]) == 4
    assert combined([gate("memory", "unknown", "unknown")], ["tight"]) == 4
    assert [each.state for each in blockers([tight, no], ["tight"])] == ["no"]
    assert worst([tight, no]) == "block"


def test_what_may_be_accepted_is_named_only_when_it_is_all_that_blocks() -> None:
    tight = Gate(name="disk", verdict="warn", state="tight", subject="m", sentence="s")
    code = Gate(name="remote_code", verdict="block", state="ask", subject="m", sentence="s")
    port = Gate(name="ports", verdict="block", state="", subject="m", sentence="s")
    assert acceptable([tight, code]) == ("remote-code", "tight")  # the worst first
    assert acceptable([tight, port]) == ()
    assert acceptable([]) == ()
