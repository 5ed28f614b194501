"""Every kind of bad input is one sentence that names the file, the line and, for a key, the nearest one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from console.config import ConfigError, load_sweep
from tests.support.place import Place

HOSTS = [
    ('[hosts.a]\nssh = "x"\npyton = "/p"', 3, 'nearest: "hosts.a.python"'),
    ("[hosts.a]\nread_only = 1", 2, "must be true or false, not a whole number"),
    ("[hosts.a]\n\nenv = { A = 1 }", 3, "must be a string, not a whole number"),
    ('[hosts.a]\ndir = "models"', 2, "absolute path"),
    ('[hosts.a]\nssh = "a b"', 2, "user@host"),
    ('[hosts.a]\nssh = "-oProxyCommand=x"', 2, "user@host"),
    ('[hosts."a b"]\nssh = "x"', 1, "is no name"),
    ("hosts = 3", 1, "must be a table"),
    ("[hosts]\na = 3", 2, "must be a table"),
    ("[host.a]\n", 1, 'nearest: "hosts"'),
    ('[hosts.a]\nenv = { HF_TOKEN = "abc" }', 2, "holds a secret"),
    ('[hosts.a.env]\nX = "y"\nHTTPS_PROXY = "http://me:pass@proxy:1"', 3, "holds a secret"),
    ('[hosts.a]\nenv = { "A-B" = "x" }', 2, "no variable name"),
    ("[settings]\nasci = true", 2, 'nearest: "settings.ascii"'),
    ("[settings]\ntimeout = 0", 2, "> 0"),
    ('[settings]\ntheme = "pink"', 2, "pink"),
    ("[hosts.a]\nssh = x", 2, "not valid TOML"),
    ('[hosts.a]\n[hosts.b]\n[hosts.a]\nssh = "x"', 3, "not valid TOML"),
    ('[hosts.a]\nssh = """x', 2, "not valid TOML"),
]

RECIPES = [
    ("prot = 3", 3, 'nearest: "recipes.one.port"'),
    ('port = "3"', 3, "must be a whole number, not a string"),
    ("port = 70000", 3, "<= 65535"),
    ("gpus = [0, 1.5]", 3, "each item must be"),
    ("gpus = [\n0,\n-1]", 5, "index is 0 or more"),
    ("gpus = [0, 0]", 3, "each once"),
    ("gpus = []", 3, "at least one"),
    ('model_ = "x"', 3, 'nearest: "recipes.one.model"'),
    ('draft = "a b"', 3, "no repository id"),
    ('draft = "https://huggingface.co/a/b"', 3, "web address"),
    ('draft = "a/b/c"', 3, "no repository id"),
    ('draft_dir = "x"', 3, "absolute path"),
    ("args = { --tp = 8 }", 3, 'like "tp"'),
    ("args = { mem_fraction_static = 0.9 }", 3, 'like "mem-fraction-static"'),
    ("[recipes.one.args]\ntp = 8\nport = 3", 5, 'own key: "port"'),
    ('args = { api-key = "abc" }', 3, "holds a secret"),
    ('[recipes.one.args]\ntp = 1\nx = "hf_abcdefghijklmnopqrstuvwxyz"', 5, "holds a secret"),
    ("args = { tp = [] }", 3, "empty list"),
    ("args = { tp = { a = 1 } }", 3, "not a table"),
    ('env = { MY_API_KEY = "abc" }', 3, "holds a secret"),
    ('secrets = { api-key = "abc" }', 3, "never the secret itself"),
    ('secrets = { "Api Key" = "ask" }', 3, "neither a flag"),
    ('extends = "tow"\n[recipes.two]\nmodel = "a/b"', 3, 'nearest: "two"'),
    ('extends = "one"', 3, "a circle: one → one"),
    ('extends = "two"\n[recipes.two]\nmodel = "a/b"\nextends = "one"', 6, "circle: one → two → one"),
    ('[recipes.two]\nrevision = "x"', 3, "names no model"),
    ('[settings]\nascii = true\n[recipes.one.envs]\nA = "b"', 5, 'nearest: "recipes.one.env"'),
]


