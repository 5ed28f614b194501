"""What the library raised, in three generations, becomes one state with one sentence and one advice."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from console.events.hub import AccessChecked, TokenState
from console.gates.access import access_gate, advise
from console.payloads.hub import token as tokens
from console.payloads.hub.classify import classify
from console.payloads.hub.outcome import redact
from console.state.hub import token_state_after
from console.values import Unknown, clean

VECTORS = json.loads(gzip.decompress((Path(__file__).parents[1] / "vectors" / "hub_access.json.gz").read_bytes()))
ACCESS = [vector for vector in VECTORS if vector["input"]["kind"] == "access"]
TOKEN = [vector for vector in VECTORS if vector["input"]["kind"] == "token"]


def ident(vector: dict[str, Any]) -> str:
    return str(vector["id"])


def fact_of(given: dict[str, Any], found: dict[str, Any]) -> AccessChecked:
    token, secrets = given["token"], ["hf_ExampleGoodTokenDoNotPrint00000001"]
    return AccessChecked(
        host="box",
        repo=clean(given["repo"] or ""),
        revision=clean(given.get("revision", "main")),
        access=found["state"],
        commit=Unknown("not resolved"),
        status=found["status"] or Unknown("no answer"),
        text=clean(redact(found["text"], secrets)),
        error=clean(found["class"]),
        retry_after_s=Unknown("not said") if found["retry_after_s"] is None else found["retry_after_s"],
        probe=clean(given.get("file", "")),
        who=clean(token["user"]) if token["user"] else Unknown("no token"),
        token_source=clean(token["source"]),
        endpoint=clean(given["endpoint"]),
        proxy=clean(next(iter(given.get("proxy_env", {})), "")),
    )


def before(token: dict[str, Any]) -> TokenState:
    """What a token is before anything was asked."""
    if token["source"] == "none":
        return "absent"
    return "unproved" if token["length"] else "empty"


@pytest.mark.parametrize("vector", ACCESS, ids=ident)
def test_access(vector: dict[str, Any]) -> None:
    given, expected = vector["input"], vector["expected"]
    found = classify(given["outcome"], given["token"], bool(given.get("proxy_env")), given["call"])
    reason = f"_{expected['reason']}" if "reason" in expected else ""
    assert found["state"] == expected["state"] + reason
    fact = fact_of(given, found)
    advice, gate = advise(fact), access_gate(fact)
    assert (advice.actor, advice.action, advice.retry) == (expected["actor"], expected["action"], expected["retry"])
    assert token_state_after(fact.access, before(given["token"])) == expected["token_state"]
    shown = " ".join((gate.sentence, *gate.way_out))
    for words in expected.get("mentions", ()):
        assert words in shown
    for secret in expected.get("must_not_print", ()):
        assert secret not in shown
    if "retry_after_s" in expected:
        assert fact.retry_after_s == expected["retry_after_s"]
    assert (gate.verdict == "pass") == (expected["state"] == "ready")
    assert gate.sentence.count("\n") == 0


@pytest.mark.parametrize("vector", TOKEN, ids=ident)
def test_token(vector: dict[str, Any]) -> None:
    given, expected = vector["input"], vector["expected"]
    choice = tokens.choose(given["env"], given["token_file"])
    assert choice["source"] == expected["source"]
    if "token" in expected:
        assert choice["token"] == (expected["token"] or "")
    state = choice["state"]
    if "whoami" in given:
        sent = {"sent": bool(choice["token"]), "length": len(choice["token"])}
        answer = given["whoami"].get("returned")
        refusal = None if answer else classify(given["whoami"], sent, False, "whoami")
        state = tokens.after_whoami(choice, answer, refusal)
        assert refusal is None or expected["state"] == refusal["state"]
    assert state == expected["token_state"]


def test_the_vectors_are_all_there() -> None:
    assert (len(ACCESS), len(TOKEN)) == (177, 33)


def test_a_laptop_that_was_asked_says_so_and_that_the_box_could_be() -> None:
    fact = AccessChecked(
        host="box", repo=clean("o/m"), revision=clean("main"), access="unreachable_dns", commit=Unknown("not resolved"),
        endpoint=clean("https://hub.example"), origin="laptop",
    )  # fmt: skip
    gate = access_gate(fact)
    assert gate.sentence == "This laptop cannot resolve hub.example. (asked from this laptop, not from the box)"
    assert gate.way_out[0].startswith("Install huggingface_hub on the box")
    asked = access_gate(msgspec.structs.replace(fact, origin="box"))
    assert asked.sentence == "The box cannot resolve hub.example."
    assert "hosts.NAME.env" in asked.way_out[0]
