"""A recipe as a systemd unit of the box: it comes back after a reboot, and stops as SGLang wants to be stopped."""

from __future__ import annotations

import base64
from typing import Any, NamedTuple

from console.config.records import Recipe
from console.models.launch import Launch
from console.remote.errors import AgentError
from console.workers.box import Box
from console.workers.serve import Secrets, yaml
from console.workers.serve_stop import OURS, systemctl

SYSTEMCTL_S = 120.0


class UnitFiles(NamedTuple):
    """The unit and the private files beside it: path → (content, mode); `log` is what it writes."""

    name: str
    scope: str
    files: dict[str, tuple[str, int]]
    log: str


def unit_name(recipe: str) -> str:
    """`gpudeck-serve-<recipe>.service`, with what systemd does not take in a name replaced."""
    plain = "".join(letter if letter.isalnum() or letter in "._-" else "-" for letter in recipe)
    return f"{OURS}serve-{plain}.service"


class UnitPlace(NamedTuple):
    """Where the files of a unit lie, for the user of this box: root's units are the system's. `private`: without the
    endings."""

    name: str
    scope: str
    folder: str
    private: str

    @property
    def paths(self) -> list[str]:
        """Everything that may be there of it."""
        return [f"{self.folder}/{self.name}", *(f"{self.private}.{end}" for end in ("env", "yaml", "log"))]


def unit_place(hello: dict[str, Any], name: str) -> UnitPlace:
    root, home = hello.get("uid") == 0, str(hello.get("home") or "/root")
    private = f"{home}/.local/state/gpudeck/units/{name.removesuffix('.service')}"
    folder = "/etc/systemd/system" if root else f"{home}/.config/systemd/user"
    return UnitPlace(name, "system" if root else "user", folder, private)


def unit_files(hello: dict[str, Any], recipe: Recipe, start: Launch, secrets: Secrets, grace_s: float) -> UnitFiles:
    """What would be written."""
    place = unit_place(hello, unit_name(recipe.name))
    private = place.private
    argv = (*start.argv, *(("--config", f"{private}.yaml") if secrets.flags else ()))
    target = "multi-user.target" if place.scope == "system" else "default.target"
    text = unit_text(recipe.name, argv, private, grace_s, target)
    files = {
        f"{place.folder}/{place.name}": (text, 0o644),
        f"{private}.env": (
            "".join(f"{key}={_env(value)}\n" for key, value in {**start.env, **secrets.env}.items()),
            0o600,
        ),
    }
    if secrets.flags:
        files[f"{private}.yaml"] = (yaml(secrets.flags).decode(), 0o600)
    return UnitFiles(place.name, place.scope, files, f"{private}.log")


def unit_text(recipe: str, argv: tuple[str, ...], private: str, grace_s: float, target: str) -> str:
    """The unit. `KillMode=mixed`: the parent alone gets the TERM, the rest only what is left after the grace.

    `private`: where its environment and its log lie, without their endings. A log in a file is what the console
    can follow; one that grew too long is begun anew at the next start.
    """
    place = private.replace("%", "%%")
    return f"""[Unit]
Description=SGLang, recipe {recipe} (gpudeck)
After=network-online.target
StartLimitIntervalSec=1800
StartLimitBurst=3

[Service]
Type=exec
ExecStartPre=-find {_word(private + ".log")} -size +256M -delete
ExecStart={" ".join(_word(word) for word in argv)}
EnvironmentFile={place}.env
StandardOutput=append:{place}.log
StandardError=append:{place}.log
KillMode=mixed
TimeoutStopSec={grace_s:.0f}
Restart=on-failure
RestartSec=10

[Install]
WantedBy={target}
"""


def _word(word: str) -> str:
    """A word of ExecStart: quoted, with what systemd would expand doubled."""
    if "\n" in word or "\0" in word:
        raise ValueError("a unit's command line holds no line breaks")
    escaped = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    return f'"{escaped}"'


def _env(value: str) -> str:
    if "\n" in value or "\0" in value:
        raise ValueError("an environment file holds no line breaks")
    escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("`", "\\`").replace("$", "\\$")
    return f'"{escaped}"'


async def install(box: Box, unit: UnitFiles) -> None:
    """Write the files, then enable and start the unit. Raises AgentError, LinkLost."""
    for path, (text, mode) in unit.files.items():
        await box.agent.request("write", path=path, data=base64.b64encode(text.encode()).decode(), mode=mode)
    await systemctl(box, unit.scope, "daemon-reload", timeout_s=SYSTEMCTL_S)
    await systemctl(box, unit.scope, "enable", "--now", unit.name, timeout_s=SYSTEMCTL_S)
    await box.agent.request("probe", name="servers", now=True)


async def installed(box: Box) -> list[str]:
    """The names of the units that were installed for this user. Raises AgentError, LinkLost."""
    try:
        listing = await box.agent.request("list", path=unit_place(box.agent.hello, "").folder)
    except AgentError as error:
        if error.code in ("not_found", "not_a_directory"):
            return []
        raise
    names = sorted(str(entry["name"]) for entry in listing["entries"])
    return [name for name in names if name.startswith(f"{OURS}serve-") and name.endswith(".service")]


async def there(box: Box, name: str) -> list[str]:
    """What there is of a unit: paths. Raises AgentError, LinkLost."""
    paths = unit_place(box.agent.hello, name).paths
    found = await box.agent.request("stat", paths=paths)
    return [path for path, entry in zip(paths, found["entries"], strict=True) if entry is not None]


async def uninstall(box: Box, name: str) -> list[str]:
    """Stop and disable the unit, then remove its files; the paths that were there. Raises AgentError, LinkLost."""
    scope, removed = unit_place(box.agent.hello, name).scope, await there(box, name)
    await systemctl(box, scope, "disable", "--now", name, timeout_s=SYSTEMCTL_S)
    for path in removed:
        await box.agent.request("remove", path=path)
    await systemctl(box, scope, "daemon-reload", timeout_s=SYSTEMCTL_S)
    await box.agent.request("probe", name="servers", now=True)
    return removed
