"""Precedence and origins: flag > GPUDECK_* > project > user > default."""

from __future__ import annotations

from pathlib import Path

from console.config import HostConfig, Origin, Settings
from tests.support.place import Place


def test_each_layer_beats_those_below(place: Place) -> None:
    assert place.config().settings == Settings()
    user = place.user("[settings]\ntimeout = 1.0\nascii = true\n")
    assert place.config().settings.timeout == 1.0
    project = place.project("\n[settings]\ntimeout = 2\n")
    assert place.config().settings.timeout == 2.0
    place.env["GPUDECK_TIMEOUT"] = "3"
    assert place.config().settings.timeout == 3.0
    config = place.config(flags={"timeout": 4.0, "no_color": None})
    assert config.settings == Settings(timeout=4.0, ascii=True)
    assert config.origins["settings.timeout"] == Origin("flag", name="--timeout")
    assert config.origins["settings.ascii"] == Origin("user", str(user), 3)
    assert config.origins["settings.no_color"] == Origin("default")
    del place.env["GPUDECK_TIMEOUT"]
    assert place.config().origins["settings.timeout"] == Origin("project", str(project), 3)


def test_switches_in_the_environment(place: Place) -> None:
    for text, value in (("1", True), ("true", True), ("0", False), ("false", False), ("", False)):
        place.env["GPUDECK_READ_ONLY"] = text
        assert place.config().settings.read_only is value


def test_hosts_merge_key_by_key_and_env_by_variable(place: Place) -> None:
    user = place.user('[hosts.a]\nssh = "me@a"\npython = "/user/python"\nenv = { A = "user", B = "user" }\n')
    project = place.project('[hosts.a]\npython = "/project/python"\nenv = { B = "project" }\n[hosts.b]\n')
    config = place.config()
    assert config.host("a") == HostConfig(
        name="a", ssh="me@a", python="/project/python", env={"A": "user", "B": "project"}
    )
    assert config.host("b") == HostConfig(name="b", ssh="b")
    assert config.host("elsewhere") == HostConfig(name="elsewhere", ssh="elsewhere")
    assert config.origins["hosts.a.env.A"] == Origin("user", str(user), 4)
    assert config.origins["hosts.a.env.B"] == Origin("project", str(project), 3)
    assert config.origins["hosts.a.python"] == Origin("project", str(project), 2)


def test_a_file_named_by_flag_stands_for_the_users_and_beats_the_projects(place: Place, tmp_path: Path) -> None:
    place.user('[hosts.user]\nssh = "u"')
    place.project('[hosts.a]\nssh = "project"\ndir = "/project"')
    named = tmp_path / "named.toml"
    named.write_text('[hosts.a]\nssh = "named"')
    config = place.config(config_file=named)
    assert config.hosts == {"a": HostConfig(name="a", ssh="named", dir="/project")}
    assert config.origins["hosts.a.ssh"] == Origin("flag", str(named), 2)


def test_a_broken_recipe_file_of_a_foreign_project_does_not_stop_the_console(place: Place) -> None:
    place.project("[cake]\nsugar = 3", "recipes/cake.toml")
    assert place.config().settings == Settings()
