"""Words and flags in any order, help, completion, version."""

from __future__ import annotations

import json

import pytest

from console.cli.commands import COMMANDS
from tests.support.gpudeck import Gpudeck


def test_version(gpudeck: Gpudeck) -> None:
    for words in (["--version"], ["-V"], ["-q", "--version"]):
        done = gpudeck.run(*words)
        assert (done.returncode, done.stdout.split()[0]) == (0, "gpudeck")
    assert gpudeck.json("--version")["schema"] == "gpudeck.version/1"


def test_help_names_every_command_and_begins_with_examples(gpudeck: Gpudeck) -> None:
    text = gpudeck.run("--help").stdout
    assert text.index("Examples") < text.index("Commands")
    for command in COMMANDS:
        assert f"\n  {command} " in text


@pytest.mark.parametrize("command", list(COMMANDS))
def test_every_command_has_help(gpudeck: Gpudeck, command: str) -> None:
    done = gpudeck.run(command, "--help")
    assert done.returncode == 0, done.stderr
    assert f"gpudeck {command}" in done.stdout


def test_help_of_a_command_has_three_spellings(gpudeck: Gpudeck) -> None:
    assert (
        len({gpudeck.run(*words).stdout for words in (["status", "--help"], ["status", "-h"], ["help", "status"])}) == 1
    )


def test_help_of_a_subcommand_has_its_own_example_and_the_flags_of_every_command(gpudeck: Gpudeck) -> None:
    text = gpudeck.run("recipe", "check", "--help").stdout
    head, _, rest = text.partition("Usage:")
    assert [line.split()[:3] for line in head.splitlines()[1:] if line] == [["gpudeck", "recipe", "check"]]
    assert "Flags of every command: --json, --timeout" in rest
    assert len(gpudeck.run("recipe", "--help").stdout.partition("Usage:")[0].splitlines()) > 4


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("status --jsn local", "There is no option --jsn (nearest: --json). `gpudeck status --help` shows how."),
        (
            "bench local --presett x",
            "There is no option --presett (nearest: --preset). `gpudeck bench --help` shows how.",
        ),
        ("status local --zzz", "There is no option --zzz. `gpudeck status --help` shows how."),
        ("recipe bake", "No such command 'bake'. `gpudeck recipe --help` shows how."),
        ("jobs", "Missing argument 'HOST'. `gpudeck jobs --help` shows how."),
    ],
)
def test_a_usage_error_names_the_nearest_option_and_the_help(gpudeck: Gpudeck, words: str, said: str) -> None:
    done = gpudeck.run(*words.split())
    assert (done.returncode, done.stderr) == (2, f"gpudeck: {said}\n")


@pytest.mark.parametrize(
    "arguments",
    [
        ("status", "local", "--json"),
        ("--json", "status", "local"),
        ("status", "--json", "local"),
        ("status", "local", "--timeout", "30", "--json"),
        ("--timeout=30", "--json", "status", "local", "--no-record"),
    ],
)
def test_flags_may_stand_anywhere(gpudeck: Gpudeck, arguments: tuple[str, ...]) -> None:
    done = gpudeck.run(*arguments)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith('{"schema":"gpudeck.status/1"')


def test_output_has_no_colour_and_no_narration_when_piped(gpudeck: Gpudeck) -> None:
    done = gpudeck.run("status", "local")
    assert "\x1b" not in done.stdout
    assert done.stderr == ""


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts(gpudeck: Gpudeck, shell: str) -> None:
    assert "_GPUDECK_COMPLETE" in gpudeck.run("completion", shell).stdout


def test_completion_knows_the_commands(gpudeck: Gpudeck) -> None:
    env = {"_GPUDECK_COMPLETE": "bash_complete", "COMP_WORDS": "gpudeck sta", "COMP_CWORD": "1"}
    assert gpudeck.run(**env).stdout.split() == ["plain,status"]


def test_a_host_that_is_named_like_a_command(gpudeck: Gpudeck) -> None:
    done = gpudeck.run("--host", "status")
    assert done.returncode == 2
    assert "terminal" in done.stderr


def test_the_host_of_a_command_may_be_named_by_its_flag(gpudeck: Gpudeck) -> None:
    assert gpudeck.json("status", "--host", "local")["host"] == "local"


def test_words_after_two_dashes_are_nobodys_flags(gpudeck: Gpudeck) -> None:
    source = "import json, sys; print(json.dumps(sys.argv[1:]))"
    words = ["--replay", "x", "--json", "--help", "--", "-h"]
    done = gpudeck.run("exec", "local", "-", "--", *words, stdin=source)
    assert json.loads(done.stdout) == words, done.stderr


def test_the_demo_runs_headless_to_its_end(gpudeck: Gpudeck) -> None:
    done = gpudeck.run("demo", "--scenario", "quoting")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("DEMO")
    last = done.stdout.strip().splitlines()[-1]
    assert '"schema":"gpudeck.demo/1"' in last
    assert '"ok":true' in last


def test_a_scenario_that_does_not_exist_names_the_nearest(gpudeck: Gpudeck) -> None:
    done = gpudeck.run("demo", "--scenario", "gatet", "--json")
    assert done.returncode == 2
    assert "did you mean 'gated'?" in json.loads(done.stdout)["sentence"]


def test_the_demo_box_is_a_box_like_any_other(gpudeck: Gpudeck) -> None:
    status = gpudeck.json("status", "demo")
    assert (status["host"], status["demo"], len(status["gpus"])) == ("demo", True, 8)


def test_verbose_tells_every_fact_on_standard_error(gpudeck: Gpudeck) -> None:
    done = gpudeck.run("status", "local", "--json", "-v")
    assert done.stdout.startswith('{"schema"')
    for kind in ("LinkChanged  up", "DisksSampled", "GpusSampled"):
        assert kind in done.stderr
