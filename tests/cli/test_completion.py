"""Completion of the shell, and help with examples first, as a process."""

from __future__ import annotations

import pytest

from console.cli.commands import COMPLETE
from tests.support.gpudeck import Gpudeck


def completed(gpudeck: Gpudeck, *words: str) -> list[str]:
    asked = {COMPLETE: "bash_complete", "COMP_WORDS": " ".join(["gpudeck", *words]), "COMP_CWORD": str(len(words))}
    return [line.removeprefix("plain,") for line in gpudeck.run(**asked).stdout.split()]


def test_commands_boxes_actions_and_recipes_are_suggested(gpudeck: Gpudeck) -> None:
    gpudeck.laptop.host("spare", 22)
    gpudeck.host("ct200")
    assert completed(gpudeck, "pre") == ["preflight"]
    assert completed(gpudeck, "serve", "") == ["ct200", "spare", "local", "demo"]
    assert "start" in completed(gpudeck, "serve", "ct200", "st")
    assert "k26-tp8" in completed(gpudeck, "serve", "ct200", "start", "k26")
    assert completed(gpudeck, "deploy", "ct200", "k26-tp8-e") == ["k26-tp8-eager"]


def test_a_broken_configuration_suggests_nothing_and_says_nothing(gpudeck: Gpudeck) -> None:
    gpudeck.config.write_text("[broken")
    assert completed(gpudeck, "serve", "") == []


@pytest.mark.parametrize("words", [("bench", "--help"), ("bench", "ct200", "-h"), ("help", "bench")])
def test_help_begins_with_examples(gpudeck: Gpudeck, words: tuple[str, ...]) -> None:
    shown = gpudeck.run(*words).stdout
    assert shown.startswith("Examples:\n  gpudeck bench ct200")
    assert shown.index("Examples") < shown.index("Usage")
