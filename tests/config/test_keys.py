"""Keys by action id in the configuration: read with their place, checked, and in force on screen."""

from __future__ import annotations

from pathlib import Path

import pytest

from console.app import ConsoleApp
from console.config import ConfigError, load_config
from console.intents import BY_ID, INTENTS, Situation, refusal
from console.keymap import key_id, keyed, problem
from tests.support.frames import frame
from tests.support.gpudeck import Gpudeck
from tests.support.laptop import Laptop
from tests.support.played import PlayedSession, gpus, link_up


def test_keys_are_read_action_by_action_with_their_places(tmp_path: Path) -> None:
    (tmp_path / "gpudeck.toml").write_text('[keys]\ndeploy = "ctrl+d"\n')
    user = tmp_path / "user.toml"
    user.write_text('[keys]\nnote = "f5"\n\ndeploy = "P"\n')
    config = load_config(cwd=tmp_path, env={}, config_file=user)
    assert config.keys == {"deploy": "P", "note": "f5"}
    assert str(config.origins["keys.deploy"]).endswith("user.toml:4")
    user.write_text("[keys]\nnote = 5\n")
    with pytest.raises(ConfigError, match=r"user\.toml:2"):
        load_config(cwd=tmp_path, env={}, config_file=user)


@pytest.mark.parametrize(
    ("keys", "action", "word"),
    [
        ({"deploi": "P"}, "deploi", 'nearest: "deploy"'),
        ({"deploy": "shift"}, "deploy", '"shift" is no key'),
        ({"deploy": "ctrl+c"}, "deploy", "kept"),
        ({"deploy": "S"}, "deploy", "start"),
        ({"deploy": "S", "start": "S"}, "deploy", "start"),
        ({"note": "?"}, "note", "help"),
    ],
)
def test_what_cannot_be_a_key_is_named(keys: dict[str, str], action: str, word: str) -> None:
    found = problem(keys)
    assert found is not None
    assert found[0] == action
    assert word in found[1]


def test_swapped_keys_and_keys_of_another_kind_of_session_are_no_conflict() -> None:
    assert problem({"deploy": "S", "start": "D"}) is None
    assert problem({"tunnel": "{"}) is None, "{ is free in a live session"
    assert problem({intent.id: "f9" for intent in INTENTS[:1]}) is None


def test_signs_have_the_names_of_the_terminal() -> None:
    assert [key_id(sign) for sign in "?:/&.{+_@é"] == [
        "question_mark", "colon", "slash", "ampersand", "full_stop", "left_curly_bracket", "plus", "underscore", "at",
        "latin_small_letter_e_with_acute",
    ]  # fmt: skip
    assert [key_id(text) for text in ("", " ", "\t", "\x1b", "ab", "ctrl+", "F5")] == [""] * 7


async def test_another_key_is_in_force_and_shown_and_the_old_one_does_nothing() -> None:
    app = ConsoleApp(
        PlayedSession(*link_up(), *gpus(), hosts=["ct200"]), table=keyed({"screen_jobs": "j", "help": "f5"})
    )
    async with app.run_test(size=(120, 40), notifications=True) as pilot:
        await pilot.pause()
        before = frame(app)
        await pilot.press("8", "question_mark")
        await pilot.pause()
        assert frame(app) == before
        assert "f5 help" in before
        await pilot.press("f5")
        await pilot.pause()
        assert "j  Jobs" in frame(app)


async def test_sentences_that_name_a_key_name_the_one_in_force() -> None:
    table = keyed({"screen_hosts": "h", "start": "f6", "bench": "f7"})
    app = ConsoleApp(PlayedSession(*link_up(), *gpus(), hosts=["ct200"]), table=table)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("4")
        await pilot.pause()
        assert "f6 asks the gates of one" in frame(app)
        await pilot.press("6")
        await pilot.pause()
        assert "f7 measures the running server" in frame(app)
        assert "h 1 2 3 4 5 6 bench 7 8 screens" in frame(app)
    nowhere = Situation(None, 0, read_only=False, replayed=False, table=table)
    assert refusal(BY_ID["screen_host"], nowhere) == "No box is open: press h and choose one."


def test_a_wrong_key_ends_with_its_place(tmp_path: Path) -> None:
    gpudeck = Gpudeck(Laptop(tmp_path))
    file = tmp_path / "keys.toml"
    file.write_text('[keys]\n\ndeploi = "P"\n')
    run = gpudeck.run("--config", str(file), "config", "show")
    assert run.returncode == 2
    assert 'keys.toml:3: keys: there is no action "deploi" (nearest: "deploy")' in run.stderr
    file.write_text('[keys]\ndeploy = "P"\n')
    assert 'keys.deploy = "P"' in gpudeck.run("--config", str(file), "config", "show").stdout
