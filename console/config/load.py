"""Settings and hosts: flag > `GPUDECK_*` > project > user > default, key by key, each with its origin."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from console.config import checks, paths
from console.config.document import Document, dotted, read_document, type_sentence
from console.config.errors import ConfigError
from console.config.records import DEFAULT, File, HostConfig, HostTable, Layer, Origin, Settings

PROJECT_FILE = "gpudeck.toml"
ENV_PREFIX = "GPUDECK_"
_SSH_CONFIG_IN_PROJECT = (
    "settings.ssh_config can run programs (ProxyCommand, Match exec): it belongs in your own config.toml, "
    "not in a project's"
)
DEMO_DIR = "~/models"  # the demo box needs no configuration


class Config(msgspec.Struct, frozen=True, kw_only=True):
    """What is configured. `origins` has one entry for each value, keyed as TOML writes it."""

    settings: Settings
    keys: dict[str, str] = {}
    hosts: dict[str, HostConfig]
    origins: dict[str, Origin]

    def host(self, name: str) -> HostConfig:
        """The box called `name`; one that no file mentions is reached by its name."""
        host = self.hosts.get(name) or HostConfig(name=name, ssh=name)
        return msgspec.structs.replace(host, dir=DEMO_DIR) if name == "demo" and host.dir is None else host


def load_config(
    *, cwd: Path, env: Mapping[str, str], config_file: Path | None = None, flags: Mapping[str, Any] | None = None
) -> Config:
    """Read and check `config_file` (or the user's file) and the project's.

    `flags`: fields of `Settings` given on the command line, None = not given. Raises ConfigError.
    """
    documents = config_documents(cwd, env, config_file)
    settings, origins = _settings(documents, env, flags or {})
    hosts, host_origins = _hosts(documents)
    keys, key_origins = _keys(documents)
    return Config(settings=settings, keys=keys, hosts=hosts, origins=origins | host_origins | key_origins)


def config_documents(cwd: Path, env: Mapping[str, str], config_file: Path | None = None) -> list[Document]:
    """The configuration files that exist, the one that counts most first.

    A file named by flag or `GPUDECK_CONFIG` stands for the user's, and counts more than the project's.
    """
    named: list[tuple[Path, Layer]] = []
    if config_file is None and env.get("GPUDECK_CONFIG"):
        named = [(Path(env["GPUDECK_CONFIG"]), "env")]
    elif config_file is not None:
        named = [(config_file, "flag")]
    for file, _ in named:
        if not file.is_file():
            raise ConfigError(str(file), None, "there is no such file")
    user: list[tuple[Path, Layer]] = [] if named else [(paths.home_dir("config", env) / "config.toml", "user")]
    wanted = [*named, (cwd / PROJECT_FILE, "project"), *user]
    documents = [document for file, layer in wanted if (document := read_document(file, layer))]
    for document in documents:
        document.allow(File.__struct_fields__)
    return documents


def _settings(
    documents: Iterable[Document], env: Mapping[str, str], flags: Mapping[str, Any]
) -> tuple[Settings, dict[str, Origin]]:
    values: dict[str, Any] = {}
    origins: dict[str, Origin] = {}
    for name, value, origin in _setting_layers(documents, env, flags):
        if name not in values:
            values[name], origins[f"settings.{name}"] = value, origin
    for name in Settings.__struct_fields__:
        origins.setdefault(f"settings.{name}", DEFAULT)
    return Settings(**values), origins


def _setting_layers(
    documents: Iterable[Document], env: Mapping[str, str], flags: Mapping[str, Any]
) -> Iterator[tuple[str, Any, Origin]]:
    """Every value of every layer, the one that counts most first."""
    for name, value in flags.items():
        if value is not None:
            yield name, value, Origin("flag", name=f"--{name.replace('_', '-')}")
    for field in msgspec.structs.fields(Settings):
        variable = ENV_PREFIX + field.name.upper()
        if env.get(variable):
            try:
                yield field.name, msgspec.convert(env[variable], field.type, strict=False), Origin("env", name=variable)
            except msgspec.ValidationError as error:
                raise ConfigError(None, None, type_sentence(variable, str(error))) from None
    for document in documents:
        for name, value in document.fields(("settings",), Settings).items():
            if name == "ssh_config" and document.layer == "project":
                raise document.error(("settings", name), _SSH_CONFIG_IN_PROJECT)
            yield name, value, document.origin(("settings", name))


def _keys(documents: Iterable[Document]) -> tuple[dict[str, str], dict[str, Origin]]:
    """Keys of all files, action by action; which actions there are is not for here."""
    keys: dict[str, str] = {}
    origins: dict[str, Origin] = {}
    for document in documents:
        for action, key in document.table(("keys",)).items():
            if not isinstance(key, str):
                raise document.error(("keys", action), f"keys.{action} must be a string, not {key!r}")
            if action not in keys:
                keys[action], origins[f"keys.{action}"] = key, document.origin(("keys", action))
    return keys, origins


def _hosts(documents: Iterable[Document]) -> tuple[dict[str, HostConfig], dict[str, Origin]]:
    """Hosts of all files, key by key; `env` variable by variable."""
    merged: dict[str, dict[str, Any]] = {}
    origins: dict[str, Origin] = {}
    for document in documents:
        for name in document.names("hosts"):
            values = _host_values(document, name)
            host = merged.setdefault(name, {})
            env = {**values.get("env", {}), **host.get("env", {})}
            host.update({**values, **host}, **({"env": env} if env else {}))
            for key in _value_paths(name, values):
                origins.setdefault(dotted(key), document.origin(key))
    hosts = {name: HostConfig(**{"ssh": name, **values}, name=name) for name, values in merged.items()}
    return hosts, origins


def _host_values(document: Document, name: str) -> dict[str, Any]:
    path = ("hosts", name)
    problem = checks.name_problem(name)
    if problem:
        raise document.error(path, f"hosts: {problem}")
    values = document.fields(path, HostTable)
    for place, sentence in checks.host_problems(values):
        raise document.error((*path, *place), sentence)
    return values


def _value_paths(name: str, values: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    for key, value in values.items():
        if isinstance(value, dict):
            yield from (("hosts", name, key, inner) for inner in value)
        else:
            yield "hosts", name, key
