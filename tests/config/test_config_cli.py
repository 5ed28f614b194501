"""`gpudeck config` and `gpudeck recipe` as a user runs them."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest

from tests.support.inside import Deck, in_process
from tests.support.place import Place


@pytest.fixture
def deck(place: Place, capsys: pytest.CaptureFixture[str]) -> Deck:
    """Run a command in the project: (exit code, standard output, standard error)."""
    return in_process(capsys)


def test_a_first_file_is_private_valid_and_never_written_over(place: Place, deck: Deck) -> None:
    code, path, _ = deck("config", "path")
    assert code == 0
    assert deck("config", "init")[:2] == (0, path)
    file = Path(path.strip())
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert place.config().hosts == {}
    file.write_text("[settings]\nascii = true\n")
    code, _, said = deck("config", "init")
    assert code == 2
    assert "exists already" in said
    assert file.read_text() == "[settings]\nascii = true\n"


def test_show_says_what_counts_and_where_from(place: Place, deck: Deck, monkeypatch: pytest.MonkeyPatch) -> None:
    file = place.project('[settings]\nascii = true\n[hosts.a]\nssh = "me@a"\n')
    monkeypatch.setenv("GPUDECK_TIMEOUT", "7")
    lines = [" ".join(line.split()) for line in deck("config", "show", "--origin")[1].splitlines()]
    assert f"settings.ascii = true # project {file}:2" in lines
    assert "settings.timeout = 7.0 # env GPUDECK_TIMEOUT" in lines
    assert "settings.record = true # default" in lines
    assert f'hosts.a.ssh = "me@a" # project {file}:4' in lines
    shown = json.loads(deck("config", "show", "--json", "--ascii")[1])
    assert shown["settings"]["ascii"] is True
    assert shown["hosts"]["a"]["ssh"] == "me@a"


def test_a_mistake_is_exit_2_with_the_place(place: Place, deck: Deck) -> None:
    file = place.project('[recipes.a]\nmodel = "x/y"\nprot = 3\n')
    sentence = f'{file}:3: unknown key "recipes.a.prot" (nearest: "recipes.a.port").'
    assert deck("recipe", "check") == (2, "", f"gpudeck: {sentence}\n")
    code, out, _ = deck("recipe", "list", "--json")
    assert (code, json.loads(out)) == (2, {"schema": "gpudeck.error/1", "exit": 2, "sentence": sentence})
    place.project("[hosts.a]\nshh = 1\n")
    assert deck("config", "show")[0] == 2


def test_the_schema_is_json(deck: Deck) -> None:
    code, out, _ = deck("config", "schema")
    assert code == 0
    assert "recipes" in json.loads(out)["$defs"]["File"]["properties"]


def test_list_show_and_check_a_recipe(place: Place, deck: Deck) -> None:
    file = place.project(
        '[recipes.big]\nmodel = "x/y"\nargs = { tp = 8 }\n[recipes.small]\nextends = "big"\nport = 4\n'
    )
    listed = {one["name"]: one for one in json.loads(deck("recipe", "list", "--json")[1])["recipes"]}
    assert (listed["small"]["model"], listed["small"]["layer"], listed["small"]["line"]) == ("x/y", "project", 4)
    text = deck("recipe", "show", "small")[1]
    assert text == '[recipes.small]\nmodel = "x/y"\nport = 4\n\n[recipes.small.args]\ntp = 8\n'
    assert f"# project {file}:3" in deck("recipe", "show", "small", "--origin")[1]
    assert deck("recipe", "check", "small")[:2] == (0, "1 well formed: small\n")
    code, _, said = deck("recipe", "show", "smal")
    assert (code, said) == (2, 'gpudeck: there is no recipe "smal" (nearest: "small").\n')


def test_check_reads_a_sweep_file(place: Place, deck: Deck) -> None:
    sweep = place.project('[sweep]\nrecipes = ["one"]\n[recipes.one]\nmodel = "a/b"\n', "night.toml")
    assert deck("recipe", "check", str(sweep))[0] == 0
    sweep.write_text('[sweep]\nrecipes = ["on"]\n[recipes.one]\nmodel = "a/b"\n')
    code, _, said = deck("recipe", "check", str(sweep))
    assert code == 2
    assert f'{sweep}:2: sweep: there is no recipe "on" (nearest: "one")' in said


def test_new_takes_the_launch_but_not_the_other_models_drafter(place: Place, deck: Deck) -> None:
    place.project(
        '[recipes.big]\nmodel = "x/y"\ndraft = "x/d"\nrevision = "v1"\ndir = "/data"\nsecrets = { api-key = "env:K" }\n'
        'args = { tp = 8, speculative-algorithm = "DFLASH" }\n'
    )
    code, out, _ = deck("recipe", "new", "org/New Model", "--like", "big")
    assert code == 2
    code, out, _ = deck("recipe", "new", "org/New_Model", "--like", "big", "--dry-run")
    assert code == 0
    assert not (place.home / "config/gpudeck/recipes").exists()
    code, path, _ = deck("recipe", "new", "org/New_Model", "--like", "big")
    assert code == 0
    assert Path(path.strip()).read_text() == out
    made = place.recipes().get("new_model")
    assert (made.model, made.draft, made.revision, made.dir) == ("org/New_Model", None, "main", "/data")
    assert (made.args, made.secrets) == ({"tp": 8}, {"api-key": "env:K"})
    code, _, said = deck("recipe", "new", "org/New_Model")
    assert code == 2
    assert 'a recipe "new_model" already' in said
