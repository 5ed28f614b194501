"""What a configuration can say. `…Table` is what a TOML table may hold; the record adds what the console knows.

The JSON schema and the list of known keys come from these types, so that there is one list only.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

Layer = Literal["flag", "env", "project", "user", "shipped", "default"]
Scalar = bool | int | float | str
FlagValue = Scalar | tuple[Scalar, ...]

Port = Annotated[int, msgspec.Meta(ge=1, le=65535)]
Positive = Annotated[int, msgspec.Meta(ge=1)]
Seconds = Annotated[float, msgspec.Meta(gt=0)]


class Origin(msgspec.Struct, frozen=True):
    """Where a value comes from. `file` and `line` are None for defaults, flags and the environment."""

    layer: Layer
    file: str | None = None
    line: int | None = None
    name: str | None = None

    def __str__(self) -> str:
        if self.file is not None:
            return f"{self.layer} {self.file}:{self.line}"
        return f"{self.layer} {self.name}" if self.name else self.layer


DEFAULT = Origin("default")


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """`[settings]`: named like the flags; each is also an environment variable `GPUDECK_<NAME>`. `timeout` in s."""

    read_only: bool = False
    record: bool = True
    no_color: bool = False
    ascii: bool = False
    theme: Literal["auto", "dark", "light", "contrast", "ansi"] = "auto"
    timeout: Seconds | None = None
    ssh_config: str | None = None


class HostTable(msgspec.Struct, frozen=True, kw_only=True):
    """`[hosts.NAME]`. `python` and `dir` stand in where a recipe names none; `env` is the box's, not ours."""

    ssh: str | None = None
    python: str | None = None
    dir: str | None = None
    env: dict[str, str] = {}
    read_only: bool = False


class HostConfig(HostTable, frozen=True, kw_only=True):
    """A box as the user named it; `ssh` is the alias or `user@host[:port]` to connect to.

    `home`: its user's home directory, known while the box is open.
    """

    name: str
    ssh: str
    home: str = ""

    def at_home(self, path: str) -> str:
        """The path with `~` as the box's home directory; as it is while that is not known."""
        return self.home + path[1:] if self.home and (path == "~" or path.startswith("~/")) else path

    def opened(self, home: str) -> HostConfig:
        """The same box once its home directory is known."""
        known = msgspec.structs.replace(self, home=home.rstrip("/"))
        return msgspec.structs.replace(known, dir=known.at_home(self.dir)) if self.dir else known


class RecipeTable(msgspec.Struct, frozen=True, kw_only=True):
    """`[recipes.NAME]`. The repository lies in `<dir>/<name>`, or exactly at `path`; likewise the drafter.

    `args`: flags without dashes; true = bare flag, false = omitted, list = repeated values. `secrets`: a flag, or
    in capitals an environment variable, to `env:NAME`, `file:PATH` or `ask`.
    """

    extends: str | None = None
    description: str | None = None
    model: str | None = None
    revision: str | None = None
    draft: str | None = None
    draft_revision: str | None = None
    dir: str | None = None
    path: str | None = None
    draft_dir: str | None = None
    draft_path: str | None = None
    python: str | None = None
    port: Port | None = None
    gpus: tuple[int | str, ...] | None = None
    args: dict[str, FlagValue] = {}
    env: dict[str, str] = {}
    secrets: dict[str, str] = {}


class Recipe(RecipeTable, frozen=True, kw_only=True):
    """How one model is served: `extends` is resolved, what was left out has its default."""

    name: str
    model: str
    revision: str = "main"
    draft_revision: str = "main"
    port: Port = 30000


class SweepTable(msgspec.Struct, frozen=True, kw_only=True):
    """`[sweep]`: recipes × matrix × datasets × concurrency. `matrix` maps a flag to the values it takes.

    `datasets`: as `bench --dataset` names them; without any it is the preset's.
    """

    recipes: tuple[str, ...] = ()
    baseline: str | None = None
    concurrency: tuple[Positive, ...] = (1, 8, 64, 256)
    preset: str = "sweep"
    repeats: Positive = 3
    datasets: tuple[str, ...] = ()
    matrix: dict[str, tuple[Scalar, ...]] = {}


class Sweep(SweepTable, frozen=True, kw_only=True):
    """A sweep whose recipes all exist. `baseline` is one of them."""

    name: str


class File(msgspec.Struct, frozen=True, kw_only=True):
    """A whole file: `config.toml`, `gpudeck.toml`, a recipe file and a sweep file have one shape.

    `keys` gives an action, by its id, another key.
    """

    settings: Settings = Settings()
    keys: dict[str, str] = {}
    hosts: dict[str, HostTable] = {}
    recipes: dict[str, RecipeTable] = {}
    sweep: SweepTable = SweepTable()
