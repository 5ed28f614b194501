"""A project folder and a user's XDG folders, apart from those of whoever runs the tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from console.config import Config, RecipeBook, load_config, load_recipes


class Place:
    """Files are written into it by `project` and `user`; `env` holds the XDG variables."""

    def __init__(self, root: Path) -> None:
        self.cwd = root / "project"
        self.home = root / "home"
        self.cwd.mkdir()
        self.env = {f"XDG_{kind}_HOME": str(self.home / kind.lower()) for kind in ("CONFIG", "DATA", "STATE", "CACHE")}

    def enter(self, monkeypatch: pytest.MonkeyPatch) -> Place:
        """Make it the place of this process."""
        for name, value in self.env.items():
            monkeypatch.setenv(name, value)
        monkeypatch.chdir(self.cwd)
        return self

    def project(self, text: str, name: str = "gpudeck.toml") -> Path:
        return self._write(self.cwd / name, text)

    def user(self, text: str, name: str = "config.toml") -> Path:
        return self._write(self.home / "config" / "gpudeck" / name, text)

    def _write(self, file: Path, text: str) -> Path:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")
        return file

    def config(self, **given: object) -> Config:
        return load_config(cwd=self.cwd, env=self.env, **given)  # type: ignore[arg-type]

    def recipes(self, **given: object) -> RecipeBook:
        return load_recipes(cwd=self.cwd, env=self.env, **given)  # type: ignore[arg-type]
