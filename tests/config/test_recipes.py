"""Recipes: extends, defaults, hosts, secrets, sweeps."""

from __future__ import annotations

from pathlib import Path

import pytest

from console.config import ConfigError, HostConfig, Origin, Recipe, derive, for_host, load_sweep
from console.config.secrets import read_secrets
from tests.support.place import Place

CONTRACT = """\
[hosts.ct200]
ssh = "root@10.1.2.200"
python = "/root/venv_sglang211/bin/python"
dir = "/root/models"
env = { HTTPS_PROXY = "http://proxy:3128", HF_HOME = "/data/hf" }
read_only = false

[recipes.k26-ep4]
model = "moonshotai/Kimi-K2.6"
args = { tp = 8, ep = 4, trust-remote-code = true }
env = { A = "parent", B = "parent" }

[recipes.k26-ep4-dflash]
extends = "k26-ep4"
draft = "z-lab/Kimi-K2.6-DFlash"
draft_dir = "/dev/shm/models"
gpus = [0, 1, "GPU-1b2c"]
args = { ep = 2, trust-remote-code = false, speculative-algorithm = "DFLASH", lora-paths = ["a", "b"] }
env = { B = "child" }
secrets = { api-key = "env:K26_KEY", HF_TOKEN = "ask", admin-api-key = "file:KEYFILE" }
"""


def test_the_contracts_example(place: Place) -> None:
    file = place.project(CONTRACT)
    assert place.config().host("ct200").env["HF_HOME"] == "/data/hf"
    book = place.recipes()
    recipe = book.get("k26-ep4-dflash")
    assert (recipe.model, recipe.revision, recipe.port) == ("moonshotai/Kimi-K2.6", "main", 30000)
    assert recipe.gpus == (0, 1, "GPU-1b2c")
    assert recipe.args == {
        "tp": 8, "ep": 2, "trust-remote-code": False, "speculative-algorithm": "DFLASH",
        "lora-paths": ("a", "b"),
    }  # fmt: skip
    assert recipe.env == {"A": "parent", "B": "child"}
    assert book.origins["recipes.k26-ep4-dflash.args.tp"] == Origin("project", str(file), 10)
    assert book.origins["recipes.k26-ep4-dflash.args.ep"] == Origin("project", str(file), 18)
    assert book.origin("k26-ep4") == Origin("project", str(file), 8)


def test_a_base_without_a_model_is_no_recipe(place: Place) -> None:
    place.project('[recipes.base]\nport = 31000\n[recipes.one]\nextends = "base"\nmodel = "/models/x"')
    assert {name: recipe.port for name, recipe in place.recipes().recipes.items() if name in ("base", "one")} == {
        "one": 31000
    }


def test_a_nearer_recipe_counts_as_a_whole(place: Place) -> None:
    place.user('[recipes.one]\nmodel = "user/x"\nport = 1', "recipes/a.toml")
    place.project('[recipes.one]\nmodel = "project/x"', "recipes/b.toml")
    assert place.recipes().get("one") == Recipe(name="one", model="project/x")


def test_the_hosts_values_stand_in(place: Place) -> None:
    host = HostConfig(name="h", ssh="h", python="/h/python", dir="/h", env={"A": "host", "B": "host"})
    bare = for_host(Recipe(name="r", model="a/b", env={"B": "recipe"}), host)
    assert (bare.python, bare.dir, bare.env) == ("/h/python", "/h", {"A": "host", "B": "recipe"})
    own = for_host(Recipe(name="r", model="a/b", python="/r/python", dir="/r"), host)
    assert (own.python, own.dir) == ("/r/python", "/r")


def test_a_home_directory_of_the_box(place: Place) -> None:
    place.user('[hosts.h]\ndir = "~/models"\n[recipes.r]\nmodel = "a/b"\ndraft_path = "~/d"')
    host = place.config().host("h").opened("/home/someone/")
    bound = for_host(place.recipes().get("r"), host)
    assert (host.dir, bound.dir, bound.draft_path) == (
        "/home/someone/models",
        "/home/someone/models",
        "/home/someone/d",
    )
    assert place.config().host("demo").opened("/demo").dir == "/demo/models", "the demo box needs no configuration"
    assert [host.at_home(path) for path in ("~", "~other/x", "/a~/b")] == ["/home/someone", "~other/x", "/a~/b"]


def test_secrets_come_from_where_the_recipe_says(place: Place, tmp_path: Path) -> None:
    keyfile = tmp_path / "key"
    keyfile.write_text("of-the-file\n")
    place.project(CONTRACT.replace("KEYFILE", str(keyfile)))
    recipe = place.recipes().get("k26-ep4-dflash")
    flags, env = read_secrets(recipe, {"K26_KEY": "of-the-env"}, lambda name: f"asked-{name}")
    assert flags == {"api-key": "of-the-env", "admin-api-key": "of-the-file"}
    assert env == {"HF_TOKEN": "asked-HF_TOKEN"}
    with pytest.raises(ConfigError, match="K26_KEY is not set"):
        read_secrets(recipe, {}, str)
    keyfile.unlink()
    with pytest.raises(ConfigError, match="cannot be read"):
        read_secrets(recipe, {"K26_KEY": "x"}, str)


SWEEP = """\
[sweep]
recipes = ["plain", "dflash"]
baseline = "plain"
concurrency = [1, 8]
[sweep.matrix]
speculative-num-draft-tokens = [15, 32]
cuda-graph = [true, false]
[recipes.plain]
model = "a/b"
args = { tp = 8 }
[recipes.dflash]
extends = "plain"
args = { speculative-algorithm = "DFLASH" }
"""


def test_a_sweep_derives_recipes_and_leaves_out_what_a_recipe_cannot_use(place: Place, tmp_path: Path) -> None:
    file = tmp_path / "night.toml"
    file.write_text(SWEEP)
    book = place.recipes(extra=file)
    sweep = load_sweep(file, book)
    assert (sweep.name, sweep.repeats, sweep.preset) == ("night", 3, "sweep")
    derived = [recipe for name in sweep.recipes for recipe in derive(book.get(name), sweep.matrix)]
    assert [recipe.name for recipe in derived] == [
        "plain+cuda-graph=true",
        "plain+cuda-graph=false",
        "dflash+speculative-num-draft-tokens=15+cuda-graph=true",
        "dflash+speculative-num-draft-tokens=15+cuda-graph=false",
        "dflash+speculative-num-draft-tokens=32+cuda-graph=true",
        "dflash+speculative-num-draft-tokens=32+cuda-graph=false",
    ]
    assert derived[2].args == {
        "tp": 8, "speculative-algorithm": "DFLASH", "speculative-num-draft-tokens": 15, "cuda-graph": True,
    }  # fmt: skip
    plain = book.get("plain")
    assert derive(plain, {"speculative-num-draft-tokens": (15, 32)}) == (plain,)


def test_shipped_recipes_are_all_well_formed(place: Place) -> None:
    for name, recipe in place.recipes().recipes.items():
        assert recipe.name == name
