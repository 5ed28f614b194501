"""The documents are true: links resolve, commands, flags, keys, targets and recipes exist, pages are current."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

import console
from console.cli.commands import COMMANDS
from console.cli.examples import EXAMPLES
from console.cli.flags import OPTIONS
from console.cli.tree import tree
from console.config.recipes import load_recipes
from console.intents import INTENTS, key_name
from tests.support.keys_page import PAGE, keys_page

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])
LINK = re.compile(r"\]\(([^)\s]+)\)")
CODE = re.compile(r"`([^`\n]+)`")
FENCE = re.compile(r"^```\w*\n(.*?)^```", re.M | re.S)
PLACEHOLDERS = {"HOST", "[HOST", "ct200", "local", "A", "COMMAND"}
# What `gpudeck` itself takes besides the flags of every command.
OPENING = {"--version", "--replay", "--headless", "--speed", "--until", "--text", "--svg"}


def codes(page: Path) -> Iterator[str]:
    """Every piece of code of a page: lines of its blocks, and what stands between backticks."""
    text = page.read_text("utf-8")
    for block in FENCE.findall(text):
        yield from block.splitlines()
    yield from CODE.findall(FENCE.sub("", text))


def calls(page: Path) -> Iterator[list[str]]:
    """The words behind each `gpudeck` of a page, without comments."""
    for code in codes(page):
        words = code.partition("  #")[0].replace("\\|", " ").replace("|", " ").split()
        if words[:1] == ["gpudeck"] and words[1:2] != ["#"]:
            yield words[1:]


def anchors(page: Path) -> set[str]:
    """What a `#` may name in a page: its headings."""
    heads = re.findall(r"^#+ (.+)$", page.read_text("utf-8"), re.M)
    return {re.sub(r"[^\w -]", "", head.lower()).replace(" ", "-") for head in heads}


def flags_of(command: click.Command) -> set[str]:
    """The flags that a command or one of its subcommands takes."""
    own = {name for parameter in command.params for name in parameter.opts}
    inner = command.commands.values() if isinstance(command, click.Group) else ()
    return own.union(*(flags_of(one) for one in inner))


def wrong(words: list[str]) -> str:
    """What is wrong with a command line; nothing when each of its words means something."""
    named = tree().get_command(click.Context(tree()), words[0]) if words else None
    if words and named is None and words[0] not in PLACEHOLDERS and not words[0].startswith("-"):
        return f"no command {words[0]}"
    having = {"--help"}.union(*(option.opts for option in OPTIONS), flags_of(named) if named else OPENING)
    bare = (word.strip("[]").partition("=")[0] for word in words)
    unknown = [word for word in bare if re.match(r"--[a-z]", word) and word not in having]
    if isinstance(named, click.Group) and words[1:]:
        unknown += [word for word in words[1:2] if word not in named.commands]
    return f"unknown: {unknown}" if unknown else ""


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_and_flags_exist(page: Path) -> None:
    assert [(words, said) for words in calls(page) if (said := wrong(words))] == []


def test_a_wrong_command_line_would_be_found() -> None:
    assert wrong(["recipe", "list"]) == wrong(["ct200"]) == wrong(["sweep", "HOST", "FILE", "--dry-run"]) == ""
    assert wrong(["fly"]) == "no command fly"
    assert wrong(["recipe", "bake"]) == "unknown: ['bake']"
    assert wrong(["bench", "HOST", "--fast"]) == "unknown: ['--fast']"
    assert len(list(calls(ROOT / "README.md"))) > 15


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_relative_links_resolve(page: Path) -> None:
    links = [link.partition("#") for link in LINK.findall(page.read_text("utf-8")) if "://" not in link]
    assert [link for link, _, _ in links if link and not (page.parent / link).exists()] == []
    assert [part for link, _, part in links if part and part not in anchors(page.parent / link if link else page)] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_make_targets_exist(page: Path) -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.M))
    named = {words[1] for code in codes(page) if (words := code.split())[:1] == ["make"] and words[1:]}
    assert named <= targets


def test_keys_of_the_readme_exist() -> None:
    having = {key_name(key) for intent in INTENTS for key in intent.keys}
    named = {code for code in codes(ROOT / "README.md") if len(code) == 1 and not code.isspace()}
    assert named
    assert named <= having


def test_the_page_of_keys_is_current() -> None:
    assert PAGE.read_text("utf-8") == keys_page(), "run `make keys`"


def test_the_twins_of_keys_are_command_lines() -> None:
    twins = [intent.command.format(host="HOST").split()[1:] for intent in INTENTS if intent.command]
    assert [(words, said) for words in twins if (said := wrong(words))] == []


def test_the_help_of_every_command_begins_with_examples_that_are_command_lines() -> None:
    assert EXAMPLES.keys() == COMMANDS.keys()
    lines = [line.split()[1:] for examples in EXAMPLES.values() for line, _ in examples]
    assert [(words, said) for words in lines if (said := wrong(words))] == []


def test_the_names_of_the_tour_are_said_to_exist_nowhere_else() -> None:
    named = [words[0] for examples in EXAMPLES.values() for line, _ in examples if (words := line.split()[1:])]
    assert set(named) - {"ct200", "--replay"} <= COMMANDS.keys()


def test_the_architecture_names_every_room() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    rooms = {path.stem for path in (ROOT / "console").iterdir() if not path.name.startswith("__")}
    assert {room for room in rooms if f"`console/{room}`" not in page} == set()
    named = set(re.findall(r"`console/(\w+)`", page))
    assert named <= rooms


def test_the_changelog_begins_with_this_version() -> None:
    versions = re.findall(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.M)
    assert versions[0] == console.__version__


def test_every_shipped_recipe_is_listed(tmp_path: Path) -> None:
    book = load_recipes(cwd=tmp_path, env={"XDG_CONFIG_HOME": str(tmp_path)}, config_file=None, extra=None)
    page = (ROOT / "docs" / "recipes.md").read_text("utf-8")
    assert [name for name in book.recipes if f"| `{name}` |" not in page] == []


def test_pictures_ask_nobody_when_they_are_opened() -> None:
    pictures = sorted((ROOT / "docs" / "images").glob("*.svg"))
    assert {picture.stem for picture in pictures} == {"overview", "server", "plan", "hub", "bench"}
    for picture in pictures:
        assert not re.findall(r"url\([\"']?http|href=|@import", picture.read_text("utf-8"))
