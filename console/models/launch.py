"""The command line and environment of a server, as data. What a dry run shows is what a start runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from console.config.records import FlagValue
from console.models.engine import spelled

MASK = "***"
# Set by the console from the recipe's own keys; as `args` they would be a second way to say the same.
OWN_FLAGS = ("model-path", "model", "served-model-name", "port", "speculative-draft-model-path", "config")


class Launch(msgspec.Struct, frozen=True, kw_only=True):
    """`argv` and the environment added to the box's; secrets are not in here, `secret_flags` go through `--config`
    and `secret_env` is set by the runner."""

    argv: tuple[str, ...]
    env: dict[str, str]
    secret_flags: tuple[str, ...] = ()
    secret_env: tuple[str, ...] = ()


def launch(
    *,
    python: str,
    model_path: str,
    served_name: str,
    port: int,
    args: Mapping[str, FlagValue],
    env: Mapping[str, str],
    gpu_uuids: Sequence[str] = (),
    draft_path: str = "",
    secrets: Sequence[str] = (),
) -> Launch:
    """The launch of a recipe. `model_path`, `draft_path`: absolute, proved, local; a repository id never gets here.

    `secrets`: names of the recipe's secrets; those in capitals are environment variables. Raises ValueError for a path
    that is not absolute.
    """
    for path in filter(None, (model_path, draft_path)):
        if not path.startswith("/"):
            raise ValueError(f"{path} is no absolute path")
    argv = [python, "-m", "sglang.launch_server", "--model-path", model_path, "--served-model-name", served_name]
    if "host" not in args:
        argv += ["--host", "127.0.0.1"]
    argv += ["--port", str(port)]
    if draft_path:
        argv += ["--speculative-draft-model-path", draft_path]
    argv += arguments(args)
    added = {"HF_HUB_OFFLINE": "1", "PYTHONUNBUFFERED": "1"}
    if gpu_uuids:
        added["CUDA_VISIBLE_DEVICES"] = ",".join(gpu_uuids)
    return Launch(
        argv=tuple(argv),
        env={**env, **added},
        secret_flags=tuple(name for name in secrets if not name.isupper()),
        secret_env=tuple(name for name in secrets if name.isupper()),
    )


def arguments(args: Mapping[str, FlagValue]) -> list[str]:
    """A recipe's `args` as options: true = bare flag, false = left out, a list = several values."""
    options: list[str] = []
    for name, value in args.items():
        if value is False:
            continue
        options.append(spelled(name))
        if value is True:
            continue
        values = value if isinstance(value, tuple | list) else (value,)
        options += [str(item) for item in values]
    return options


def shown(plan: Launch) -> tuple[list[str], dict[str, str]]:
    """argv and environment for a screen or a dry run, with secrets masked."""
    argv = [*plan.argv, *(["--config", f"<job>/secrets.yaml ({MASK})"] if plan.secret_flags else [])]
    return argv, {**plan.env, **dict.fromkeys(plan.secret_env, MASK)}
