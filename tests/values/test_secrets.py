"""A secret shows itself nowhere."""

from __future__ import annotations

import base64
import pickle

import msgspec
import pytest

from console.values.secrets import Secret, redact


def test_a_secret_prints_stars_and_has_no_encoder() -> None:
    secret = Secret("correct horse battery")
    assert "horse" not in f"{secret} {secret!r}"
    with pytest.raises(TypeError):
        msgspec.json.encode({"password": secret})
    with pytest.raises(TypeError):
        pickle.dumps(secret)
    assert secret.reveal() == "correct horse battery"


def test_a_known_secret_is_redacted_in_every_spelling() -> None:
    Secret("p/ss wörd!")
    for spelling in ("p/ss wörd!", base64.b64encode("p/ss wörd!".encode()).decode(), "p%2Fss%20w%C3%B6rd%21"):
        assert redact(f"<{spelling}>") == "<***>"


def test_what_looks_like_a_token_keeps_its_last_four() -> None:
    token = "hf_" + "a1B2" * 8 + "wxyz"
    assert redact(f"token={token}.") == "token=hf_***wxyz."
    assert redact("hf_hub is a module") == "hf_hub is a module"
