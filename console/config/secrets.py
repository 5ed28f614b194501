"""Where a recipe's secrets come from. Their values are read at the last moment and kept by nobody."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from console.config.checks import is_variable
from console.config.errors import ConfigError
from console.config.records import Recipe

MOST_BYTES = 1 << 20


def read_secrets(
    recipe: Recipe, env: Mapping[str, str], ask: Callable[[str], str]
) -> tuple[dict[str, str], dict[str, str]]:
    """The values of the secret flags, and of the secret environment variables.

    `ask` gets a secret's name and reads it without echo. Raises ConfigError for one that is missing or empty.
    """
    values = {key: _value(key, source, env, ask) for key, source in recipe.secrets.items()}
    flags = {key: value for key, value in values.items() if not is_variable(key)}
    return flags, {key: value for key, value in values.items() if is_variable(key)}


def _value(key: str, source: str, env: Mapping[str, str], ask: Callable[[str], str]) -> str:
    kind, _, place = source.partition(":")
    if kind == "env":
        value = env.get(place, "")
        missing = f"the environment variable {place} is not set or empty"
    elif kind == "file":
        value, missing = _file_value(Path(place).expanduser())
    else:
        value, missing = ask(key), "nothing was entered"
    if not value:
        raise ConfigError(None, None, f"secret {key}: {missing}")
    return value


def _file_value(file: Path) -> tuple[str, str]:
    try:
        with file.open("rb") as stream:  # a pipe, too
            return stream.read(MOST_BYTES).decode("utf-8").strip(), f"{file} is empty"
    except (OSError, UnicodeDecodeError) as error:
        return "", f"{file} cannot be read ({error.__class__.__name__})"
