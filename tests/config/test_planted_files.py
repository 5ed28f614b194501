"""A directory that somebody else prepared: what stands for a configuration, a recipe or a recording has no end."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from console.bench.datasets import DatasetError, read_prompts
from console.config import ConfigError, load_config
from console.config.recipes import load_recipes
from console.journal import Recording, RecordingError
from console.values import read_regular

PLANT: dict[str, Callable[[Path], object]] = {
    "a link to a device without end": lambda path: path.symlink_to("/dev/zero"),
    "a pipe that nobody fills": os.mkfifo,
    "a file of many megabytes": lambda path: path.write_bytes(b"# \n" * (1 << 20)),
    "a directory": lambda path: path.mkdir(),
    "many tables": lambda path: path.write_text("".join(f"[t{n}]\n" for n in range(60_000))),
    "lists without bottom": lambda path: path.write_text("a = " + "[" * 50_000 + "]" * 50_000),
    "keys without bottom": lambda path: path.write_text("a." * 50_000 + "a = 1"),
    "tables without bottom": lambda path: path.write_text("[" + "'a' . " * 50_000 + "a]"),
    "tables in tables": lambda path: path.write_text("a = " + "{a = " * 50_000),
    "a word without end": lambda path: path.write_text("a" * 1_000_000),
    "spaces without end": lambda path: path.write_text(("a" + " " * 900) * 1000),
}


ENDLESS = tuple(PLANT)[:3]


def read(place: Path) -> None:
    load_config(cwd=place, env={"XDG_CONFIG_HOME": str(place / "none")})
    load_recipes(cwd=place, env={"XDG_CONFIG_HOME": str(place / "none")})


@pytest.mark.parametrize(
    ("plant", "name"),
    [*((plant, "gpudeck.toml") for plant in PLANT), *((plant, "recipes/a.toml") for plant in ENDLESS)],
)
def test_a_planted_configuration_is_refused_in_a_sentence(plant: str, name: str, tmp_path: Path) -> None:
    (tmp_path / name).parent.mkdir(exist_ok=True)
    PLANT[plant](tmp_path / name)
    began = time.process_time()
    with pytest.raises(ConfigError, match=f"^{tmp_path / name}"):
        read(tmp_path)
    assert time.process_time() - began < 5


@pytest.mark.parametrize("plant", list(PLANT)[:2])
def test_planted_recordings_and_prompts_are_refused(plant: str, tmp_path: Path) -> None:
    PLANT[plant](tmp_path / "x.jsonl")
    with pytest.raises(RecordingError, match="no regular file"):
        Recording(tmp_path / "x.jsonl")
    with pytest.raises(DatasetError, match="no regular file"):
        read_prompts(tmp_path / "x.jsonl")


def test_a_larger_file_than_may_be_is_not_read_to_its_end(tmp_path: Path) -> None:
    file = tmp_path / "large"
    with file.open("wb") as out:
        out.truncate(1 << 40)
    with pytest.raises(OSError, match="larger than 1 MiB"):
        read_regular(file, 1 << 20)


def test_a_projects_file_names_no_ssh_configuration(tmp_path: Path) -> None:
    """It could run programs on the laptop: `Match exec`, `ProxyCommand`."""
    (tmp_path / "gpudeck.toml").write_text('[settings]\nascii = true\nssh_config = "evil"\n')
    env = {"XDG_CONFIG_HOME": str(tmp_path / "mine")}
    with pytest.raises(ConfigError, match=r"gpudeck\.toml:3: .* your own config\.toml"):
        load_config(cwd=tmp_path, env=env)
    (tmp_path / "mine" / "gpudeck").mkdir(parents=True)
    (tmp_path / "gpudeck.toml").rename(tmp_path / "mine" / "gpudeck" / "config.toml")
    assert load_config(cwd=tmp_path, env=env).settings.ssh_config == "evil"