@pytest.mark.parametrize(("text", "line", "part"), HOSTS)
def test_bad_hosts_and_settings(place: Place, text: str, line: int, part: str) -> None:
    file = place.user(text)
    with pytest.raises(ConfigError) as caught:
        place.config()
    assert (caught.value.file, caught.value.line) == (str(file), line), str(caught.value)
    assert part in caught.value.sentence
    assert str(caught.value).startswith(f"{file}:{line}: ")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("body", "line", "part"), RECIPES)
def test_bad_recipes(place: Place, one_recipe: Callable[[str], str], body: str, line: int, part: str) -> None:
    file = place.project(one_recipe(body))
    with pytest.raises(ConfigError) as caught:
        place.recipes()
    assert (caught.value.file, caught.value.line) == (str(file), line), str(caught.value)
    assert part in caught.value.sentence
    assert "abc" not in caught.value.sentence, "the secret itself is never repeated"


SWEEPS = [
    ("[swep]\n", 1, 'nearest: "sweep"'),
    ("[settings]\nascii = true", 1, "unknown key"),
    ("", 1, "holds no [sweep]"),
    ("[sweep]\nrepeats = 2", 1, "missing or empty"),
    ('[sweep]\nrecipes = ["one",\n"tow"]', 3, 'no recipe "tow"'),
    ('[sweep]\nrecipes = ["one"]\nbaseline = "two"', 3, "not among"),
    ('[sweep]\nrecipes = ["one"]\nconcurrency = [0]', 3, ">= 1"),
    ('[sweep]\nrecipes = ["one"]\nrepeats = 0', 3, ">= 1"),
    ('[sweep]\nrecipes = ["one"]\n[sweep.matrix]\ntp = []', 4, "empty list"),
    ('[sweep]\nrecipes = ["one"]\n[sweep.matrix]\nmodel = ["a/b"]', 4, "own key"),
    ('[sweep]\nrecipe = ["one"]', 2, 'nearest: "sweep.recipes"'),
]


@pytest.mark.parametrize(("text", "line", "part"), SWEEPS)
def test_bad_sweeps(
    place: Place, one_recipe: Callable[[str], str], tmp_path: Path, text: str, line: int, part: str
) -> None:
    place.project(one_recipe(""))
    file = tmp_path / "sweep.toml"
    file.write_text(text)
    with pytest.raises(ConfigError) as caught:
        load_sweep(file, place.recipes(extra=file))
    assert (caught.value.file, caught.value.line) == (str(file), line), str(caught.value)
    assert part in caught.value.sentence


def test_an_editors_byte_order_mark_and_its_line_ends_are_no_text(place: Place) -> None:
    place.project("").write_bytes(b'\xef\xbb\xbf[recipes.a]\r\nmodel = "o/m"\r\n')
    assert place.recipes().get("a").model == "o/m"


def test_text_that_is_not_utf8_names_its_line(place: Place) -> None:
    file = place.user("")
    file.write_bytes(b"# fine\n# \xff\n")
    with pytest.raises(ConfigError, match=r"config.toml:2: is not UTF-8"):
        place.config()


def test_a_named_file_must_exist(place: Place, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="there is no such file"):
        place.config(config_file=tmp_path / "none.toml")
    place.env["GPUDECK_CONFIG"] = str(tmp_path / "none.toml")
    with pytest.raises(ConfigError, match="there is no such file"):
        place.config()


def test_the_same_name_twice_in_one_place(place: Place, one_recipe: Callable[[str], str]) -> None:
    place.project(one_recipe(""), "recipes/a.toml")
    second = place.project(one_recipe(""), "recipes/b.toml")
    with pytest.raises(ConfigError, match=r"already defined at .*a.toml:1") as caught:
        place.recipes()
    assert caught.value.file == str(second)


def test_an_environment_variable_of_the_wrong_type_is_named(place: Place) -> None:
    place.env["GPUDECK_TIMEOUT"] = "soon"
    with pytest.raises(ConfigError, match=r"GPUDECK_TIMEOUT.*a number"):
        place.config()


@pytest.mark.parametrize("name", ["tpo", "zzzzzzzz"])
def test_an_unknown_recipe_names_the_nearest_only_when_there_is_one(place: Place, name: str) -> None:
    place.project('[recipes.tp8]\nmodel = "a/b"')
    with pytest.raises(ConfigError) as caught:
        place.recipes().get(name)
    assert ("nearest" in str(caught.value)) == (name == "tpo")
